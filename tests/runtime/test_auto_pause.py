"""What pauses a job without anybody asking, and what it says."""

from datetime import timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import select, update

from gossamer.clock import FrozenClock
from gossamer.db.tables import events, sites, visits
from gossamer.db.tables import jobs as rows
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import Cap
from gossamer.model.states import JobState
from gossamer.runtime.auto_pause import DeadlineGuard, DiskGuard, LaneGuard, TrafficGuard
from gossamer.store import alerts, budgets, jobs
from gossamer.store import visits as visit_store
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle

HOUR = 3600.0
LIMIT = timedelta(hours=48)


async def _job(database: AnyDatabase, job: Job) -> Job:
    found = await database.read(jobs.get, job.id)
    assert found
    return found


async def _alerted(database: AnyDatabase) -> list[AlertKind]:
    return [alert.kind for alert in await database.read(alerts.recent, 10)]


async def _work(guard: DeadlineGuard, clock: FrozenClock, hours: float) -> None:
    for _ in range(round(hours * 60)):
        clock.advance(60)
        await guard.look()


async def test_after_48_hours_at_work_a_job_rests(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    clock = FrozenClock()
    guard = DeadlineGuard(database, clock, LIMIT, every=timedelta(hours=4))
    for _ in range(11):
        clock.advance(4 * HOUR)
        await guard.look()
    assert (await _job(database, job)).state is JobState.RUNNING
    clock.advance(4 * HOUR)
    await guard.look()
    paused = await _job(database, job)
    assert paused.state is JobState.PAUSING
    assert paused.reason.startswith("Job running for 48 hours. Auto-paused to prevent runaway costs.")
    assert f"gossamer job resume {short(job.id)}" in paused.reason
    assert await _alerted(database) == [AlertKind.DEADLINE]


async def test_time_in_which_nobody_could_work_does_not_count(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    clock = FrozenClock()
    guard = DeadlineGuard(database, clock, LIMIT, every=timedelta(minutes=1))
    clock.advance(1000 * HOUR)  # a laptop that slept over a long holiday
    await guard.look()
    assert (await _job(database, job)).state is JobState.RUNNING


async def test_setting_it_going_again_gives_it_its_time_anew(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    clock = FrozenClock()
    guard = DeadlineGuard(database, clock, timedelta(hours=1))
    await _work(guard, clock, 0.9)
    await database.write(jobs.begin_anew, job.id)
    await _work(guard, clock, 0.5)
    assert (await _job(database, job)).state is JobState.RUNNING
    await _work(guard, clock, 0.6)
    assert (await _job(database, job)).state is JobState.PAUSING


async def test_a_full_disk_pauses_every_job_and_says_where(database: AnyDatabase, tmp_path: Path) -> None:
    first = await database.write(make_job, "a.test")
    second = await database.write(make_job, "b.test")
    waiting = await database.write(make_job, "c.test", start=False)
    await DiskGuard(database, [tmp_path], 0).look()
    assert (await _job(database, first)).state is JobState.RUNNING
    await DiskGuard(database, [tmp_path], 1 << 60).look()
    for job in (first, second):
        paused = await _job(database, job)
        assert paused.state is JobState.PAUSING
        assert str(tmp_path) in paused.reason
        assert "MB are free" in paused.reason
    assert (await _job(database, waiting)).state is JobState.PENDING
    assert await _alerted(database) == [AlertKind.DISK, AlertKind.DISK]


def _due_long_ago(tx: Tx, ago: timedelta) -> None:
    tx.run(update(visits).values(due_at=tx.now - ago))


def _began_long_ago(tx: Tx) -> None:
    tx.run(update(events).values(at=tx.now - timedelta(hours=3)))


async def test_a_lane_that_nobody_walks_pauses_its_jobs(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    await database.write(_began_long_ago)
    clock = FrozenClock()
    guard = LaneGuard(database, clock)
    await database.write(_due_long_ago, timedelta(minutes=9))
    clock.advance(61)
    await guard.look()
    assert (await _job(database, job)).state is JobState.RUNNING
    await database.write(_due_long_ago, timedelta(minutes=11))
    clock.advance(61)
    await guard.look()
    paused = await _job(database, job)
    assert paused.state is JobState.PAUSING
    assert "No worker has served the http lane for 10 minutes." in paused.reason


async def test_a_lane_is_not_deserted_for_want_of_a_network(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    await database.write(_began_long_ago)
    await database.write(_due_long_ago, timedelta(hours=2))
    await database.write(alerts.fire, AlertKind.NETWORK, "home-1", "No network")
    clock = FrozenClock()
    guard = LaneGuard(database, clock)
    clock.advance(61)
    await guard.look()
    assert (await _job(database, job)).state is JobState.RUNNING
    await database.write(alerts.clear, AlertKind.NETWORK, "home-1")
    clock.advance(61)
    await guard.look()
    assert (await _job(database, job)).state is JobState.PAUSING


async def test_a_job_that_was_resumed_just_now_has_not_waited(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    await database.write(_due_long_ago, timedelta(hours=2))
    await database.write(_began_long_ago)
    for state in (JobState.PAUSING, JobState.PAUSED, JobState.RUNNING):
        await database.write(jobs.move, job.id, state)
    clock = FrozenClock()
    guard = LaneGuard(database, clock)
    clock.advance(61)
    await guard.look()
    assert (await _job(database, job)).state is JobState.RUNNING


async def test_a_long_queue_is_not_a_deserted_lane(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    await database.write(_due_long_ago, timedelta(hours=2))
    await database.write(_began_long_ago)
    (visit, _) = await database.write(claim_all)
    await database.write(_release_all_but, visit.id)
    clock = FrozenClock()
    guard = LaneGuard(database, clock)
    clock.advance(61)
    await guard.look()
    assert (await _job(database, job)).state is JobState.RUNNING


async def test_a_job_that_wants_no_more_at_a_time_does_not_wait_for_a_worker(database: AnyDatabase) -> None:
    """All it wants at a time is walked in the browser's lane; its other sites wait for that and for nobody else."""
    job = await database.write(make_job, "a.test", "b.test")
    await database.write(_in_the_browser, "a.test")
    await database.write(_due_long_ago, timedelta(hours=2))
    await database.write(_began_long_ago)
    clock = FrozenClock()
    guard = LaneGuard(database, clock)
    await database.write(_want, job.id, 1)
    clock.advance(61)
    await guard.look()
    assert (await _job(database, job)).state is JobState.RUNNING
    await database.write(_want, job.id, 2)
    clock.advance(61)
    await guard.look()
    assert (await _job(database, job)).state is JobState.PAUSING


def _in_the_browser(tx: Tx, host: str) -> None:
    site = tx.run(select(sites.c.id).where(sites.c.host == host)).scalar_one()
    (there,) = visit_store.meet(tx, [(site, "browser")]).values()
    tx.run(update(visits).where(visits.c.site_id == site).values(state="done"))
    tx.run(update(visits).where(visits.c.id == there).values(state="issued"))


def _want(tx: Tx, job_id: UUID, at_once: int) -> None:
    tx.run(update(rows).where(rows.c.id == job_id).values(at_once=at_once))


def _release_all_but(tx: Tx, kept: object) -> None:
    tx.run(update(visits).where(visits.c.id != kept).values(state="ready", lease=None, lease_until=None, worker=None))


async def test_a_job_that_has_taken_in_what_it_may_rests(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    other = await database.write(make_job, "b.test")
    await database.write(budgets.open_job, job.id, Cap(traffic=20))
    held = {visit.host: visit for visit in await database.write(claim_all)}
    guard = TrafficGuard(database)
    await settle(database, done(held["a.test"], "http://a.test/"), done(held["b.test"], "http://b.test/"))
    await guard.look()
    assert (await _job(database, job)).state is JobState.RUNNING
    await settle(database, done(held["a.test"], "http://a.test/2"), done(held["b.test"], "http://b.test/2"))
    await guard.look()
    paused = await _job(database, job)
    assert paused.state is JobState.PAUSING
    assert paused.reason.startswith("Budget limit reached (0 MB of traffic used). Job paused.")
    assert (await _job(database, other)).state is JobState.RUNNING
    assert await _alerted(database) == [AlertKind.BUDGET]
