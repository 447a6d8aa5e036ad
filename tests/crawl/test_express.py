"""A visit that somebody waits for: leased as it is made, walked at once, closed with its job, and never stranded."""

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update

from gossamer.clock import SystemClock
from gossamer.crawl.completion import close_at_once
from gossamer.crawl.crawl_setup import Claimed, load_held
from gossamer.crawl.express import Express, ExpressVisits
from gossamer.db import tables
from gossamer.db.schema import ready_database
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway, UserError
from gossamer.intake.addresses import read_addresses
from gossamer.intake.submit import Submitted, submit_once
from gossamer.model.account import DEFAULT, Bill, Quota
from gossamer.model.ids import short
from gossamer.model.job import JobRequest
from gossamer.model.states import JobState, PageState, SiteState, VisitState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.worker import ExpressSlot
from gossamer.recipes.registry import RECIPES
from gossamer.recipes.scrape.request import scrape_request
from gossamer.settle.commit import commit
from gossamer.settle.step import Finished, PageStep, Step
from gossamer.store import accounts, counters, events, usage, visits
from tests.conftest import AnyDatabase
from tests.jobs import state_of

T = TypeVar("T")

WORKER = "home/0-1"
LEASE = timedelta(seconds=60)
CLOSE = partial(close_at_once, recipes=RECIPES, files_of="", credits={})


def request_of(*urls: str) -> JobRequest:
    made = scrape_request(read_addresses(urls), ("direct",), formats=["text"], name="", submit_key="")
    return replace(made, bill=Bill("scrape", Quota(), urls=len(urls), credits=len(urls)))


def express_slot() -> ExpressSlot:
    return ExpressSlot(WORKER, uuid4(), LEASE, 0.0)


async def submitted(database: AnyDatabase, *urls: str, at: ExpressSlot | None = None) -> Submitted:
    await database.write(accounts.ensure_default)
    return await submit_once(database, RECIPES, request_of(*urls), at)


async def visit_state(database: AnyDatabase, visit: UUID) -> tuple[VisitState, str | None]:
    def look(tx: Tx) -> tuple[VisitState, str | None]:
        row = tx.run(select(tables.visits.c.state, tables.visits.c.worker).where(tables.visits.c.id == visit)).one()
        return VisitState(row.state), row.worker

    return await database.read(look)


def ended(claimed: Claimed) -> Step:
    (page,) = claimed.waiting
    trouble = Trouble(Reason.TIMEOUT, "15 s")
    failed = PageStep(page, PageState.FAILED, trouble)
    return Step(claimed.visit, failed, ending=Finished(SiteState.FAILED, trouble))


async def test_the_only_visit_of_a_job_is_leased_as_it_is_made(database: AnyDatabase) -> None:
    given = express_slot()
    made = await submitted(database, "http://a.test/x", at=given)
    assert made.visit
    assert await visit_state(database, made.visit) == (VisitState.RUNNING, WORKER)
    kinds = [event.kind for event in await database.read(events.of_job, made.job.id)]
    assert kinds == ["job.created", "job.running", "visit.running"]
    claimed = await database.read(load_held, made.visit, given.token)
    assert claimed
    assert [page.url for page in claimed.waiting] == ["http://a.test/x"]
    assert await database.read(load_held, made.visit, uuid4()) is None


async def test_it_waits_for_its_turn_where_it_must(database: AnyDatabase) -> None:
    several = await submitted(database, "http://a.test/", "http://b.test/", at=express_slot())
    assert several.visit is None
    for number in range(visits.MOST_PER_DOMAIN):
        assert (await submitted(database, f"http://busy.test/{number}", at=express_slot())).visit
    assert (await submitted(database, "http://busy.test/more", at=express_slot())).visit is None
    await database.write(accounts.change, DEFAULT, {"running_jobs": 1})
    assert (await submitted(database, "http://c.test/", at=express_slot())).visit is None


