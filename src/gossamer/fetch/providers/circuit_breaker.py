"""The circuit breaker around every call to a provider, from the view of one process.

A provider's response is about a page, about the provider, or about the account. The first does not affect
the breaker, except as a sign that the provider works. While the provider is in doubt, a failed call does
not count as a try of its page: the page waits until the state is clear. "Could not fetch" may also be about
the page: if a provider answers nothing else for longer than jobs wait, it is believed, because otherwise
the last pages of a job would never end.
"""

from collections.abc import Mapping
from datetime import timedelta

from gossamer.clock import Clock
from gossamer.errors import GossamerError
from gossamer.fetch.errors import FetchError, ProviderTrouble, ProviderUnusable, ProxyAway
from gossamer.gate import NOW, Breakers
from gossamer.logging import get_logger
from gossamer.model.breaker import BreakerRule, BreakerStanding, News, trouble_of
from gossamer.model.trouble import Reason

_NEWS: Mapping[Reason, News] = {
    Reason.PROVIDER_AWAY: News.BAD,
    Reason.PROVIDER_UNREADABLE: News.BAD,
    Reason.PROVIDER_FAILED: News.POOR,
    Reason.PROVIDER_KEY: News.GRAVE,
    Reason.PROVIDER_CREDITS: News.GRAVE,
    Reason.PROVIDER_BUSY: News.NOTHING,
    Reason.PROVIDER_REFUSED: News.NOTHING,
}
_DOUBT = 2  # failures in a row: the second is hardly its page's fault
_AGAIN = timedelta(seconds=5)  # until a page is asked for again whose provider is in doubt
_TOLD = 5.0  # seconds in which good news can wait
_LONGEST = 200  # characters of a reason

log = get_logger(__name__)


class ProviderBreaker:
    """The circuit breaker of one provider."""

    def __init__(self, breakers: Breakers, provider: str, rule: BreakerRule, clock: Clock, believed: timedelta) -> None:
        """`believed`: after failing for this long, the provider is believed that a page could not be fetched."""
        self._believed = believed
        self._breakers = breakers
        self._provider = provider
        self._name = f"provider:{provider}"
        self._rule = rule
        self._clock = clock
        self._standing = BreakerStanding()
        self._seen_at = float("-inf")
        self._goods = 0  # not told yet

    def resting(self) -> ProviderUnusable | None:
        """Return the locally known reason why no call can be made now; None if calls are allowed."""
        left = self._standing.wait.total_seconds() - (self._clock.monotonic() - self._seen_at)
        return self._unusable(timedelta(seconds=left)) if left > 0 else None

    async def ask(self) -> None:
        """Request permission for a call. Raises ProviderUnusable while no calls are allowed."""
        try:
            wait = await self._breakers.ask(self._name, self._rule)
            if wait > NOW:
                self._see(await self._breakers.look(self._name))
        except GossamerError as error:
            log.warning("provider.breaker_unread", provider=self._provider, error=str(error))
            return
        if wait > NOW:
            raise self._unusable(wait)

    async def worked(self) -> None:
        """Record a call that got an answer: now and then while all is well, immediately while it is not."""
        recent = self._clock.monotonic() - self._seen_at < _TOLD
        if recent and not self._standing.open and not self._standing.in_a_row:
            self._goods += 1
            return
        await self._tell(News.GOOD)

    async def failed(self, error: FetchError, *, again: bool = False) -> FetchError:
        """Record a failed call and return the error to raise.

        `again`: this visit has reported a failure of this kind before.
        """
        news = _news(error)
        if news is News.GOOD:
            await self.worked()
            return error
        if news is News.POOR and await self._is_believed():
            await self._tell(News.GOOD)
            return error
        reason = error.trouble.reason
        told = News.NOTHING if news is News.POOR and again else news
        standing = await self._tell(told, f"{reason.name} {error.trouble.detail}"[:_LONGEST])
        in_doubt = standing.open or (news is News.BAD and standing.in_a_row >= _DOUBT) or news is News.GRAVE
        if not in_doubt or news is News.NOTHING:
            return error
        return ProviderUnusable(self._provider, error.trouble, error.credits, standing.wait or _AGAIN, heard=True)

    async def _is_believed(self) -> bool:
        """Return True if the provider has been in doubt so long that its errors must be about the pages."""
        try:
            standing = await self._breakers.look(self._name)
        except GossamerError as error:
            log.warning("provider.breaker_unread", provider=self._provider, error=str(error))
            return False
        return standing.open and standing.down >= self._believed

    async def _tell(self, news: News, why: str = "") -> BreakerStanding:
        goods, self._goods = self._goods, 0
        try:
            standing = await self._breakers.tell(self._name, self._rule, news, why, goods)
        except GossamerError as error:
            # What the call has brought must not be lost for that.
            log.warning("provider.breaker_unread", provider=self._provider, error=str(error))
            return BreakerStanding()
        self._see(standing)
        return standing

    def _see(self, standing: BreakerStanding) -> None:
        before, self._standing, self._seen_at = self._standing, standing, self._clock.monotonic()
        if standing.open and not before.open:
            log.warning("provider.resting", provider=self._provider, why=trouble_of(standing).sentence)
        elif before.open and not standing.open:
            log.info("provider.back", provider=self._provider, seconds=round(before.down.total_seconds()))

    def _unusable(self, wait: timedelta) -> ProviderUnusable:
        return ProviderUnusable(self._provider, trouble_of(self._standing), 0, wait, heard=False)


def _news(error: FetchError) -> News:
    if isinstance(error, ProviderTrouble):
        return _NEWS.get(error.trouble.reason, News.BAD)
    # Our own proxy says nothing about a provider behind it; a site that fails shows that the provider does not.
    return News.NOTHING if isinstance(error, ProxyAway) else News.GOOD
