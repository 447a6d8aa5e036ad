"""Long reads side by side see one and the same moment, whatever is written meanwhile."""

import asyncio
import threading
import time
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text

from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.transactions import Tx
from gossamer.store import counters
from gossamer.store.counters import CounterChange
from tests.conftest import AnyDatabase
from tests.jobs import make_job


async def test_reads_of_one_moment_agree_beside_a_busy_writer(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    over = asyncio.Event()

    async def write() -> int:
        written = 0
        while not over.is_set():
            await database.write(counters.add, written, {job.id: CounterChange(pages_done=1)})
            written += 1
        return written

    def twice(tx: Tx) -> tuple[int, int]:
        first = counters.progress(tx, job.id).pages_done
        return first, counters.progress(tx, job.id).pages_done

    writing = asyncio.create_task(write())
    seen = []
    for _ in range(10):
        found = await database.read_together(twice, twice, twice)
        assert len({number for pair in found for number in pair}) == 1, found
        seen.append(found[0][0])
    over.set()
    assert seen[0] <= seen[-1] <= await writing
    assert seen[-1] > 0


async def test_each_read_has_its_own_answer_and_two_audits_do_not_wait_for_each_other(database: AnyDatabase) -> None:
    works = [lambda tx, n=number: n for number in range(3)]
    assert await asyncio.gather(*(database.read_together(*works) for _ in range(4))) == [[0, 1, 2]] * 4


async def test_what_one_read_raises_is_raised_and_the_database_goes_on(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")

    def slow(tx: Tx) -> UUID:
        time.sleep(0.05)
        return job.id

    def broken(tx: Tx) -> UUID:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.read_together(slow, broken)
    assert await database.read_together(slow, slow) == [job.id, job.id]
    await database.write(counters.add, 0, {job.id: CounterChange(pages_done=1)})


async def test_a_short_read_of_a_file_does_not_wait_for_long_ones(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db", SystemClock())
    begun, answered = threading.Event(), threading.Event()

    def long(tx: Tx) -> bool:
        begun.set()
        return answered.wait(20)  # false if the short one was held up until we gave up

    def short(tx: Tx) -> int:
        return int(tx.run(text("SELECT 1")).scalar_one())

    reading = asyncio.create_task(database.read_together(long, long))
    assert await asyncio.to_thread(begun.wait, 20)
    assert await database.read(short) == 1
    answered.set()
    assert await reading == [True, True]
    await database.close()
