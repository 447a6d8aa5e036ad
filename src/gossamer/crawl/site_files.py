"""Files that a site keeps for crawlers: robots.txt and sitemaps.

robots.txt is requested once per job, and not at all if another job requested it within the day. Sitemaps are read one
file at a time; no file is ever held in memory as a whole.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from gossamer.clock import Clock
from gossamer.crawl.domain_pacing import DomainLocks
from gossamer.crawl.requester import MOST_HOPS, Requester
from gossamer.db.database import Database
from gossamer.fetch import FetchError
from gossamer.frontier.candidates import SitemapQueue
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.robots import ABSENT, RobotsRules, read_rules, says_later
from gossamer.frontier.robots import MOST_BYTES as MOST_ROBOTS_BYTES
from gossamer.judge import find_trouble
from gossamer.judge.next_step import LONGEST_WAIT
from gossamer.model.document import Response
from gossamer.model.trouble import Cure, Reason, Trouble
from gossamer.model.url import as_told, domain_of, host_of, origin_of
from gossamer.parse.sitemap import MOST_BYTES as MOST_SITEMAP_BYTES
from gossamer.parse.sitemap import SitemapReader
from gossamer.store import robots
from gossamer.store.robots import RobotsAnswer

Follow = Callable[[str, Callable[[str], Awaitable[Response]]], Awaitable[object]]

MOST_REMEMBERED = 5_000
_PATIENCE = timedelta(seconds=30)


class RobotsCache:
    """Cache of recent robots.txt answers in this process.

    All visits of a domain are in one process, so its jobs fetch the file only once.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[str, RobotsAnswer] = OrderedDict()
        self._locks = DomainLocks()

    def lock(self, origin: str) -> asyncio.Lock:
        """Return the lock for fetching the file of an origin; the next holder finds the answer in the cache."""
        return self._locks.of(origin)

    def get(self, origin: str, now: datetime) -> RobotsAnswer | None:
        answer = self._answers.get(origin)
        return answer if answer and now - answer.fetched_at < robots.FRESH else None

    def keep(self, answer: RobotsAnswer) -> None:
        self._answers[answer.origin] = answer
        if len(self._answers) > MOST_REMEMBERED:
            self._answers.popitem(last=False)


