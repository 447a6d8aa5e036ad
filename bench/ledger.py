"""How long a paid request waits for its reservation: 50 of one job under way at a time, on Postgres, durably.

Each of them reserves, calls for a while, and has its charge settled with those of the others, as in a working process:
one Treasurer, one Settler, one uvloop. What is counted is from asking to being granted. Beside them, in the same
seconds and on the same server, single rows are committed without any of our code: what a durable commit takes here is
the floor. Also without any time between, which no provider can do: only the ledger's own speed.
"""

import asyncio
import random
import time
from pathlib import Path
from statistics import median, quantiles
from uuid import uuid4

import asyncpg
import uvloop

from bench.figure import BenchFailed, Figure
from bench.settle import VISITS
from gossamer.billing.prices import PriceList
from gossamer.billing.reservations import Treasurer
from gossamer.clock import SystemClock
from gossamer.db.database import Database, open_database
from gossamer.db.schema import upgrade
from gossamer.db.transactions import Tx
from gossamer.model.job import Target
from gossamer.model.money import Cap, Reservation, Scope
from gossamer.model.page import Page, Visit
from gossamer.model.states import JobState, PageState
from gossamer.settle.settler import Settler
from gossamer.settle.step import PageStep, Step
from gossamer.store import audit, budgets, jobs, sites, visits
from tests.chaos.postgres import postgres_server
from tests.jobs import LEASE

CALLS = 50  # under way at a time
RESERVED = 5.0  # ms, 95 of 100 reservations
_CALL = (0.5, 1.5)  # seconds: as quick as the quickest of providers
_RUNG = "scrapingbee-js"
_BESIDE = 0.05  # seconds between two bare commits, on average


def measure(folder: Path, quick: bool) -> list[Figure]:
    each = 3 if quick else 20
    with postgres_server() as server:
        calm, floor = uvloop.run(_beside_bare_commits(server.create("calm"), each))
        rushed = uvloop.run(_spend(server.create("rushed"), each, (0.0, 0.0)))
    embedded = uvloop.run(_spend(f"sqlite:///{folder}/ledger.db", each, _CALL))
    note = f"{CALLS} calls of {_CALL[0]} to {_CALL[1]} s under way, {CALLS * each:,} in all"
    bare = "a bare durable commit of one row on the same server in the same seconds"
    return [
        Figure("reservation", "a reservation on Postgres, 95 of 100", _slow(calm), "ms", RESERVED, note),
        Figure("floor", f"{bare}, 95 of 100", _slow(floor), "ms"),
        Figure("median", "a reservation on Postgres, half of them", median(calm) * 1000, "ms"),
        Figure("floor_median", f"{bare}, half of them", median(floor) * 1000, "ms"),
        Figure("rushed", "a reservation on Postgres, calls that take no time, 95 of 100", _slow(rushed), "ms"),
        Figure("sqlite", "a reservation on SQLite, 95 of 100", _slow(embedded), "ms"),
    ]


async def _beside_bare_commits(url: str, each: int) -> tuple[list[float], list[float]]:
    """Seconds of every reservation, and of every bare commit."""
    connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    floor: list[float] = []

    async def commit_bare() -> None:
        while True:
            await asyncio.sleep(random.expovariate(1 / _BESIDE))
            began = time.perf_counter()
            await connection.execute("UPDATE bare SET number = number + $1", 1)
            floor.append(time.perf_counter() - began)

    try:
        await connection.execute("CREATE TABLE bare (number bigint)")
        await connection.execute("INSERT INTO bare VALUES (0)")
        beside = asyncio.create_task(commit_bare())
        times = await _spend(url, each, _CALL)
        beside.cancel()
        await asyncio.wait([beside])
    finally:
        await connection.close()
    return times, floor


def _slow(times: list[float]) -> float:
    return quantiles(times, n=20)[-1] * 1000


async def _spend(url: str, each: int, call: tuple[float, float]) -> list[float]:
    """Seconds of every reservation; the first of each worker compiles statements and does not count."""
    clock = SystemClock()
    database = open_database(url, clock)
    try:
        await database.write(upgrade)
        held = await database.write(_take_up)
        treasurer = Treasurer(database, clock, PriceList(), {scope: Cap() for scope in Scope})
        settler = Settler(database, clock, 0, lambda _: None)
        settling = asyncio.create_task(settler.run())
        workers = (_work(treasurer, settler, visit, each, call) for visit in held)
        times = [one for some in await asyncio.gather(*workers) for one in some[1:]]
        settler.close()
        await settling
        await _prove(database, each)
        return times
    finally:
        await database.close()


def _take_up(tx: Tx) -> list[Visit]:
    job = jobs.create(tx, "Bench", "prospect", {"keywords": ["CRM"]}, CALLS)
    sites.create_many(tx, job.id, [Target(f"{one}.test", (f"http://{one}.test/",), "") for one in range(CALLS)])
    budgets.open_job(tx, job.id, Cap(10_000_000, 10**12))
    jobs.move(tx, job.id, JobState.RUNNING)
    ids = [one.id for row in visits.ready(tx, "http", 0, 1, VISITS).values() for one in row]
    return visits.claim(tx, {one: uuid4() for one in ids}, "bench/0-1", LEASE)


async def _work(
    treasurer: Treasurer, settler: Settler, visit: Visit, each: int, call: tuple[float, float]
) -> list[float]:
    times = []
    for number in range(each + 1):
        page = Page.at(f"http://{visit.host}/{number}/", 1)
        began = time.perf_counter()
        granted = await treasurer.reserve(visit, _RUNG, page=page.key)
        times.append(time.perf_counter() - began)
        if not isinstance(granted, Reservation):
            raise BenchFailed(f"a reservation was refused: {granted}")
        await asyncio.sleep(random.uniform(*call))
        await settler.room()
        ended = PageStep(page, PageState.DONE, None, 200, page.key, (), 42_000, b"")
        settler.put_result(Step(visit, ended, charges=(granted.charge(5),)))
    return times


async def _prove(database: Database, each: int) -> None:
    """What was measured has really been booked."""
    faults = await database.read(audit.money_faults)
    (budget,) = [one for one in await database.read(budgets.everything) if one.key.scope is Scope.JOB]
    if faults or budget.spent.credits != CALLS * (each + 1) * 5:
        raise BenchFailed(f"the books do not balance: {faults or budget.spent}")
