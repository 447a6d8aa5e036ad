"""Alerts about the whole system: each fires once with its sentence and figures, and clears; near misses are silent."""

import asyncio
import sqlite3
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete, insert, select, update

from gossamer.clock import FrozenClock, SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.schema import upgrade
from gossamer.db.tables import alerts as alert_rows
from gossamer.db.tables import counters, events, minutes, visits
from gossamer.db.tables import jobs as job_rows
from gossamer.db.transactions import Tx
from gossamer.intake import control
from gossamer.intake import limits as limit_intake
from gossamer.intake.submit import submit
from gossamer.model.account import Bill, Quota
from gossamer.model.ids import short
from gossamer.model.job import Job, JobRequest, Target
from gossamer.model.page import Page
from gossamer.model.states import JobState, PageState, VisitState
from gossamer.model.trouble import Reason, Trouble
from gossamer.recipes.prospect import PROSPECT
from gossamer.recipes.scrape import SCRAPE
from gossamer.runtime.anomalies import AnomalyGuard
from gossamer.settle.settler import Settler
from gossamer.settle.step import PageStep, Step
from gossamer.store import alerts, jobs, pace, sites
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle, state_of

RECIPES: Mapping[str, Any] = {"prospect": PROSPECT, "scrape": SCRAPE}


class Watched:
    """A guard and the clock it goes by."""

    def __init__(self, database: AnyDatabase, limit: int = 50_000) -> None:
        self.database = database
        self.clock = FrozenClock()
        self.guard = AnomalyGuard(database, self.clock, limit)

    async def look(self, after: float = 11) -> list[str]:
        """Some seconds later; what holds then."""
        self.clock.advance(after)
        await self.guard.look()
        return [alert.sentence for alert in await self.database.read(alerts.recent, 20)]

    async def ever(self) -> int:
        return len(await self.database.read(alerts.recent, 20, cleared=True))


# Throughput


def _at_work(tx: Tx, sites_total: int = 1000) -> Job:
    """A job that has run for an hour, of which some domains wait for a slot."""
    job = make_job(tx, "a.test", "b.test")
    tx.run(update(job_rows).values(started_at=tx.now - timedelta(hours=1), sites_total=sites_total))
    tx.run(delete(events))
    return job


def _did(tx: Tx, job_id: UUID, ago: int, sites: int, pages: int) -> None:
    """So many domains and pages in a minute that is over."""
    minute = pace.full_minute(tx.now) - timedelta(minutes=ago)
    tx.run(delete(minutes).where(minutes.c.minute == minute, minutes.c.job_id == job_id))
    tx.run(insert(minutes).values(job_id=job_id, minute=minute, sites=sites, pages=pages, records=0))


def _dropped(tx: Tx, job_id: UUID, before: tuple[int, int], now: tuple[int, int]) -> None:
    """Domains and pages in each of the two windows."""
    for ago in range(1, 21):
        _did(tx, job_id, ago, 0, 0)
    _did(tx, job_id, 15, *before)
    _did(tx, job_id, 5, *now)


async def test_a_job_that_has_become_slow_is_told_once_until_it_is_fast_again(database: AnyDatabase) -> None:
    job = await database.write(_at_work)
    await database.write(_dropped, job.id, (40, 400), (7, 60))
    watched = Watched(database)
    said = [f"Warning: Job {short(job.id)} throughput dropped from 240 to 42 domains/hour"]
    assert await watched.look() == said
    assert await watched.look() == said
    # Both windows are slow by now: that is no reason to be content.
    await database.write(_as_if_said_before, job.id, timedelta(minutes=20))
    await database.write(_long_slow, job.id)
    assert await watched.look() == said
    await database.write(_did, job.id, 4, 20, 200)
    assert await watched.look() == []
    assert await watched.ever() == 1
    kept = await database.read(_history, job.id)
    assert kept == [
        f"Warning: Job {short(job.id)} throughput dropped 82% in last 10 minutes. "
        "Current: 42 domains/hour (expected: 240)"
    ]


def _as_if_said_before(tx: Tx, job_id: UUID, ago: timedelta) -> None:
    tx.run(update(alert_rows).where(alert_rows.c.job_id == job_id).values(fired_at=tx.now - ago))


