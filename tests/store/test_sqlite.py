"""What is particular to a database that is one file: what waits for the disk, and what becomes of the log."""

import asyncio
import errno
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from shutil import copyfile
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, select, text
from sqlalchemy.exc import IntegrityError

from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.sqlite import WriteLock
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway, StorageFull, UserError
from gossamer.model.page import Page
from gossamer.model.record import Record
from gossamer.model.states import PageState
from gossamer.settle.commit import Committed
from gossamer.settle.settler import MOST_ROWS, Settler, is_long
from gossamer.settle.step import HandBack, PageStep, Step
from gossamer.store import counters, jobs, pages
from tests.jobs import claim_all, done, make_job

_FULL, _NORMAL = 2, 1


@pytest.fixture
async def database(tmp_path: Path, sqlite_file: Path) -> AsyncIterator[SqliteDatabase]:
    copyfile(sqlite_file, tmp_path / "gossamer.db")
    opened = SqliteDatabase(tmp_path / "gossamer.db", SystemClock(), checkpoints=False)
    yield opened
    await opened.close()


def synced(tx: Tx) -> int:
    return int(tx.run(text("PRAGMA synchronous")).scalar_one())


def log_of(database: SqliteDatabase) -> bytes:
    return Path(f"{database.path}-wal").read_bytes()


async def test_only_what_somebody_is_told_of_waits_for_the_disk(database: SqliteDatabase) -> None:
    assert await database.write(synced) == _FULL
    assert await database.write_nosync(synced) == _NORMAL
    assert await database.write(synced) == _FULL


async def test_what_nobody_is_told_of_is_seen_by_everybody(database: SqliteDatabase) -> None:
    other = SqliteDatabase(database.path, SystemClock())
    job = await database.write_nosync(make_job, "a.test")
    for look in (database.read, database.read_inline, other.read, other.read_inline):
        assert await look(jobs.get, job.id) == job
    await other.close()


def thread_of(tx: Tx) -> int:
    make_job(tx, "a.test")
    return threading.get_ident()


async def test_what_waits_for_nothing_is_written_in_the_thread_that_asks(database: SqliteDatabase) -> None:
    assert await database.write_nosync(thread_of) == threading.get_ident()
    assert await database.write(thread_of) != threading.get_ident()


async def test_while_another_thread_writes_the_loop_goes_on(database: SqliteDatabase) -> None:
    begun, over = threading.Event(), threading.Event()

    def hold(tx: Tx) -> bool:
        make_job(tx, "a.test")
        begun.set()
        return over.wait(60)

    holding = asyncio.create_task(database.write(hold))
    try:
        assert await asyncio.to_thread(begun.wait, 30)
        writing = asyncio.create_task(database.write_nosync(thread_of))
        await asyncio.sleep(0.1)
        assert not writing.done()
    finally:
        over.set()
    assert await holding
    assert await writing != threading.get_ident()
    assert await database.write_nosync(thread_of) == threading.get_ident()


async def test_who_writes_for_a_moment_is_waited_for_where_it_is_asked(database: SqliteDatabase) -> None:
    other = WriteLock(database.path)
    assert other.take_if_free()
    asyncio.get_running_loop().call_later(0.001, other.leave)
    assert await database.write_nosync(thread_of) == threading.get_ident()
    other.close()


