"""Probe of some homepages before a job is created, to estimate how many of them plain requests can read.

Probes follow the same path as pages: robots.txt, the SSRF guard, the Gate and its spacing. Only the robots.txt answers
are stored, so that the job need not request them again.
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
from gossamer.crawl.requester import Interrupted, NoWayOut, RequestBudget, Requester, TooEarly
from gossamer.crawl.site_files import RobotsCache, RobotsReader
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
    """Choose a random sample with one target per domain; the same targets give the same sample."""
    by_domain: dict[str, Target] = {}
    for target in sorted(targets, key=lambda one: blake2b(one.host.encode(), digest_size=8).digest()):
        by_domain.setdefault(domain_of(target.host), target)
        if len(by_domain) == number:
            break
    return list(by_domain.values())


class ProbeResult(Enum):
    """Result of the probe of one homepage."""

    PLAIN = "plain"  # a plain request can read it
    CLIMBS = "climbs"  # a plain request cannot, another rung may
    GONE = "gone"  # no rung can
    NOT_ASKED = "not asked"  # not probed, for reasons of ours


class Probe:
    """Probes of homepages, with what they share."""

    def __init__(self, deps: WorkerDeps) -> None:
        self._deps = deps
        self._pacing = DomainPacing(deps.limits.spacing_of)
        self._domain_locks = DomainLocks()
        self._robots = RobotsCache()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def look(self, targets: Sequence[Target]) -> Probed:
        """Probe homepages and count the results; those that could not be probed are left out."""
        found = await asyncio.gather(*(self._look_at(target) for target in targets))
        count = Counter(found)
        return Probed(len(found) - count[ProbeResult.NOT_ASKED], count[ProbeResult.CLIMBS], count[ProbeResult.GONE])

    async def _look_at(self, target: Target) -> ProbeResult:
        async with self._slots:
            visit = _visit(target)
            lease = HeldLease(visit, self._deps.clock.monotonic() + _LONGEST.total_seconds())
            requester = Requester(
                partial(self._open, seed=random.getrandbits(32)),
                self._deps.gate,
                self._domain_locks,
                self._pacing,
                self._deps.clock,
                lease,
                self._deps.limits.timeout,
                RequestBudget(self._deps.treasurer, visit),
                self._deps.resting,
                self._deps.own_network,
            )
            robots_reader = RobotsReader(self._deps.database, requester, self._robots, {}, {})
            try:
                return await self._enter(visit, requester, Redirects(visit.host, requester, robots_reader))
            except (TooEarly, NoWayOut, Interrupted) as error:
                log.info("probe.left_out", host=target.host, why=type(error).__name__)
                return ProbeResult.NOT_ASKED
            finally:
                await requester.close()
                if answers := robots_reader.take_fresh():
                    await self._deps.database.write(robots.keep, answers)

    async def _enter(self, visit: Visit, requester: Requester, redirects: Redirects) -> ProbeResult:
        """Try the spellings of the homepage URL that a visit would try."""
        entries = Entries(visit)
        waiting = entries.first()
        seen = ProbeResult.GONE
        while waiting:
            page = waiting.pop()
            entries.met(page.url, apart=False)
            trouble = await self._read(page.url, requester, redirects)
            if trouble is None:
                return ProbeResult.PLAIN
            climbs = lesson(Attempt(page.rung, trouble.http_status, trouble.reason.name, 0, 0)) is False
            seen = ProbeResult.CLIMBS if climbs else ProbeResult.GONE
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
    """Return a visit that exists only in memory: requests need one, but nothing is stored under it."""
    no_one = uuid4()
    return Visit(
        id=no_one,
        job_id=no_one,
        site_id=no_one,
        host=target.host,
        domain=domain_of(target.host),
        entries=target.entries,
        lane=HOME_LANE,
        lease=no_one,
        deaths=0,
        walked=timedelta(),
        not_before=None,
        whole=True,
        notes=b"",
        robots={},
    )