def _long_slow(tx: Tx, job_id: UUID) -> None:
    for ago in range(1, 50):
        _did(tx, job_id, ago, 0, 0)
    _did(tx, job_id, 35, 40, 400)
    _did(tx, job_id, 15, 7, 60)
    _did(tx, job_id, 5, 7, 60)


def _history(tx: Tx, job_id: UUID) -> list[str]:
    mine = (events.c.job_id == job_id) & (events.c.kind == "job.slow")
    return list(tx.run(select(events.c.why).where(mine)).scalars())


async def test_half_the_speed_is_a_near_miss(database: AnyDatabase) -> None:
    job = await database.write(_at_work)
    await database.write(_dropped, job.id, (40, 400), (20, 200))
    assert await Watched(database).look() == []
    await database.write(_dropped, job.id, (40, 400), (19, 199))
    assert len(await Watched(database).look()) == 1


async def test_larger_domains_are_no_slower_job(database: AnyDatabase) -> None:
    job = await database.write(_at_work)
    await database.write(_dropped, job.id, (40, 400), (5, 390))
    assert await Watched(database).look() == []


async def test_the_last_domains_of_a_job_may_take_their_time(database: AnyDatabase) -> None:
    job = await database.write(_at_work)
    await database.write(_dropped, job.id, (40, 400), (7, 60))
    await database.write(_has_done, job.id, 950)
    assert await Watched(database).look() == []
    await database.write(_has_done, job.id, 949)
    assert len(await Watched(database).look()) == 1


def _has_done(tx: Tx, job_id: UUID, sites_done: int) -> None:
    mine = (counters.c.job_id == job_id) & (counters.c.shard == 0)
    tx.run(update(counters).where(mine).values(sites_done=sites_done))


async def test_sites_that_are_walked_at_their_own_spacing_are_not_slow(database: AnyDatabase) -> None:
    job = await database.write(_at_work)
    await database.write(_dropped, job.id, (40, 400), (7, 60))
    await database.write(claim_all)  # nothing is left that waits for a slot
    assert await Watched(database).look() == []


async def test_time_in_which_a_job_stood_still_is_not_compared(database: AnyDatabase) -> None:
    job = await database.write(_at_work)
    await database.write(_dropped, job.id, (40, 400), (7, 60))
    for state in (JobState.PAUSING, JobState.PAUSED):
        await database.write(jobs.move, job.id, state)
    assert await Watched(database).look() == []
    await database.write(jobs.move, job.id, JobState.RUNNING)
    assert await Watched(database).look() == []


async def test_a_pause_clears_what_was_said_of_the_speed(database: AnyDatabase) -> None:
    job = await database.write(_at_work)
    await database.write(_dropped, job.id, (40, 400), (7, 60))
    watched = Watched(database)
    assert await watched.look()
    await database.write(jobs.move, job.id, JobState.PAUSING)
    assert await watched.look() == []


# Errors


async def _ask(database: AnyDatabase, visit: Any, good: int, bad: int) -> None:
    """Requests as a walk settles them."""
    steps = [done(visit, f"http://a.test/{good}-{bad}/{number}") for number in range(good)]
    for step in steps:
        step.failed = False
    for number in range(bad):
        page = Page.at(f"http://a.test/bad/{good}-{bad}/{number}")
        trouble = Trouble(Reason.SERVER_ERROR, "500", 500)
        steps.append(Step(visit, PageStep(page, PageState.FAILED, trouble, 500), failed=True))
    await settle(database, *steps)


