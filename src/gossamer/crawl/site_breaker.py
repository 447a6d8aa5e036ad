"""Circuit breaker of a site: one that stops answering gets no requests for a minute, and is given up after three rests.

It holds for all jobs and workers that share the breakers and the Gate. Sites that answer cost nothing here, and the
homepage does not count, because it has few tries of its own.
"""

from datetime import timedelta

from gossamer.crawl.outcome import Outcome
from gossamer.errors import GossamerError
from gossamer.gate import NOW, Breakers
from gossamer.judge.next_step import in_words
from gossamer.logging import get_logger
from gossamer.model.breaker import BreakerRule, BreakerStanding, News
from gossamer.model.page import Page
from gossamer.model.rungs import Ladder
from gossamer.model.trouble import Reason, Trouble

_SILENT = frozenset({Reason.UNREACHABLE, Reason.TIMEOUT, Reason.CUT_OFF, Reason.UNAVAILABLE, Reason.SERVER_ERROR})
_RESTS = 3  # rests without an answer until the site is given up

log = get_logger(__name__)


class SiteBreaker:
    """The breaker as one visit uses it."""

    def __init__(self, breakers: Breakers, domain: str, ladder: Ladder, rule: BreakerRule) -> None:
        self._breakers = breakers
        self._domain = domain
        self._ladder = ladder
        self._rule = rule
        self._standing = BreakerStanding()
        self.gone: Trouble | None = None  # why the site gets no more requests

    async def note(self, page: Page, outcome: Outcome) -> timedelta:
        """Record the outcome of a page; return how long the site gets no requests.

        A failing page counts once, however often it is tried. Failing pages count only in a row, without a good
        page between them. If a stronger rung is left, it is tried first.
        """
        if isinstance(outcome, Trouble) and outcome.reason in _SILENT:
            counts = page.tries == 1 or self._standing.open
            if page.depth and counts and self._is_last(page.rung):
                return await self._failed(outcome)
        elif self._standing.in_a_row or self._standing.open:
            await self._tell(News.GOOD)
        return NOW

    def _is_last(self, rung: str) -> bool:
        """Return True if no stronger rung is left and this rung is not paid.

        A page that a provider could not fetch is not retried for long.
        """
        return self._ladder.above(rung) is None and not self._ladder.named(rung).is_paid

    async def _failed(self, trouble: Trouble) -> timedelta:
        standing = await self._tell(News.BAD, trouble.sentence)
        if not standing.open:
            return NOW
        log.info("site.resting", host=self._domain, why=trouble.sentence, seconds=round(standing.down.total_seconds()))
        if standing.down >= self._rule.rest * _RESTS:
            self.gone = Trouble(Reason.SITE_DOWN, f"{in_words(standing.down.total_seconds())}: {trouble.sentence}")
        return standing.wait

    async def _tell(self, news: News, why: str = "") -> BreakerStanding:
        try:
            self._standing = await self._breakers.tell(f"site:{self._domain}", self._rule, news, why[:200])
        except GossamerError as error:
            log.warning("site.breaker_unread", host=self._domain, error=str(error))
        return self._standing
