"""Checkpoints say what the counters said, in the order they were taken, and do not pile up."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import select, text

from gossamer.clock import SystemClock
from gossamer.db import tables
from gossamer.db.database import PostgresDatabase, SqliteDatabase
from gossamer.db.schema import upgrade
from gossamer.db.transactions import Tx
from gossamer.model.job import Checkpoint, CheckpointCause
from gossamer.model.states import JobState
from gossamer.store import counters, jobs
from gossamer.store.counters import KEPT, CounterChange
from tests.conftest import AnyDatabase
from tests.jobs import make_job


def taken(tx: Tx, job_id: UUID) -> list[tuple[str, int]]:
    """Cause and finished sites of all checkpoints of a job, oldest first."""
    rows = tables.checkpoints
    query = select(rows.c.cause, rows.c.sites_done).where(rows.c.job_id == job_id).order_by(rows.c.id)
    return [(row.cause, row.sites_done) for row in tx.run(query)]


async def test_a_checkpoint_is_what_the_counters_of_all_shards_say(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test", "c.test")
    assert await database.read(counters.last, job.id) is None
    for shard in range(3):
        change = CounterChange(1, 2, 3, 4, 5, 6, 7, 8, 9)
        await database.write(counters.add, shard, {job.id: change})
    await database.write(counters.take, job.id, CheckpointCause.PAUSE)
    last = await database.read(counters.last, job.id)
    progress = await database.read(counters.progress, job.id)
    assert last
    assert last == Checkpoint(
        last.at, CheckpointCause.PAUSE, JobState.RUNNING, 3, 3, 6, 9, 12, 15, 18, 24, progress.last_activity
    )
    assert last.sites_finished == 18


async def test_one_is_due_when_enough_visits_have_ended_since_the_last(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")

    async def end(visits: int, shard: int = 0) -> None:
        await database.write(counters.add, shard, {job.id: CounterChange(sites_done=visits)})
        await database.write(counters.take_due, [job.id], 10)

    await end(9)
    assert await database.read(taken, job.id) == []
    await end(1, shard=1)
    assert await database.read(taken, job.id) == [("visits", 10)]
    await end(9)
    await end(4)
    assert await database.read(taken, job.id) == [("visits", 10), ("visits", 23)]
    await end(-12)  # tried again
    assert (await database.read(taken, job.id))[2:] == [("visits", 11)]


async def test_checkpoints_of_a_job_that_is_gone_are_not_taken(database: AnyDatabase) -> None:
    gone = UUID(int=7)
    await database.write(counters.take, gone, CheckpointCause.END)
    await database.write(counters.take_due, [gone], 0)
    assert await database.read(taken, gone) == []


async def test_only_the_last_ones_are_kept(database: AnyDatabase) -> None:
    job, other = await database.write(make_job, "a.test"), await database.write(make_job, "b.test")
    await database.write(counters.take, other.id, CheckpointCause.PAUSE)

    def many(tx: Tx) -> None:
        for number in range(KEPT + 5):
            counters.add(tx, number, {job.id: CounterChange(sites_done=1)})
            counters.take(tx, job.id, CheckpointCause.PAUSE)

    await database.write(many)
    kept = await database.read(taken, job.id)
    assert [finished for _, finished in kept] == list(range(6, KEPT + 6))
    assert len(await database.read(taken, other.id)) == 1


async def test_one_taken_beside_a_take_back_does_not_become_the_last(new_postgres: Callable[[], str]) -> None:
    database = PostgresDatabase(new_postgres(), SystemClock())
    job = await database.write(make_job, "a.test", "b.test")
    await database.write(counters.add, 0, {job.id: CounterChange(sites_failed=1, pages_failed=5)})
    taking = asyncio.Event()

    def retry_slowly(tx: Tx) -> None:
        jobs.hold(tx, job.id)
        counters.take_back(tx, job.id, CounterChange(sites_failed=-1, pages_failed=-5, pages_open=5))
        counters.take(tx, job.id, CheckpointCause.VISITS)
        taking.set()
        tx.run(text("SELECT pg_sleep(0.3)"))

    def end_a_visit(tx: Tx) -> None:
        counters.add(tx, 1, {job.id: CounterChange(sites_done=1)})
        counters.take_due(tx, [job.id], 1)

    retrying = asyncio.create_task(database.write(retry_slowly))
    await taking.wait()
    await database.write(end_a_visit)
    await retrying
    last = await database.read(counters.last, job.id)
    assert last
    assert last.pages_failed == 0
    # What was left out is taken with the next visit that ends.
    await database.write(end_a_visit)
    assert await database.read(taken, job.id) == [("visits", 0), ("visits", 2)]
    await database.close()


async def test_a_runner_that_goes_waits_for_a_take_back(new_postgres: Callable[[], str]) -> None:
    database = PostgresDatabase(new_postgres(), SystemClock())
    job = await database.write(make_job, "a.test")
    await database.write(counters.add, 0, {job.id: CounterChange(pages_failed=5)})
    taking = asyncio.Event()

    def retry_slowly(tx: Tx) -> None:
        jobs.hold(tx, job.id)
        taking.set()
        tx.run(text("SELECT pg_sleep(0.3)"))
        counters.take_back(tx, job.id, CounterChange(pages_failed=-5, pages_open=5))
        counters.take(tx, job.id, CheckpointCause.VISITS)

    retrying = asyncio.create_task(database.write(retry_slowly))
    await taking.wait()
    assert await database.write(counters.take_running) == 1
    await retrying
    last = await database.read(counters.last, job.id)
    assert last
    assert (last.cause, last.pages_failed) == (CheckpointCause.SHUTDOWN, 0)
    await database.close()


class SetBack(SystemClock):
    """A clock that somebody sets back an hour each time it is looked at."""

    _behind = timedelta()

    def now(self) -> datetime:
        self._behind += timedelta(hours=1)
        return datetime.now(UTC) - self._behind


async def test_the_last_one_stays_the_last_when_the_clock_is_set_back(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "gossamer.db", SetBack())
    await database.write(upgrade)
    job = await database.write(make_job, "a.test")
    for expected in range(1, 4):
        await database.write(counters.add, 0, {job.id: CounterChange(sites_done=1)})
        await database.write(counters.take, job.id, CheckpointCause.PAUSE)
        last = await database.read(counters.last, job.id)
        assert last
        assert last.sites_done == expected
    await database.close()