async def test_a_job_ends_with_its_page_in_one_transaction(database: AnyDatabase) -> None:
    given = express_slot()
    made = await submitted(database, "http://a.test/x", at=given)
    assert made.visit
    claimed = await database.read(load_held, made.visit, given.token)
    assert claimed
    done = await database.write(commit, [ended(claimed)], 0, counters.EVERY, ({given.token}, CLOSE))
    assert (done.ended, done.lost) == ({given.token}, set())
    assert await state_of(database, made.job.id) is JobState.COMPLETED
    bill = await database.read(usage.one, DEFAULT, made.job.id)
    assert bill
    assert (bill.is_open, bill.outcome, bill.failed, bill.credits) == (False, JobState.COMPLETED, 1, 0)


async def test_rows_that_do_not_add_up_are_told_and_do_not_keep_a_job_open(database: AnyDatabase) -> None:
    given = express_slot()
    made = await submitted(database, "http://a.test/x", at=given)
    assert made.visit
    claimed = await database.read(load_held, made.visit, given.token)
    assert claimed

    def spoil(tx: Tx) -> None:
        mine = (tables.counters.c.job_id == made.job.id) & (tables.counters.c.shard == 3)
        tx.run(update(tables.counters).where(mine).values(pages_done=7))

    await database.write(spoil)
    await database.write(commit, [ended(claimed)], 0, counters.EVERY, ({given.token}, CLOSE))
    job = (await database.read(events.of_job, made.job.id))[-1]
    assert job.kind == "job.completed"
    assert "pages_done: the counter says 7, the rows say 0" in job.why


async def test_what_cannot_be_closed_is_settled_all_the_same(database: AnyDatabase) -> None:
    def broken(tx: Tx, job_id: UUID) -> None:
        close_at_once(tx, job_id, recipes=RECIPES, files_of="", credits=None)  # type: ignore[arg-type]

    given = express_slot()
    made = await submitted(database, "http://a.test/x", at=given)
    assert made.visit
    claimed = await database.read(load_held, made.visit, given.token)
    assert claimed
    step = ended(claimed)
    assert step.page
    read = step.page._replace(state=PageState.DONE, trouble=None, http_status=200, identity=step.page.page.key)
    step.page, step.ending = read, Finished(SiteState.DONE)
    await database.write(commit, [step], 0, counters.EVERY, ({given.token}, broken))
    assert await state_of(database, made.job.id) is JobState.RUNNING  # the closer's, like any other
    assert (await database.read(counters.progress, made.job.id)).pages_done == 1


async def test_a_visit_goes_over_the_line_and_its_end_comes_back(database: AnyDatabase) -> None:
    ours, theirs = socket.socketpair()
    express = Express(database, SystemClock(), LEASE)
    walked: list[str] = []

    def walk(claimed: Claimed, _: float) -> "asyncio.Task[None]":
        walked.append(claimed.waiting[0].url)
        return asyncio.create_task(asyncio.sleep(0))

    guests = ExpressVisits(theirs, database, walk, lambda here: 1)
    assert express.express_slot("a.test") is None
    express.connect(WORKER, 0, 1, ours)
    running = asyncio.create_task(guests.run())
    given = await until(lambda: express.express_slot("a.test"))
    assert express.express_slot("b.test") is None  # there was room for one
    made = await submitted(database, "http://a.test/x", at=given)
    assert made.visit
    over = express.hand_over(given, made.visit)
    await until(lambda: walked or None)
    assert (walked, over.done()) == (["http://a.test/x"], False)
    guests.over([given.token])
    await asyncio.wait_for(over, 10)
    await until(lambda: express.express_slot("b.test"))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await hang_up(guests)


async def test_whose_line_breaks_is_ready_again(database: AnyDatabase) -> None:
    ours, theirs = socket.socketpair()
    express = Express(database, SystemClock(), LEASE)
    express.connect(WORKER, 0, 1, ours)
    theirs.sendall(b"room 2\n")
    first, second = (
        await until(lambda: express.express_slot("a.test")),
        await until(lambda: express.express_slot("a.test")),
    )
    one = await submitted(database, "http://a.test/x", at=first)
    other = await submitted(database, "http://b.test/x", at=second)
    assert one.visit
    assert other.visit
    under_way = express.hand_over(first, one.visit)
    theirs.close()
    await asyncio.wait_for(under_way, 10)
    await asyncio.wait_for(express.hand_over(second, other.visit), 10)
    assert express.express_slot("a.test") is None
    for visit in (one.visit, other.visit):
        while await visit_state(database, visit) != (VisitState.READY, None):
            await asyncio.sleep(0.01)


