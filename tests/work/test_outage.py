"""An outage of Redis is said once, by however many processes, and taken back when it is over for all of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.clock import FrozenClock, SystemClock
from gossamer.model.alert import Alert, AlertKind
from gossamer.store import alerts
from gossamer.store.database import SqliteDatabase
from gossamer.store.schema import upgrade
from gossamer.work.outage import OutageWatch


class Worker:
    """A process that looks once a second, and what it knows of Redis."""

    def __init__(self, database: SqliteDatabase, clock: FrozenClock) -> None:
        self.why = ""
        self.watch = OutageWatch(database, clock, lambda: self.why, "home-1")


@pytest.fixture
async def rows(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "a.db", SystemClock())
    await database.write(upgrade)
    yield database
    await database.close()


async def live(clock: FrozenClock, seconds: int, *workers: Worker) -> None:
    for _ in range(seconds):
        for worker in workers:
            await worker.watch.look()
        clock.advance(1)


async def said(rows: SqliteDatabase, *, cleared: bool = True) -> list[Alert]:
    return await rows.read(lambda tx: alerts.recent(tx, 100, cleared=cleared))


async def test_it_is_said_once_by_all_processes_and_cleared_when_it_is_over(rows: SqliteDatabase) -> None:
    clock = FrozenClock()
    one, two = Worker(rows, clock), Worker(rows, clock)
    await live(clock, 20, one, two)
    assert await said(rows) == []
    one.why = two.why = "Connection refused"
    await live(clock, 60, one, two)
    (alert,) = await said(rows, cleared=False)
    assert (alert.kind, alert.subject) == (AlertKind.REDIS, "home-1")
    assert alert.sentence.startswith(
        "Redis is away (Connection refused). Until it is back every worker asks a domain at"
    )
    one.why = ""
    await live(clock, 3, one, two)
    two.why = ""  # each finds it at a moment of its own
    await live(clock, 30, one, two)
    assert await said(rows, cleared=False) == []
    assert len(await said(rows)) == 1


async def test_a_server_that_comes_and_goes_is_one_outage(rows: SqliteDatabase) -> None:
    clock = FrozenClock()
    worker = Worker(rows, clock)
    for why in ("no answer in time", "") * 10:
        worker.why = why
        await live(clock, 3, worker)
    assert len(await said(rows, cleared=False)) == len(await said(rows)) == 1
    await live(clock, 10, worker)
    worker.why = "no answer in time"
    await live(clock, 10, worker)
    assert len(await said(rows)) == 2


async def test_it_holds_while_one_process_cannot_reach_it(rows: SqliteDatabase) -> None:
    clock = FrozenClock()
    one, two = Worker(rows, clock), Worker(rows, clock)
    one.why = two.why = "Network is unreachable"
    await live(clock, 5, one, two)
    one.why = ""
    await live(clock, 60, one, two)
    assert len(await said(rows, cleared=False)) == 1
    two.why = ""
    await live(clock, 10, one, two)
    assert await said(rows, cleared=False) == []


async def test_what_a_former_process_left_open_is_closed_by_the_next(rows: SqliteDatabase) -> None:
    clock = FrozenClock()
    former = Worker(rows, clock)
    former.why = "Connection refused"
    await live(clock, 2, former)
    assert len(await said(rows, cleared=False)) == 1
    await live(clock, 10, Worker(rows, clock))
    assert await said(rows, cleared=False) == []
