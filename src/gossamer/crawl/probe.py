"""Before there is a job: a look at some homepages, for free, to see how many of them a plain request gets.

It goes the way every page goes: robots.txt, the guard, the Gate and its spacing. Nothing is kept of what was read but
the answers for robots.txt, so that the job need not ask for those again.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from functools import partial
from hashlib import blake2b
from uuid import uuid4

from gossamer.crawl.domain_pacing import DomainLocks, DomainPacing
from gossamer.crawl.leases import HeldLease
from gossamer.crawl.redirects import Moved, Redirects
from gossamer.crawl.request_budget import RequestBudget
from gossamer.crawl.requester import Interrupted, NoWayOut, Requester, TooEarly
from gossamer.crawl.robots import RobotsMemory, RobotsReader
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.fetch import Fetcher, FetchError
from gossamer.frontier.frontier import Entries
from gossamer.judge import find_flaw, find_trouble
from gossamer.judge.rung_stats import lesson
from gossamer.logging import get_logger
from gossamer.model.document import Response
from gossamer.model.job import Probed, Target
from gossamer.model.page import Attempt, Visit
from gossamer.model.rungs import HOME_LANE, Rung
from gossamer.model.trouble import Trouble
from gossamer.model.url import domain_of
from gossamer.parse import parse_document
from gossamer.parse.document import wants_body
from gossamer.store import robots

_AT_ONCE = 50  # homepages
_LONGEST = timedelta(minutes=2)  # for one of them, with all its redirects

log = get_logger(__name__)


def choose(targets: Sequence[Target], number: int) -> list[Target]:
    """So many of them, as if by chance but the same every time; of each domain one."""
    by_domain: dict[str, Target] = {}
    for target in sorted(targets, key=lambda one: blake2b(one.host.encode(), digest_size=8).digest()):
        by_domain.setdefault(domain_of(target.host), target)
        if len(by_domain) == number:
            break
    return list(by_domain.values())


class Seen(Enum):
    """Outcome of fetching a homepage in advance."""

    PLAIN = "plain"  # a plain request gets it
    CLIMBS = "climbs"  # it does not, another rung may
    GONE = "gone"  # there is nothing to be got
    NOT_ASKED = "not asked"  # we could not look


class Probe:
    """Shared state of the requests to single homepages."""

    def __init__(self, deps: WorkerDeps) -> None:
        self._deps = deps
        self._pacing = DomainPacing(deps.limits.spacing_of)
        self._domain_locks = DomainLocks()
        self._memory = RobotsMemory()
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def look(self, targets: Sequence[Target]) -> Probed:
        """One that could not be looked at, for reasons of ours, is not counted."""
        found = await asyncio.gather(*(self._look_at(target) for target in targets))
        count = Counter(found)
        return Probed(len(found) - count[Seen.NOT_ASKED], count[Seen.CLIMBS], count[Seen.GONE])

    async def _look_at(self, target: Target) -> Seen:
        async with self._places:
            visit = _visit(target)
            hold = HeldLease(visit, self._deps.clock.monotonic() + _LONGEST.total_seconds())
            requester = Requester(
                partial(self._open, seed=random.getrandbits(32)),
                self._deps.gate,
                self._domain_locks,
                self._pacing,
                self._deps.clock,
                hold,
                self._deps.limits.timeout,
                RequestBudget(self._deps.treasurer, visit),
                self._deps.resting,
                self._deps.own_network,
            )
            desk = RobotsReader(self._deps.database, requester, self._memory, {}, {})
            try:
                return await self._enter(visit, requester, Redirects(visit.host, requester, desk))
            except (TooEarly, NoWayOut, Interrupted) as error:
                log.info("probe.left_out", host=target.host, why=type(error).__name__)
                return Seen.NOT_ASKED
            finally:
                await requester.close()
                if answers := desk.take_fresh():
                    await self._deps.database.write(robots.keep, answers)

    async def _enter(self, visit: Visit, requester: Requester, redirects: Redirects) -> Seen:
        """By the spellings of its address that a visit would try."""
        entries = Entries(visit)
        waiting = entries.first()
        seen = Seen.GONE
        while waiting:
            page = waiting.pop()
            entries.met(page.url, apart=False)
            trouble = await self._read(page.url, requester, redirects)
            if trouble is None:
                return Seen.PLAIN
            climbs = lesson(Attempt(page.rung, trouble.http_status, trouble.reason.name, 0, 0)) is False
            seen = Seen.CLIMBS if climbs else Seen.GONE
            entries.judge(page.url, trouble, 1)
            waiting = entries.instead_of(page, trouble, 0)
        return seen

    async def _read(self, url: str, requester: Requester, redirects: Redirects) -> Trouble | None:
        """Return the problem that prevents reading the page; None for a page that has moved to another site."""
        ask = partial(requester.get, max_bytes=self._deps.limits.max_page_bytes, accept=wants_body)
        try:
            response = await redirects.follow(url, ask)
        except FetchError as error:
            return error.trouble
        if isinstance(response, Moved):
            return None
        if not isinstance(response, Response):
            return response
        read = find_trouble(response) or parse_document(response)
        return read if isinstance(read, Trouble) else find_flaw(read)

    def _open(self, rung: Rung, *, seed: int) -> Fetcher:
        return self._deps.open_session(rung.name, seed)


def _visit(target: Target) -> Visit:
    """As if of a job: what makes requests goes by it, and nothing is written under it."""
    nobody = uuid4()
    return Visit(
        id=nobody,
        job_id=nobody,
        site_id=nobody,
        host=target.host,
        domain=domain_of(target.host),
        entries=target.entries,
        lane=HOME_LANE,
        lease=nobody,
        deaths=0,
        walked=timedelta(),
        not_before=None,
        whole=True,
        notes=b"",
        robots={},
    )
