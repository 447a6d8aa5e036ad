"""What writing costs: batches of a hundred pages with three hundred records, on both databases, durably.

Also what leases, counters and events add to it: the same batches without them, held against what a whole page costs.
On Postgres the server does its part in processes of its own, whose CPU is not counted.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import quantiles
from unittest.mock import patch
from uuid import UUID, uuid4

from bench.figure import Figure
from bench.lists import domains, keywords
from bench.product import Asked, crawl
from bench.sample_web import sample_web
from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.db.schema import upgrade
from gossamer.db.transactions import Tx
from gossamer.model.job import CrawlPolicy, Target
from gossamer.model.page import Page, Visit, asked_page
from gossamer.model.record import Follow, Record
from gossamer.model.states import JobState, PageState, SiteState
from gossamer.model.url import site_of_url
from gossamer.recipes.prospect import MATCH
from gossamer.settle.commit import commit
from gossamer.settle.step import Finished, PageStep, Step
from gossamer.store import counters, events, jobs, sites, visits
from gossamer.store.openings import Opening
from tests.chaos.postgres import postgres_server

VISITS, PAGES, RECORDS = 100, 10, 3  # at a time, pages of each, records of each page
SLOWEST_SQLITE, SLOWEST_POSTGRES = 50.0, 100.0  # ms, of 95 in 100 batches
SITES, SLOWEST_OPENING = 2_000, 150.0  # at a time; ms, of 95 in 100 batches
CPU = 0.25  # ms per page
OVERHEAD = 0.05  # of what a whole page costs

_KEYWORDS = tuple(keywords())[:RECORDS]
_SNIPPET = "...in one place and without any paper " * 7
_LEASE = timedelta(minutes=1)


@dataclass(slots=True)
class Cost:
    """Of a job that was written: seconds of each batch, CPU of them, and CPU of taking visits up."""

    batches: list[float] = field(default_factory=list)
    cpu: float = 0.0
    claiming: float = 0.0

    @property
    def slow(self) -> float:
        """95 of 100 batches take less, in milliseconds."""
        return quantiles(self.batches, n=20)[-1] * 1000

    def per_page(self, seconds: float) -> float:
        """CPU in milliseconds."""
        return seconds / (len(self.batches) * VISITS) * 1000


def measure(folder: Path, quick: bool) -> list[Figure]:
    rounds = 2 if quick else 20
    whole = asyncio.run(_job(f"sqlite:///{folder}/whole.db", rounds))
    bare = asyncio.run(_job(f"sqlite:///{folder}/bare.db", rounds, bare=True))
    with postgres_server() as server:
        served = asyncio.run(_job(server.create("bench"), rounds))
    opening = asyncio.run(_openings(f"sqlite:///{folder}/openings.db", rounds))
    page = _whole_page(folder / "page", 20 if quick else 500)
    added = whole.per_page(whole.cpu + whole.claiming) - bare.per_page(bare.cpu)
    text = "a batch of 100 pages and 300 records"
    return [
        Figure("sqlite", f"{text} on SQLite, 95 of 100", whole.slow, "ms", SLOWEST_SQLITE),
        Figure("sqlite_cpu", "its CPU per page", whole.per_page(whole.cpu), "ms", CPU),
        Figure("postgres", f"{text} on Postgres, 95 of 100", served.slow, "ms", SLOWEST_POSTGRES),
        Figure("postgres_cpu", "its CPU per page, without the server's", served.per_page(served.cpu), "ms"),
        Figure("openings", f"{SITES:,} sites opened at once on SQLite, 95 of 100", opening, "ms", SLOWEST_OPENING),
        Figure("added", "leases, counters and events on SQLite, per page", added, "ms"),
        Figure("page", "a whole page of the sample web", page, "ms"),
        Figure("overhead", "leases, counters and events of that", added / page, "times", OVERHEAD),
    ]


def _whole_page(folder: Path, count: int) -> float:
    """CPU of our programs per page of a job, in milliseconds."""
    folder.mkdir()
    with sample_web(folder, count) as web:
        return crawl(Asked(folder / "job", web.domains, web.keywords, web.port, pages=PAGES)).per_page


async def _job(url: str, rounds: int, *, bare: bool = False) -> Cost:
    """Write a job a hundred visits at a time; `bare`: without leases, counters and events.

    As a worker does, which leaves it to the runner to move the log of SQLite into the file: that costs CPU here too,
    but no batch waits for it.
    """
    database = open_database(url, SystemClock(), checkpoints=False)
    cost = Cost()
    try:
        await database.write(upgrade)
        await database.write(_create, VISITS * (rounds + 1))
        for turn in range(rounds + 1):
            began = time.process_time()
            held = await database.write(_take_up)
            claimed = time.process_time() - began
            with _stubbed({visit.id: visit.lease for visit in held}) if bare else nullcontext():
                times, cpu = [], 0.0
                for number in range(PAGES):
                    steps = [_step(visit, number) for visit in held]
                    start, before = time.perf_counter(), time.process_time()
                    await database.write(commit, steps, 0)
                    times.append(time.perf_counter() - start)
                    cpu += time.process_time() - before
                before = time.process_time()
                await database.tidy()
                cpu += time.process_time() - before
            if turn:  # the first one compiles the statements
                cost.batches += times
                cost.cpu += cpu
                cost.claiming += claimed
    finally:
        await database.close()
    return cost


async def _openings(url: str, rounds: int) -> float:
    """Open sites in batches; return the milliseconds that 95 of 100 batches stay below."""
    database = open_database(url, SystemClock())
    await database.write(upgrade)
    await database.write(_create, 1)
    (visit,) = await database.write(_take_up)
    took = []
    for turn in range(rounds):
        follows = [Follow(f"http://shop-{turn}-{number}.test/", "shop", carry={"found": 1}) for number in range(SITES)]
        opened = tuple(
            Opening(asked_page(one, CrawlPolicy(), visit.host, 1), site_of_url(one.url), "http", "asked for")
            for one in follows
        )
        began = time.perf_counter()
        await database.write(commit, [Step(visit, opened=opened)], 0)
        took.append(time.perf_counter() - began)
    await database.close()
    return quantiles(took, n=20)[-1] * 1000


def _create(tx: Tx, count: int) -> None:
    hosts = list(domains(count))
    job = jobs.create(tx, "Bench", "prospect", {"keywords": list(_KEYWORDS)}, count)
    sites.create_many(tx, job.id, [Target(host, (f"http://{host}/",), host) for host in hosts])
    jobs.move(tx, job.id, JobState.RUNNING)


def _take_up(tx: Tx) -> list[Visit]:
    ids = [one.id for row in visits.ready(tx, "http", 0, 1, VISITS).values() for one in row]
    visits.issue(tx, ids, "bench/0-1")
    return visits.claim(tx, {one: uuid4() for one in ids}, "bench/0-1", _LEASE)


def _step(visit: Visit, number: int) -> Step:
    page = Page.at(f"http://{visit.host}/articles/{number}/", 1, found_on=f"http://{visit.host}/")
    facts = {"domain": visit.host, "url": page.url, "snippet": _SNIPPET}
    records = tuple(Record(MATCH.name, (page.url, keyword), {**facts, "keyword": keyword}) for keyword in _KEYWORDS)
    ended = PageStep(page, PageState.DONE, None, 200, page.key, records, 42_000, b"")
    return Step(visit, ended, ending=Finished(SiteState.DONE) if number == PAGES - 1 else None)


@contextmanager
def _stubbed(known: Mapping[UUID, UUID]) -> Iterator[None]:
    """Without what makes it safe to lose a worker, and without what tells people how far a job is."""
    with (
        patch.object(visits, "leases", lambda *_, **__: known),
        patch.object(visits, "apply", lambda *_: None),
        patch.object(counters, "add", lambda *_: None),
        patch.object(events, "add_many", lambda *_: None),
    ):
        yield