async def test_a_visit_that_is_still_walked_is_not_taken_away_by_stopping(database: AnyDatabase) -> None:
    ours, theirs = socket.socketpair()
    express = Express(database, SystemClock(), LEASE)
    begun: asyncio.Queue[Claimed] = asyncio.Queue()
    over = asyncio.Event()

    def walk(claimed: Claimed, _: float) -> asyncio.Task[None]:
        begun.put_nowait(claimed)
        return asyncio.create_task(_after(over))

    guests = ExpressVisits(theirs, database, walk, lambda _: 1)
    express.connect(WORKER, 0, 1, ours)
    running = asyncio.create_task(guests.run())
    given = await until(lambda: express.express_slot("a.test"))
    made = await submitted(database, "http://a.test/x", at=given)
    assert made.visit
    waited_for = express.hand_over(given, made.visit)
    claimed = await asyncio.wait_for(begun.get(), 10)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await until(lambda: express.express_slot("b.test") is None or None)
    assert await visit_state(database, made.visit) == (VisitState.RUNNING, WORKER)
    done = await database.write(commit, [ended(claimed)], 0, counters.EVERY, None)
    assert (done.ended, done.lost) == ({given.token}, set())
    guests.over(done.ended)
    await asyncio.wait_for(waited_for, 10)
    over.set()
    await hang_up(guests)


async def hang_up(guests: ExpressVisits) -> None:
    """Both ends of the line hear of it within a few turns of the loop."""
    guests.close()
    for _ in range(10):
        await asyncio.sleep(0.005)


async def _after(event: asyncio.Event) -> None:
    await event.wait()


async def test_a_transaction_that_the_database_gave_up_is_not_told_as_written(tmp_path: Path) -> None:
    database = await ready_database(f"sqlite:///{tmp_path}/gossamer.db", SystemClock())

    def close(tx: Tx, job_id: UUID) -> None:
        # As on a disk that is full: SQLite then gives the whole transaction up, not only what was tried aside.
        pages = tx.conn.exec_driver_sql("PRAGMA page_count").scalar_one()
        tx.conn.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        try:
            CLOSE(tx, job_id)
        finally:
            tx.conn.exec_driver_sql("PRAGMA max_page_count = 4294967294")

    refused = 0
    try:
        for number in range(120):
            given = express_slot()
            made = await submitted(database, f"http://a{number}.test/x", at=given)
            assert made.visit
            claimed = await database.read(load_held, made.visit, given.token)
            assert claimed
            try:
                done = await database.write(commit, [ended(claimed)], 0, counters.EVERY, ({given.token}, close))
            except StorageAway:
                refused += 1
                assert await visit_state(database, made.visit) == (VisitState.RUNNING, WORKER)
            else:
                assert done.ended == {given.token}
                assert await visit_state(database, made.visit) == (VisitState.FAILED, None)
    finally:
        await database.close()
    assert refused, "the file never grew in the middle of it: nothing was shown"


async def until(look: Callable[[], T | None]) -> T:
    async with asyncio.timeout(30):
        while (found := look()) is None:
            await asyncio.sleep(0.01)
    return found


async def test_whoever_comes_with_its_key_is_told_of_a_job_that_is_on_the_disk(
    database: AnyDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request has not been answered yet; others with its key are, by whatever door they come."""
    await database.write(accounts.ensure_default)
    wanted = replace(request_of("http://a.test/"), submit_key="once")
    first = await submit_once(database, RECIPES, wanted, express_slot())
    assert first.visit
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    again = await submit_once(database, RECIPES, wanted)
    assert (again.is_new, again.job.id) == (False, first.job.id)
    told = 0 if database.dialect.row_locks else 1  # a server has it on its disk already
    assert len(synced) == told
    with pytest.raises(UserError, match=short(first.job.id)):
        await submit_once(database, RECIPES, replace(wanted, name="Another"))
    assert len(synced) == 2 * told