async def test_somebody_who_knows_of_no_turns_is_waited_for_elsewhere(database: SqliteDatabase) -> None:
    with closing(sqlite3.connect(database.path, isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(database.write_nosync(thread_of))
        await asyncio.sleep(0.1)
        assert not writing.done()
        stranger.execute("ROLLBACK")
    assert await writing != threading.get_ident()
    assert await database.write_nosync(thread_of) == threading.get_ident()


async def test_what_fails_in_the_thread_that_asks_leaves_nothing_behind(database: SqliteDatabase) -> None:
    def fail(tx: Tx) -> None:
        make_job(tx, "a.test")
        raise ZeroDivisionError

    before = await database.read(count_jobs)
    with pytest.raises(ZeroDivisionError):
        await database.write_nosync(fail)
    assert await database.read(count_jobs) == before
    assert await database.write_nosync(thread_of) == threading.get_ident()
    assert await asyncio.wait_for(database.write(count_jobs), 10) == before + 1  # the turn was left


async def test_an_end_that_fails_undoes_everything(database: SqliteDatabase) -> None:
    """Whichever of the two ends it, and whoever comes next finds no transaction that is still open."""

    def make(tx: Tx) -> None:
        tx.run_raw("CREATE TABLE parents (id INTEGER PRIMARY KEY)", ())
        deferred = "REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED"
        tx.run_raw(f"CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER {deferred})", ())

    def orphan_by_driver(tx: Tx) -> None:
        tx.run_raw("INSERT INTO children VALUES (1, 99)", ())

    def orphan_by_library(tx: Tx) -> None:
        tx.conn.execute(text("INSERT INTO children VALUES (2, 99)"))

    def adopt(tx: Tx) -> int:
        tx.run_raw("INSERT OR REPLACE INTO parents VALUES (99)", ())
        return int(tx.run_raw("SELECT count(*) FROM children", ()).fetchone()[0])

    await database.write(make)
    for orphan in (orphan_by_driver, orphan_by_library):
        for write in (database.write, database.write_nosync):
            with pytest.raises(IntegrityError):
                await write(orphan)
            assert await asyncio.wait_for(database.write(adopt), 10) == 0
            await database.write(lambda tx: tx.run_raw("DELETE FROM parents", ()).rowcount)


async def test_the_library_goes_on_with_no_transaction_that_was_given_up(database: SqliteDatabase) -> None:
    def give_up(tx: Tx) -> None:
        make_job(tx, "a.test")
        tx.run_raw("ROLLBACK", ())  # as SQLite itself does on a full disk
        tx.conn.execute(text("SELECT 1"))

    before = await database.read(count_jobs)
    with pytest.raises(StorageAway, match="gone"):
        await database.write(give_up)
    assert await database.read(count_jobs) == before
    assert await database.write_nosync(thread_of) == threading.get_ident()


def count_jobs(tx: Tx) -> int:
    return int(tx.run(text("SELECT COUNT(*) FROM jobs")).scalar_one())


async def test_what_was_not_told_can_be_told_of_after_a_flush(database: SqliteDatabase) -> None:
    """Whether the disk has it shows only in a power cut: this is about all that may be there to sync, or may not."""
    await database.flush()  # there is no log yet
    job = await database.write_nosync(make_job, "a.test")
    await database.flush()
    assert await database.read(jobs.get, job.id) == job
    await database.tidy()
    await database.flush()
    assert await database.write(jobs.get, job.id) == job


async def test_a_system_with_one_way_to_sync_has_what_it_takes(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "fdatasync", raising=False)  # as on macOS
    await database.write_nosync(make_job, "a.test")
    await database.flush()


async def test_tidying_up_does_not_wait_for_a_long_read(database: SqliteDatabase) -> None:
    begun, over = threading.Event(), threading.Event()

    def read(_tx: Tx) -> bool:
        begun.set()
        return over.wait(60)

    reading = asyncio.create_task(database.read_together(read))
    try:
        assert await asyncio.to_thread(begun.wait, 30)
        await asyncio.wait_for(database.tidy(), 20)
        assert not reading.done()
    finally:
        over.set()
    assert await reading == [True]


async def test_tidying_up_does_not_make_a_file_that_is_gone(database: SqliteDatabase) -> None:
    await database.write(make_job, "a.test")
    database.path.unlink()
    await database.tidy()
    assert not database.path.exists()


async def test_a_glance_at_what_is_damaged_says_what_a_read_says(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    broken = SqliteDatabase(file, SystemClock())
    file.write_bytes(b"this is no database" * 1_000)
    with pytest.raises(UserError, match="damaged"):
        await broken.read_inline(jobs.get, uuid4())
    await broken.close()


_LONG = Table("long", MetaData(), Column("id", Integer, primary_key=True), Column("line", String))
_LINES = select(_LONG.c.line).order_by(_LONG.c.id)


@pytest.mark.parametrize(
    "look",
    [
        lambda tx: tx.run(_LINES).all(),
        lambda tx: [row.line for row in tx.run(_LINES)],
        lambda tx: tx.run(_LINES).scalars().all(),
    ],
)
async def test_damage_that_shows_between_two_rows_is_said_however_often_they_are_read(
    tmp_path: Path, look: Callable[[Tx], list[str]]
) -> None:
    file = tmp_path / "other.db"
    whole = SqliteDatabase(file, SystemClock())
    await whole.write(lambda tx: _LONG.create(tx.conn))
    lines = [{"id": number, "line": "x" * 500} for number in range(1_000)]
    await whole.write(lambda tx: tx.run_many(insert(_LONG), lines))
    assert len(await whole.read(look)) == 1_000
    await whole.close()
    pages = file.read_bytes()
    half = len(pages) // 2 // 4_096 * 4_096
    file.write_bytes(pages[:half] + b"\xff" * (len(pages) - half))
    broken = SqliteDatabase(file, SystemClock())
    for read in (broken.read, broken.read, broken.read, broken.read_inline):
        with pytest.raises(UserError, match="damaged"):
            await read(look)
    await broken.close()


async def test_the_log_begins_anew_beside_somebody_who_never_stops_writing(database: SqliteDatabase) -> None:
    over = asyncio.Event()

    written = 0

    async def write() -> None:
        nonlocal written
        while not over.is_set():
            await database.write(make_job, *(f"{uuid4().hex}.test" for _ in range(20)))
            written += 1

    async def more() -> None:
        enough = written + 3
        while written < enough:
            await asyncio.sleep(0.02)

    await database.write(make_job, "a.test")
    writing = asyncio.create_task(write())
    begun = 0
    try:
        for _ in range(12):
            header = log_of(database)[:32]  # it has numbers in it that change when the log begins anew
            await more()
            await database.tidy()
            await more()
            begun += log_of(database)[:32] != header
    finally:
        over.set()
        await writing
    assert begun >= 6


async def test_a_disk_that_fails_once_is_asked_again_and_nothing_is_written_twice(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.retries.limit = timedelta(seconds=30)
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    told: list[Committed] = []
    settler = Settler(database, SystemClock(), 0, told.append)
    settling = asyncio.create_task(settler.run())
    failures = iter([OSError(errno.EMFILE, "Too many open files"), OSError(errno.EIO, "Input/output error")])
    sync = os.fsync

    def fail_twice(file: int) -> None:
        if error := next(failures, None):
            raise error
        sync(file)

    monkeypatch.setattr(os, "fsync", fail_twice)
    await settler.room()
    settler.put_result(done(visit, "http://a.test/"))
    settler.put(Step(visit, ending=HandBack(SystemClock().now())))
    settler.close()
    await asyncio.wait_for(settling, 30)
    assert next(failures, None) is None
    assert [(one.lost, one.ended) for one in told] == [(set(), {visit.lease})]
    assert (await database.read(counters.progress, job.id)).pages_done == 1


@pytest.mark.parametrize(("number", "error"), [(errno.EIO, StorageAway), (errno.ENOSPC, StorageFull)])
async def test_a_disk_that_takes_nothing_is_a_database_that_is_away(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch, number: int, error: type[StorageAway]
) -> None:
    def fail(_file: int) -> None:
        raise OSError(number, "no")

    await database.write_nosync(make_job, "a.test")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        await database.flush()


async def test_a_log_that_begins_anew_does_so_while_tidying(database: SqliteDatabase) -> None:
    def salt() -> bytes:
        return log_of(database)[16:24]  # changes whenever the log begins anew

    await database.write(make_job, "a.test")
    await database.write(make_job, "b.test")
    before = salt()
    await database.tidy()
    after = salt()
    assert after != before
    assert await database.write_nosync(thread_of) == threading.get_ident()
    assert salt() == after


async def test_what_is_closed_is_not_written_to(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db", SystemClock())
    await database.close()
    with pytest.raises(RuntimeError):
        await database.write_nosync(thread_of)


async def test_waiting_for_a_turn_is_not_synced_either(database: SqliteDatabase) -> None:
    with closing(sqlite3.connect(database.path, isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(database.write_nosync(synced))
        await asyncio.sleep(0.1)
        stranger.execute("ROLLBACK")
    assert await writing == _NORMAL


@pytest.mark.parametrize(("records", "size", "long"), [(5, 50_000, False), (50, 50_000, True), (1, 1_000_000, True)])
async def test_many_records_or_long_ones_make_a_long_batch(
    database: SqliteDatabase, records: int, size: int, long: bool
) -> None:
    await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    found = tuple(Record("match", (f"{number}",), {}) for number in range(records))
    page = PageStep(Page.at("http://a.test/"), PageState.DONE, records=found, bytes_in=size)
    assert is_long([Step(visit, page)] * 200) is long


async def test_a_batch_that_chooses_very_many_pages_leaves_the_loop_alone(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    settler = Settler(database, SystemClock(), 0, lambda _: None)
    seen: list[int] = []
    write_pages = pages.choose

    def choose(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
        seen.append(threading.get_ident())
        write_pages(tx, rows)

    monkeypatch.setattr(pages, "choose", choose)
    settling = asyncio.create_task(settler.run())
    few, many = ([Page.at(f"http://a.test/{n}-{number}", 1) for number in range(n)] for n in (5, MOST_ROWS + 1))
    for chosen in (few, many):
        settler.put(Step(visit, chosen=tuple(chosen), lane=visit.lane))
        while len(seen) < (1 if chosen is few else 2):
            await asyncio.sleep(0.05)
    settler.close()
    await settling
    here = threading.get_ident()
    assert seen[0] == here
    assert here not in seen[1:]
