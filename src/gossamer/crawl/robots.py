"""Asking a site's robots.txt: once per job, and not at all if another job asked within the day."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from gossamer.crawl.domain_pacing import DomainLocks
from gossamer.crawl.requester import MOST_HOPS, Requester
from gossamer.db.database import Database
from gossamer.fetch import FetchError
from gossamer.frontier.robots import ABSENT, MOST_BYTES, RobotsRules, read_rules, says_later
from gossamer.judge import find_trouble
from gossamer.model.document import Response
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import as_told, domain_of, host_of, origin_of
from gossamer.store import robots
from gossamer.store.robots import RobotsAnswer

MOST_REMEMBERED = 5_000
_PATIENCE = timedelta(seconds=30)


class RobotsMemory:
    """Cache of recent robots.txt answers in this process.

    All visits of a domain are in one process, so its jobs fetch the file only once.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[str, RobotsAnswer] = OrderedDict()
        self._asking = DomainLocks()

    def asking(self, origin: str) -> asyncio.Lock:
        """Return the lock for fetching the file of an origin; the next holder finds the answer in the cache."""
        return self._asking.of(origin)

    def get(self, origin: str, now: datetime) -> RobotsAnswer | None:
        answer = self._answers.get(origin)
        return answer if answer and now - answer.fetched_at < robots.FRESH else None

    def keep(self, answer: RobotsAnswer) -> None:
        self._answers[answer.origin] = answer
        if len(self._answers) > MOST_REMEMBERED:
            self._answers.popitem(last=False)


class RobotsReader:
    """The answers one visit goes by. `answers` is what the site's row keeps; it only ever grows."""

    def __init__(
        self,
        database: Database,
        requester: Requester,
        memory: RobotsMemory,
        answers: dict[str, Any],
        shared: Mapping[str, RobotsAnswer | None],
    ) -> None:
        self._database = database
        self._requester = requester
        self._memory = memory
        self._shared = shared  # answers to other jobs, looked up when the visit was claimed; None: there is none
        self.answers = dict(answers)
        self.fresh: list[RobotsAnswer] = []  # asked for by this visit, to be shared
        self.changed = False

    async def rules(self, url: str) -> RobotsRules | Trouble:
        """The rules that hold for an address, or why they cannot be had."""
        origin = origin_of(url)
        kept = self.answers.get(origin)
        if kept is None:
            async with self._memory.asking(origin):
                answer = await self._shared_answer(origin) or await self._ask(origin)
            if isinstance(answer, Trouble):
                return answer
            kept = self.answers[origin] = {"status": answer.status, "body": answer.body}
            self.changed = True
        return read_rules(kept["status"], kept["body"])

    async def _shared_answer(self, origin: str) -> RobotsAnswer | None:
        remembered = self._memory.get(origin, self._requester.clock.now())
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
        self._memory.keep(answer)
        self.fresh.append(answer)

    def _keep_for_its_own(self, response: Response, answer: RobotsAnswer) -> None:
        """A redirect has led to another origin's file (`www`, https): pages there need not ask for it again."""
        origin = origin_of(response.url)
        if response.url == f"{origin}/robots.txt":
            self._keep(replace(answer, origin=origin))

    def take_fresh(self) -> tuple[RobotsAnswer, ...]:
        """Return the new answers since the last call, to be written with the visit's next step."""
        taken, self.fresh = tuple(self.fresh), []
        return taken

    async def _follow(self, url: str) -> Response | None:
        """Return the file after up to five redirects within the domain; None if they leave it or lead nowhere.

        Another domain may be handled by another process, which alone has the time of its last request.
        """
        home = domain_of(host_of(url))
        patience = self._requester.patience
        try:
            return await self._follow_within(home, url)
        finally:
            self._requester.patience = patience

    async def _follow_within(self, home: str, url: str) -> Response | None:
        for _ in range(MOST_HOPS + 1):
            response = await self._requester.run_errand(url, MOST_BYTES)
            # As with any redirect: giving up half-way would mean to ask for the first file again.
            self._requester.patience = self._requester.pacing.spacing(home) + _PATIENCE
            if not 300 <= response.status < 400:
                return response
            target = as_told(response.location, url) if response.location else None
            if target is None or domain_of(host_of(target)) != home:
                return None
            url = target
        return None