async def test_many_failing_requests_are_told_once_until_they_are_few(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    watched = Watched(database)
    await _ask(database, visit, 40, 10)
    assert await watched.look() == []  # 20 % is not above 20 %
    await _ask(database, visit, 14, 9)
    said = ["Alert: High error rate detected (26% failures). Check API status."]
    assert await watched.look() == said
    await _ask(database, visit, 0, 5)
    assert await watched.look() == said
    await _ask(database, visit, 70, 0)
    assert await watched.look() == []
    assert await watched.ever() == 1


async def test_a_handful_of_requests_is_no_rate(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await _ask(database, visit, 9, 10)
    assert await Watched(database).look() == []
    await _ask(database, visit, 1, 0)
    assert len(await Watched(database).look()) == 1


async def test_requests_of_before_the_window_do_not_count(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await _ask(database, visit, 0, 50)

    def earlier(tx: Tx) -> None:
        tx.run(update(minutes).values(minute=minutes_ago(tx.now, 5)))

    await database.write(earlier)
    assert await Watched(database).look() == []
    assert (await database.read(pace.done_lately, timedelta(minutes=6))).failed == 50


def minutes_ago(now: datetime, count: int) -> datetime:
    return pace.full_minute(now) - timedelta(minutes=count)


# Writes


async def test_slow_writes_are_told_by_how_long_they_really_took(tmp_path: Path) -> None:
    """Somebody else holds the file while results are to be written: that write takes as long as that."""
    database = SqliteDatabase(tmp_path / "a.db", SystemClock())
    await database.write(upgrade)
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    settler = Settler(database, SystemClock(), 0, lambda _: None)
    settling = asyncio.create_task(settler.run())
    holding = await asyncio.to_thread(_hold, tmp_path / "a.db")
    settler.put(done(visit, "http://a.test/"))
    async with asyncio.timeout(60):
        while settler._committing is None:
            await asyncio.sleep(0.05)
    threading.Timer(6, holding.close).start()
    await _until_pages(database, 1)
    watched = Watched(database)
    assert await watched.look() == []  # how long it took is written with the next
    settler.put(done(visit, "http://a.test/2"))
    await _until_pages(database, 2)
    (said,) = await watched.look()
    seconds = (await database.read(pace.done_lately, timedelta(minutes=2))).write_seconds
    assert seconds > 5
    assert said == f"Warning: Database write latency high ({seconds:.1f}s average)"
    assert (await watched.look(), await watched.ever()) == ([said], 1)
    for number in range(3, 6):
        settler.put(done(visit, f"http://a.test/{number}"))
        await _until_pages(database, number)
    assert await watched.look() == []  # the average of four is below
    assert await state_of(database, job.id) is JobState.RUNNING
    settler.close()
    await settling
    await database.close()


def _hold(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    return connection


async def _until_pages(database: AnyDatabase, count: int) -> None:
    def pages_done(tx: Tx) -> int:
        return sum(tx.run(select(counters.c.pages_done)).scalars())

    async with asyncio.timeout(60):
        while await database.read(pages_done) < count:
            await asyncio.sleep(0.05)


# The queue


async def _pass_ten_minutes(watched: Watched) -> list[str]:
    for _ in range(10):
        said = await watched.look(60)
    return said


def _hosts(name: str, count: int) -> list[str]:
    return [f"{name}{number}.test" for number in range(count)]


def _meet(tx: Tx, job_id: UUID, name: str, count: int) -> None:
    """As if redirects or recipes had led to other sites."""
    sites.create_many(tx, job_id, [Target(host, (f"http://{host}/",), host) for host in _hosts(name, count)])


def _end_visits(tx: Tx, count: int) -> None:
    some = select(visits.c.id).where(visits.c.state == VisitState.READY).limit(count)
    tx.run(update(visits).where(visits.c.id.in_(some)).values(state=VisitState.DONE))


async def test_a_queue_that_grows_faster_than_it_is_worked_is_told_once(database: AnyDatabase) -> None:
    job = await database.write(make_job, *_hosts("a", 200))
    watched = Watched(database)
    assert await watched.look() == []
    await database.write(_end_visits, 50)
    await database.write(_meet, job.id, "met", 149)
    assert await _pass_ten_minutes(watched) == []  # by 99: a near miss
    watched = Watched(database)
    await watched.look()
    await database.write(_end_visits, 50)
    await database.write(_meet, job.id, "found", 150)
    said = ["Alert: Queue depth growing faster than processing rate (399 pending tasks)"]
    assert await _pass_ten_minutes(watched) == said
    assert (await watched.look(), await watched.ever()) == (said, 1)
    await database.write(_end_visits, 30)
    assert await _pass_ten_minutes(watched) == []


async def test_what_is_submitted_or_resumed_is_no_growth(database: AnyDatabase) -> None:
    await database.write(make_job, *_hosts("a", 20))
    resumed = await database.write(make_job, *_hosts("b", 300))
    for state in (JobState.PAUSING, JobState.PAUSED):
        await database.write(jobs.move, resumed.id, state)
    watched = Watched(database)
    await watched.look()
    await database.write(make_job, *_hosts("c", 300))
    await database.write(jobs.move, resumed.id, JobState.RUNNING)
    assert await _pass_ten_minutes(watched) == []


def _request(name: str, *targets: Target, recipe: str = "prospect", **more: Any) -> JobRequest:
    params = {"keywords": ["CRM"]} if recipe == "prospect" else {}
    return JobRequest(name, recipe, params, targets, **more)


def _target(host: str, *pages: str) -> Target:
    return Target(host, (f"http://{host}/",), host, pages)


FULL = (
    "Queue depth above 30 (31 pending tasks) and not shrinking for 10 minutes: new jobs stay pending, and start "
    "automatically once the queue has drained."
)


async def _fill(database: AnyDatabase) -> Watched:
    await database.write(make_job, *_hosts("a", 31))
    watched = Watched(database, limit=30)
    assert await watched.look() == ["Alert: Queue depth above 30 (31 pending tasks)"]
    return watched


async def test_a_full_queue_lets_new_jobs_wait_and_starts_them_when_it_has_drained(database: AnyDatabase) -> None:
    watched = await _fill(database)
    early = await submit(database, RECIPES, _request("early", _target("early.test")))
    assert early.state is JobState.RUNNING
    await database.write(_end_visits, 1)
    assert set(await _pass_ten_minutes(watched)) == {FULL, "Alert: Queue depth above 30 (31 pending tasks)"}
    late = await submit(database, RECIPES, _request("late", _target("late.test")))
    own = await submit(database, RECIPES, _request("own", _target("own.test"), start=False))
    scrape = await submit(
        database, RECIPES, _request("page", _target("page.test", "http://page.test/x"), recipe="scrape")
    )
    assert (late.state, late.reason) == (JobState.PENDING, FULL)
    assert (own.state, own.reason) == (JobState.PENDING, "")
    assert scrape.state is JobState.RUNNING
    await control.start(database, own)
    waiting = await database.read(jobs.get, own.id)
    assert waiting
    assert (waiting.state, waiting.reason) == (JobState.PENDING, FULL)
    # Still above: the same is said as before.
    assert len(await _pass_ten_minutes(watched)) == 2
    assert await state_of(database, late.id) is JobState.PENDING
    await database.write(_end_visits, 2)  # 30 are left: no longer above
    assert await watched.look(60) == []
    for job in (late, own):
        assert await state_of(database, job.id) is JobState.RUNNING
    started = await database.read(jobs.get, late.id)
    assert started
    assert started.reason == ""
    assert await watched.ever() == 2
    assert (await submit(database, RECIPES, _request("after", _target("after.test")))).state is JobState.RUNNING


async def test_a_long_queue_that_shrinks_holds_nobody_up(database: AnyDatabase) -> None:
    await database.write(make_job, *_hosts("a", 40))
    watched = Watched(database, limit=30)
    await watched.look()
    await database.write(_end_visits, 1)
    assert await _pass_ten_minutes(watched) == ["Alert: Queue depth above 30 (40 pending tasks)"]
    job = await submit(database, RECIPES, _request("new", _target("new.test")))
    assert job.state is JobState.RUNNING


async def test_the_limit_itself_is_not_above_it(database: AnyDatabase) -> None:
    await database.write(make_job, *_hosts("a", 30))
    watched = Watched(database, limit=30)
    await watched.look()
    assert await _pass_ten_minutes(watched) == []


@pytest.mark.parametrize("door", ["submit", "start"])
async def test_jobs_of_an_account_wait_and_then_get_their_turn(database: AnyDatabase, door: str) -> None:
    watched = await _fill(database)
    await _pass_ten_minutes(watched)
    limits = Quota(None, 1, None)
    bill = Bill("jobs", limits, None, 1, 1)
    made = [
        await submit(
            database, RECIPES, _request(host, _target(host), account="default", bill=bill, start=door == "submit")
        )
        for host in ("one.test", "two.test")
    ]
    if door == "start":
        for job in made:
            await control.start(database, job, lambda tx, job_id: limit_intake.go_on(tx, "default", limits, job_id))
    assert [await state_of(database, job.id) for job in made] == [JobState.PENDING] * 2
    assert await database.write(limit_intake.let_in, lambda tx, account: limits) == 0
    await database.write(lambda tx: tx.run(update(job_rows).where(job_rows.c.name == "test").values(account_id="o")))
    await database.write(_end_visits, 5)
    await watched.look(60)
    # The account may have one at work: the other goes on waiting, for that.
    assert await database.write(limit_intake.let_in, lambda tx, account: limits) == 1
    assert [await state_of(database, job.id) for job in made] == [JobState.RUNNING, JobState.PENDING]
