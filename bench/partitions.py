"""What ten million rows of former months cost whoever works now: little, since they lie in partitions of their own.

Visits are taken up and settled in a database with them and in an empty one of the same server, turn by turn.
"""

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import orjson

from bench.figure import BenchFailed, Figure
from bench.lists import domains
from bench.past_months import EVENTS, PAGES, RECORDS, Past, fill
from bench.running import GOSSAMER, environment, fastest, run
from gossamer.clock import SystemClock
from gossamer.db.database import PostgresDatabase
from gossamer.db.schema import upgrade
from gossamer.db.transactions import Tx
from gossamer.model.job import Target
from gossamer.model.page import Page, Visit
from gossamer.model.record import Record
from gossamer.model.states import JobState, PageState, SiteState
from gossamer.recipes.prospect import MATCH
from gossamer.settle.commit import commit
from gossamer.settle.step import Finished, PageStep, Step
from gossamer.store import jobs, result_rows, sites, visits
from tests.chaos.postgres import postgres_server

MONTHS, HOSTS = 7, 50_000  # of the full measure: 10,150,000 rows
SLOWER = 1.5  # times the empty database
STATUS = 0.2  # seconds

_VISITS = 100  # at a time
_KEYWORDS = ("CRM", "invoice", "payroll")
_SNIPPET = "...in one place and without any paper " * 7
_LEASE = timedelta(minutes=1)
_ENOUGH, _LARGE = 20_000, 20_000  # rows of one step of an export

_SCANS = """
    SELECT relname, coalesce(seq_scan, 0) + coalesce(idx_scan, 0)
    FROM pg_stat_user_tables WHERE relname LIKE 'records\\_%'
"""


def measure(folder: Path, quick: bool) -> list[Figure]:
    months, hosts, turns = (2, 150, 3) if quick else (MONTHS, HOSTS, 200)
    with postgres_server() as server:
        empty, large = server.create("empty"), server.create("large")
        began = time.perf_counter()
        past = asyncio.run(fill(large, months, hosts))
        filled = time.perf_counter() - began
        if past.rows != months * hosts * (PAGES + RECORDS + EVENTS):
            raise BenchFailed(f"only {past.rows} rows were written")
        without, within = asyncio.run(_work(empty, large, turns, warm=1 if quick else 10))
        status, floor = _status(folder, empty, large, past, 1 if quick else 5)
        touched, seconds = asyncio.run(_select(large, past))
    slow, slow_empty = _slow(within), _slow(without)
    text = "100 visits taken up and settled in two batches"
    return [
        Figure("rows", "rows of other jobs", past.rows, "", note=f"{past.size / 1e9:.1f} GB in {filled:.0f} s"),
        Figure("empty", f"{text}, empty database, 95 of 100", slow_empty, "ms", note=_middle(without)),
        Figure("large", f"{text}, beside those rows, 95 of 100", slow, "ms", note=_middle(within)),
        Figure("slower", "that, of the empty database", slow / slow_empty, "times", SLOWER),
        Figure("status", "`job status` beyond `job list` of the empty database", status - floor, "s", STATUS),
        Figure("status_wall", "`job status`, with the program's start", status, "s"),
        Figure("touched", f"partitions read to select {past.records:,} records", touched, "", 1, least=1),
        Figure("select", "selecting them as an export does", seconds, "s"),
    ]


def _slow(times: list[float]) -> float:
    """95 of 100 take less, in milliseconds."""
    return quantiles(times, n=20)[-1] * 1000


def _middle(times: list[float]) -> str:
    return f"median {median(times) * 1000:.0f} ms"


async def _work(empty: str, large: str, turns: int, *, warm: int) -> tuple[list[float], list[float]]:
    """Seconds of each turn, in either database. What disturbs the machine disturbs both."""
    databases = [PostgresDatabase(url, SystemClock()) for url in (empty, large)]
    times: tuple[list[float], list[float]] = ([], [])
    try:
        await databases[0].write(upgrade)
        for database in databases:
            await database.write(_create, _VISITS * (turns + warm))
        for turn in range(turns + warm):
            for database, taken in zip(databases, times, strict=True):
                began = time.perf_counter()
                held = await database.write(_take_up)
                await database.write(commit, [_homepage(visit) for visit in held], 0)
                await database.write(commit, [_last_page(visit) for visit in held], 0)
                if turn >= warm:  # the first ones compile the statements, here and on the server
                    taken.append(time.perf_counter() - began)
    finally:
        for database in databases:
            await database.close()
    return times


