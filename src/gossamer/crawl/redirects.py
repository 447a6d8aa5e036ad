"""Following redirects: every hop passes robots.txt, the SSRF guard and the Gate like a first request."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from gossamer.crawl.requester import LONGEST_SLEEP, MOST_HOPS, Requester
from gossamer.crawl.site_files import RobotsReader
from gossamer.fetch import FetchError
from gossamer.frontier.robots import RobotsRules
from gossamer.model.document import Response
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import as_told, domain_of, host_of, normalise, site_of_url

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Moved:
    """A redirect to another site, to which the page is handed over."""

    url: str
    status: int


class Redirects:
    """Redirects of one visit. Only those that stay on its site are followed."""

    def __init__(self, host: str, requester: Requester, robots: RobotsReader) -> None:
        self._host = host
        self._requester = requester
        self._robots = robots

    async def follow(
        self, url: str, ask: Callable[[str], Awaitable[Response]], *, led: bool = True
    ) -> Response | Moved | Trouble:
        """Return the response at the end of the redirects. Raises FetchError, Interrupted and TooEarly like `ask`.

        With `led` False no redirect is followed: the request is meant for this URL only.
        """
        hops: list[str] = []
        asked: set[str] = set()
        cookies = False
        self._requester.patience = LONGEST_SLEEP
        while len(hops) <= MOST_HOPS:
            rules = await self._robots.rules(url)
            if isinstance(rules, Trouble):
                return rules
            if not rules.allow(url):
                return Trouble(Reason.ROBOTS)
            self._make_room(url, rules)
            hops.append(url)
            asked.add(url)
            response = await ask(url)
            if response.status not in _REDIRECTS:
                refused = await self._forbidden(response.url) if response.url != url else None
                return refused or (response if len(hops) == 1 else _at_the_end(response, hops))
            target = as_told(response.location, url) if response.location else None
            if target is None or not led:
                return Trouble(Reason.BAD_REDIRECT, http_status=response.status)
            if site_of_url(target) != self._host:
                return await self._moved(normalise(target) or target, response.status)
            if response.header("set-cookie") and not cookies:
                # Some sites redirect back to the same URL to test for cookies. Allowed once.
                cookies = True
                asked.clear()
            if target in asked:
                break
            url = target
            self._be_patient(url)
        return Trouble(Reason.REDIRECT_LOOP, http_status=response.status)

    def _be_patient(self, url: str) -> None:
        """Wait as long as the spacing requires: giving up half-way would mean starting at the first URL again."""
        spacing = self._requester.pacing.spacing(domain_of(host_of(url)))
        self._requester.patience = spacing + LONGEST_SLEEP

    async def _forbidden(self, url: str) -> Trouble | None:
        """Return the trouble if robots.txt disallows the URL to which a provider followed redirects on its own."""
        self._be_patient(url)
        rules = await self._robots.rules(url)
        if isinstance(rules, Trouble):
            return rules
        return None if rules.allow(url) else Trouble(Reason.ROBOTS)

    def _make_room(self, url: str, rules: RobotsRules) -> None:
        delay = rules.delay
        if delay:
            self._requester.pacing.asks(domain_of(host_of(url)), delay)

    async def _moved(self, target: str, status: int) -> Moved | Trouble:
        """Return a page of another site; if that may not be visited, the trouble of this page instead."""
        try:
            await self._requester.admit(target)
        except FetchError as error:
            if error.trouble.reason in (Reason.FORBIDDEN_ADDRESS, Reason.BAD_URL, Reason.NEVER_VISIT):
                return replace(error.trouble, http_status=status)
        return Moved(target, status)


def _at_the_end(response: Response, hops: list[str]) -> Response:
    """Return the response with normalised URLs: tracking parameters of redirects are not part of the page's URL."""
    names = tuple(normalise(hop) or hop for hop in hops)
    return response._replace(requested=hops[0], url=normalise(response.url) or response.url, hops=names)
