"""Background work has its limits, which hold over all processes that share a database, and its order."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import accumulate
from pathlib import Path

import pytest
from sqlalchemy import select, text

from gossamer.blobs.export_store import ExportStore, StoredFile
from gossamer.blobs.folder import FolderBlobs
from gossamer.clock import SystemClock
from gossamer.crawl.completion import Closer
from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.model.export import ExportRequest, ExportState
from gossamer.model.states import JobState, SiteState
from gossamer.model.worker import DESK_RULES, DeskKind, DeskRule, desk_rules
from gossamer.recipes.registry import RECIPES
from gossamer.retention.service import FileSweeper
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.runtime.exporting import Exporter
from gossamer.settle.step import Finished, Step
from gossamer.store import exports, named_slots, queue_status
from gossamer.store.queue_status import background_slot
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle, state_of
from tests.runtime.test_exporting import HOME, job_with_matches

# Every change of how many there are at once, written down by the database itself in the order of its commits.
_SQLITE = """
CREATE TABLE noted (number INTEGER PRIMARY KEY, change INTEGER);
CREATE TRIGGER begun AFTER {begin} WHEN {new} BEGIN INSERT INTO noted (change) VALUES (1); END;
CREATE TRIGGER ended AFTER {end} WHEN {old} BEGIN INSERT INTO noted (change) VALUES (-1); END
"""
_POSTGRES = """
CREATE TABLE noted (number bigserial PRIMARY KEY, change integer);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN INSERT INTO noted (change) VALUES (TG_ARGV[0]::integer); RETURN NULL; END';
CREATE TRIGGER begun AFTER {begin} FOR EACH ROW WHEN ({new}) EXECUTE FUNCTION note('1');
CREATE TRIGGER ended AFTER {end} FOR EACH ROW WHEN ({old}) EXECUTE FUNCTION note('-1')
"""
FILES_AT_WORK = {
    "begin": "UPDATE OF state ON exports",
    "new": "NEW.state = 'running' AND OLD.state <> 'running'",
    "end": "UPDATE OF state ON exports",
    "old": "OLD.state = 'running' AND NEW.state <> 'running'",
}
ENDS_AT_WORK = {
    "begin": "INSERT ON places",
    "new": "NEW.place = 'desk/finish'",
    "end": "DELETE ON places",
    "old": "OLD.place = 'desk/finish'",
}


def note_down(tx: Tx, what: dict[str, str]) -> None:
    statements = (_POSTGRES if tx.dialect.row_locks else _SQLITE).format(**what)
    # A trigger of SQLite has semicolons of its own.
    for statement in statements.split(";\nCREATE"):
        tx.run(text(statement if statement.strip().startswith("CREATE") else f"CREATE{statement}"))


def most_at_once(tx: Tx) -> int:
    changes: list[int] = list(tx.run(text("SELECT change FROM noted ORDER BY number")).scalars())
    return max(accumulate(changes))


class Slow(ExportStore):
    """Takes its time for every file."""

    async def keep(self, key: str, chunks: AsyncIterator[bytes]) -> StoredFile:
        await asyncio.sleep(0.15)
        return await super().keep(key, chunks)


def rules(**limits: int) -> Mapping[DeskKind, DeskRule]:
    return desk_rules({DeskKind(kind): limit for kind, limit in limits.items()}, {})


async def test_over_all_processes_no_more_files_are_made_at_once_than_may_be(
    database: AnyDatabase, tmp_path: Path
) -> None:
    """Three processes with room for five files each, eleven files, and a limit of three."""
    job = await job_with_matches(database)
    await database.write(note_down, FILES_AT_WORK)
    wanted = [ExportRequest("results", "csv", f"{number}.csv", {}) for number in range(11)]
    await database.write(exports.add, job.id, wanted, HOME)
    export_store = Slow(HOME, FolderBlobs(tmp_path / "files", b"s" * 64, SystemClock()))
    desks = [BackgroundSlots(database, f"box-{number}", rules(export=3)) for number in range(3)]
    makers = [Exporter(database, export_store, f"box-{number}/1", desk) for number, desk in enumerate(desks)]
    working = [asyncio.create_task(maker.run()) for maker in makers]
    async with asyncio.timeout(30):
        while await database.read(exports.any_open, HOME):
            await asyncio.sleep(0.1)
    for task in working:
        task.cancel()
    assert all(
        isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*working, return_exceptions=True)
    )
    made = await database.read(exports.of_job, job.id)
    assert [one.state for one in made] == [ExportState.DONE] * 11
    assert await database.read(most_at_once) == 3
    assert (await database.read(held, DeskKind.EXPORT)) == []


def held(tx: Tx, kind: DeskKind) -> list[str]:
    return list(tx.run(select(tables.places.c.holder).where(tables.places.c.place == background_slot(kind))).scalars())


async def test_over_all_processes_no_more_jobs_are_brought_to_their_end_at_once_than_may_be(
    database: AnyDatabase,
) -> None:
    ids = [(await database.write(make_job, f"{letter}.test")).id for letter in "abcdefg"]
    for visit in await database.write(claim_all):
        await settle(database, done(visit, f"http://{visit.host}/"), Step(visit, ending=Finished(SiteState.DONE)))
    await database.write(note_down, ENDS_AT_WORK)
    closers = [
        Closer(
            database,
            RECIPES,
            "",
            partial(BackgroundSlots(database, f"box-{number}", rules(finish=2)).hold, DeskKind.FINISH),
        )
        for number in range(2)
    ]
    await asyncio.gather(*(closer.look() for closer in closers))
    assert [await state_of(database, job) for job in ids] == [JobState.COMPLETED] * 7
    assert await database.read(most_at_once) == 2


async def test_the_more_urgent_kind_goes_first(database: AnyDatabase) -> None:
    desk = BackgroundSlots(database, "box", size=1)
    began: list[DeskKind] = []

    async def work(kind: DeskKind) -> None:
        async with desk.hold(kind):
            began.append(kind)

    async with desk.hold(DeskKind.EXPORT):
        order = (DeskKind.CLEANUP, DeskKind.EXPORT, DeskKind.FINISH, DeskKind.CLEANUP)
        waiting = [asyncio.create_task(work(kind)) for kind in order]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert began == [DeskKind.FINISH, DeskKind.EXPORT, DeskKind.CLEANUP, DeskKind.CLEANUP]


async def test_a_kind_that_is_full_elsewhere_keeps_nobody_waiting(database: AnyDatabase) -> None:
    other, desk = (BackgroundSlots(database, name, rules(finish=1), size=1) for name in ("there", "here"))
    async with other.hold(DeskKind.FINISH):
        blocked = asyncio.create_task(_enter(desk, DeskKind.FINISH))
        await asyncio.sleep(0.05)
        async with asyncio.timeout(5), desk.hold(DeskKind.CLEANUP):
            assert not blocked.done()
    async with asyncio.timeout(5):
        await blocked


async def _enter(desk: BackgroundSlots, kind: DeskKind) -> None:
    async with desk.hold(kind):
        pass


async def test_who_gave_up_waiting_or_died_keeps_neither_seat_nor_place(database: AnyDatabase) -> None:
    await database.write(named_slots.enter, background_slot(DeskKind.CLEANUP), "gone/1", 1, timedelta())
    desk = BackgroundSlots(database, "box", rules(cleanup=1), size=1)
    async with desk.hold(DeskKind.CLEANUP):
        waiting = asyncio.create_task(_enter(desk, DeskKind.FINISH))
        await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(5):
        await _enter(desk, DeskKind.CLEANUP)
    assert await database.read(held, DeskKind.CLEANUP) == []
    assert await database.read(held, DeskKind.FINISH) == []


async def _cleanups(database: AnyDatabase) -> tuple[int, int]:
    """How many of them wait, and how many are at work."""
    (line,) = [
        one for one in await database.read(queue_status.background_lines, DESK_RULES) if one.kind is DeskKind.CLEANUP
    ]
    return line.ready, line.running


async def test_files_go_in_a_turn_of_their_own(database: AnyDatabase, tmp_path: Path) -> None:
    export_store = ExportStore(HOME, FolderBlobs(tmp_path / "files", b"s" * 64, SystemClock()))
    job = await job_with_matches(database)
    (asked,) = await database.write(exports.add, job.id, [ExportRequest("results", "csv", "a.csv", {})], HOME)
    await Exporter(database, export_store, "box/1").make_all()
    await database.write(exports.expire_of_job, job.id)
    here, there = (BackgroundSlots(database, name, rules(cleanup=1)) for name in ("here", "there"))
    async with there.hold(DeskKind.CLEANUP):
        sweeping = asyncio.create_task(FileSweeper(database, export_store).run(lambda: here.hold(DeskKind.CLEANUP)))
        async with asyncio.timeout(30):
            while await _cleanups(database) != (1, 1):
                await asyncio.sleep(0.02)
    async with asyncio.timeout(5):
        while await database.read(exports.count_expired):
            await asyncio.sleep(0.05)
    sweeping.cancel()
    made = await database.read(exports.get, asked.id)
    assert made
    assert made.blob_key is None


@pytest.mark.parametrize(
    ("kind", "limit", "priority"), [("finish", 50, 0), ("webhook", 20, 0), ("export", 50, 10), ("cleanup", 5, 20)]
)
def test_what_holds_where_nothing_else_is_said(kind: str, limit: int, priority: int) -> None:
    rule = DESK_RULES[DeskKind(kind)]
    assert (rule.limit, rule.priority) == (limit, priority)