class RobotsReader:
    """robots.txt answers of one visit. `answers` is stored in the site's row; entries are only added."""

    def __init__(
        self,
        database: Database,
        requester: Requester,
        cache: RobotsCache,
        answers: dict[str, Any],
        shared: Mapping[str, RobotsAnswer | None],
    ) -> None:
        self._database = database
        self._requester = requester
        self._cache = cache
        self._shared = shared  # answers to other jobs, read when the visit was claimed; None: there is none
        self.answers = dict(answers)
        self.fresh: list[RobotsAnswer] = []  # requested by this visit, to be shared with other jobs
        self.changed = False

    async def rules(self, url: str) -> RobotsRules | Trouble:
        """Return the rules for a URL, or the reason why they are not available."""
        origin = origin_of(url)
        kept = self.answers.get(origin)
        if kept is None:
            async with self._cache.lock(origin):
                answer = await self._shared_answer(origin) or await self._ask(origin)
            if isinstance(answer, Trouble):
                return answer
            kept = self.answers[origin] = {"status": answer.status, "body": answer.body}
            self.changed = True
        return read_rules(kept["status"], kept["body"])

    async def _shared_answer(self, origin: str) -> RobotsAnswer | None:
        remembered = self._cache.get(origin, self._requester.clock.now())
        if remembered or origin in self._shared:
            return remembered or self._shared[origin]
        return (await self._database.read(robots.fresh, [origin])).get(origin)

    async def _ask(self, origin: str) -> RobotsAnswer | Trouble:
        try:
            response = await self._follow(f"{origin}/robots.txt")
        except FetchError as error:
            return error.trouble
        if response is None:
            answer = RobotsAnswer(origin, ABSENT, "", self._requester.clock.now())
        elif says_later(response.status):
            trouble = find_trouble(response)
            wait = trouble.retry_after if trouble else None
            return Trouble(Reason.ROBOTS_UNREACHABLE, f"HTTP {response.status}", response.status, wait)
        else:
            found = 200 <= response.status < 300
            body = response.body.decode("utf-8", "replace").replace("\x00", "") if found else ""
            answer = RobotsAnswer(origin, response.status, body, response.fetched_at)
        self._keep(answer)
        if response is not None and response.url != f"{origin}/robots.txt":
            self._keep_for_its_own(response, answer)
        return answer

    def _keep(self, answer: RobotsAnswer) -> None:
        self._cache.keep(answer)
        self.fresh.append(answer)

    def _keep_for_its_own(self, response: Response, answer: RobotsAnswer) -> None:
        """Store the file also for the origin that a redirect led to (`www`, https): no second request."""
        origin = origin_of(response.url)
        if response.url == f"{origin}/robots.txt":
            self._keep(replace(answer, origin=origin))

    def take_fresh(self) -> tuple[RobotsAnswer, ...]:
        """Return the new answers since the last call, to be written with the visit's next step."""
        taken, self.fresh = tuple(self.fresh), []
        return taken

    async def _follow(self, url: str) -> Response | None:
        """Return the file after up to five redirects within the domain; None if they leave it or lead nowhere.

        Another domain may belong to another process, and only that process knows the time of its last request.
        """
        home = domain_of(host_of(url))
        patience = self._requester.patience
        try:
            return await self._follow_within(home, url)
        finally:
            self._requester.patience = patience

    async def _follow_within(self, home: str, url: str) -> Response | None:
        for _ in range(MOST_HOPS + 1):
            response = await self._requester.run_errand(url, MOST_ROBOTS_BYTES)
            # As with any redirect: giving up half-way would mean requesting the first file again.
            self._requester.patience = self._requester.pacing.spacing(home) + _PATIENCE
            if not 300 <= response.status < 400:
                return response
            target = as_told(response.location, url) if response.location else None
            if target is None or domain_of(host_of(target)) != home:
                return None
            url = target
        return None


_BITE = 2_048  # bytes


class SiteSitemaps:
    """Sitemap reading of one visit. Entries are passed to the frontier as they arrive."""

    def __init__(self, requester: Requester, robots: RobotsReader, follow: Follow, clock: Clock) -> None:
        """`follow` is `Redirects.follow` of the same visit."""
        self._requester = requester
        self._robots = robots
        self._follow = follow
        self._clock = clock
        self.not_before: datetime | None = None  # the site asked for no requests before this time

    async def read_next(self, frontier: Frontier, home: str) -> bool:
        """Read one more file; False if none is left."""
        queue = frontier.sitemaps
        if not queue.begun:
            rules = await self._robots.rules(home)
            frontier.begin_sitemaps(() if isinstance(rules, Trouble) else rules.sitemaps())
        file = queue.next()
        if file is None:
            return False
        trouble = await self._read(file, queue)
        if trouble and (trouble.retry_after or 0) > LONGEST_WAIT:
            queue.give_up()
            return False
        if trouble and trouble.retry_after:
            self.not_before = self._clock.now() + timedelta(seconds=trouble.retry_after)
        queue.close(again=trouble is not None and trouble.reason.cure is Cure.WAIT)
        return True

    async def _read(self, file: str, queue: SitemapQueue) -> Trouble | None:
        """Read a file; return the reason if it could not be read to its end."""
        reader = SitemapReader()

        async def sink(chunk: bytes | memoryview) -> bool:
            # A little at a time: two kilobytes may unpack to two megabytes, and other visits are waiting.
            for start in range(0, len(chunk), _BITE):
                queue.take(reader.feed(bytes(chunk[start : start + _BITE])))
                if reader.over:
                    return True
                await asyncio.sleep(0)
            return False

        async def ask(url: str) -> Response:
            return await self._requester.run_errand(url, MOST_SITEMAP_BYTES, sink)

        try:
            answer = await self._follow(file, ask)
        except FetchError as error:
            return error.trouble
        finally:
            # Whatever went wrong, the entries read before that are valid.
            queue.take(reader.finish())
        if isinstance(answer, Trouble):
            return answer
        return find_trouble(answer) if isinstance(answer, Response) else None
