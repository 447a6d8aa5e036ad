"""A working process that has too much memory is ended and replaced, and what it walked goes on."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from gossamer.clock import SystemClock
from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.model.worker import Worker
from gossamer.runtime.process_pool import ProcessPool
from gossamer.store import workers
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, make_job

MB = 1 << 20
LIMIT = 200 * MB
# The first of all grows to what it is told. One that is to pass the limit does not hear that it should end before.
CHILD = """
import pathlib, signal, sys, time
hears = int(sys.argv[1]) < int(sys.argv[3])
signal.signal(signal.SIGTERM, (lambda *_: sys.exit(0)) if hears else signal.SIG_IGN)
mark = pathlib.Path(sys.argv[2])
first = not mark.exists()
mark.touch()
held = bytearray(b"x") * (int(sys.argv[1]) * first)
while True:
    time.sleep(0.05)
"""


@pytest.fixture
async def start(database: AnyDatabase, tmp_path: Any) -> AsyncIterator[Callable[[int], ProcessPool]]:
    crews = []

    def started(grows_to: int) -> ProcessPool:
        command = (sys.executable, "-c", CHILD, str(grows_to), str(tmp_path / "mark"), str(LIMIT))
        process_pool = ProcessPool(database, SystemClock(), "box", [command], timedelta(seconds=60), memory=LIMIT)
        process_pool.start()
        crews.append(process_pool)
        return process_pool

    yield started
    for process_pool in crews:
        await process_pool.stop(now=True)


def child_of(process_pool: ProcessPool) -> str:
    return process_pool._children[0].worker


async def until(process_pool: ProcessPool, condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await condition():
            await process_pool.look()
            await asyncio.sleep(0.05)


def walked(tx: Tx) -> tuple[str, str | None, int]:
    row = tx.run(tables.visits.select()).one()
    return str(row.state), row.worker, row.deaths


async def test_one_that_passes_the_limit_is_killed_and_its_visits_are_reclaimed(
    database: AnyDatabase, start: Callable[[int], ProcessPool], caplog: pytest.LogCaptureFixture
) -> None:
    await database.write(make_job, "a.test")
    process_pool = start(LIMIT + 50 * MB)
    first = child_of(process_pool)
    now = await database.read(lambda tx: tx.now)
    await database.write(workers.beat, Worker(first, "box", 1, {"http": 5}, "1", now, now))
    assert await database.write(claim_all, first)

    async def replaced() -> bool:
        return child_of(process_pool) != first

    await until(process_pool, replaced)
    assert "worker.too_large" in caplog.text
    assert await database.read(walked) == ("ready", None, 1), "what it walked may be to blame, and is ready again"
    assert await database.read(workers.known) == []
    second = child_of(process_pool)
    for _ in range(10):
        await process_pool.look()
        await asyncio.sleep(0.05)
    assert child_of(process_pool) == second, "one that keeps to the limit is left alone"


async def test_one_that_comes_near_it_ends_in_order(
    database: AnyDatabase, start: Callable[[int], ProcessPool], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        process_pool = start(LIMIT - 25 * MB)
        first = child_of(process_pool)

        async def replaced() -> bool:
            return child_of(process_pool) != first

        await until(process_pool, replaced)
    said = [record.getMessage() for record in caplog.records]
    assert [line for line in said if "worker.retired" in line]
    assert not [line for line in said if "worker.died" in line or "worker.too_large" in line]