def _create(tx: Tx, count: int) -> None:
    job = jobs.create(tx, "Bench", "prospect", {"keywords": list(_KEYWORDS)}, count)
    sites.create_many(tx, job.id, [Target(host, (f"http://{host}/",), host) for host in domains(count)])
    jobs.move(tx, job.id, JobState.RUNNING)


def _take_up(tx: Tx) -> list[Visit]:
    ids = [one.id for row in visits.ready(tx, "http", 0, 1, _VISITS).values() for one in row]
    visits.issue(tx, ids, "bench/0-1")
    return visits.claim(tx, {one: uuid4() for one in ids}, "bench/0-1", _LEASE)


def _homepage(visit: Visit) -> Step:
    """A page that is new, which leads to another one."""
    home = f"http://{visit.host}/"
    return Step(visit, _read(visit, Page.at(home)), chosen=(Page.at(f"{home}about/", 1, found_on=home),))


def _last_page(visit: Visit) -> Step:
    """The one that waited, and the visit is over."""
    home = f"http://{visit.host}/"
    return Step(visit, _read(visit, Page.at(f"{home}about/", 1, found_on=home)), ending=Finished(SiteState.DONE))


def _read(visit: Visit, page: Page) -> PageStep:
    facts = {"domain": visit.host, "url": page.url, "snippet": _SNIPPET}
    records = tuple(Record(MATCH.name, (page.url, keyword), {**facts, "keyword": keyword}) for keyword in _KEYWORDS)
    return PageStep(page, PageState.DONE, None, 200, page.key, records, 42_000, b"")


def _status(folder: Path, empty: str, large: str, past: Past, times: int) -> tuple[float, float]:
    """Of the large job, and what any command costs."""
    looking = [*GOSSAMER, "job", "status", str(past.job_id), "--json"]
    listing = [*GOSSAMER, "job", "list", "--json"]
    here, there = (environment(folder / "home", GOSSAMER_DATABASE_URL=url) for url in (large, empty))
    matches = orjson.loads(run(looking, here, cwd=folder).out)["matches"]
    if matches != past.records:
        raise BenchFailed(f"job status counts {matches} of {past.records} records")
    ours, floor = [], []
    for _ in range(times):
        ours.append(run(looking, here, cwd=folder))
        floor.append(run(listing, there, cwd=folder))
    return fastest(ours).wall, fastest(floor).wall


async def _select(url: str, past: Past) -> tuple[int, float]:
    """All records of the large job, as an export reads them: of how many partitions, by the server's own count."""
    before = await _scans(url)
    database = PostgresDatabase(url, SystemClock())
    began = time.perf_counter()
    try:
        found = await _export(database, past.job_id)
    finally:
        await database.close()  # and the server counts what it has done
    seconds = time.perf_counter() - began
    if found != past.records:
        raise BenchFailed(f"{found} of {past.records} records were selected")
    after = await _scans(url)
    return sum(after[name] > before.get(name, 0) for name in after), seconds


async def _export(database: PostgresDatabase, job_id: UUID) -> int:
    places = await database.read(result_rows.site_places, job_id)
    found, start = 0, 0
    while start < len(places):
        some = places[start : start + 1_000]
        lists = await database.read(result_rows.records_of_sites, job_id, MATCH.name, some, _ENOUGH, _LARGE)
        found += sum(len(orjson.loads(written)) for written in lists)
        start += len(lists)
    return found


async def _scans(url: str) -> dict[str, int]:
    await asyncio.sleep(1.5)  # what a connection has done is counted when it ends, or every second
    connection: Any = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    try:
        return {row[0]: row[1] for row in await connection.fetch(_SCANS)}
    finally:
        await connection.close()
