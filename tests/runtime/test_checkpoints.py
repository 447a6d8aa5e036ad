"""Every moment at which a checkpoint is due has one, and the audit holds it against the rows."""

from contextlib import nullcontext
from uuid import UUID

import pytest
from sqlalchemy import select

from gossamer.app import open_app
from gossamer.clock import SystemClock
from gossamer.crawl.completion import Closer
from gossamer.crawl.sweep import Sweeper
from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.intake import control
from gossamer.model.job import CheckpointCause, Job
from gossamer.model.page import Page
from gossamer.model.states import JobState, SiteState
from gossamer.recipes.registry import RECIPES
from gossamer.settings import read_settings
from gossamer.settle.commit import commit
from gossamer.settle.step import Finished, Step
from gossamer.store import counters, jobs, reclaim
from tests.auditing import assert_clean, worked
from tests.conftest import AnyDatabase
from tests.jobs import LEASE, claim_all, done, make_job, settle

DONE = Finished(SiteState.DONE)


def causes(tx: Tx, job_id: UUID) -> list[str]:
    """Of all checkpoints of a job, oldest first."""
    rows = tables.checkpoints
    return list(tx.run(select(rows.c.cause).where(rows.c.job_id == job_id).order_by(rows.c.id)).scalars())


async def found(database: AnyDatabase, job_id: UUID) -> Job:
    job = await database.read(jobs.get, job_id)
    assert job
    return job


async def test_every_so_many_visits_there_is_one(database: AnyDatabase) -> None:
    job = await database.write(make_job, *(f"s{number}.test" for number in range(7)))
    for visit in await database.write(claim_all):
        home = f"http://{visit.host}/"
        await database.write(commit, [done(visit, home), Step(visit, chosen=(Page.at(f"{home}x", 1),))], 0, 3)
        await database.write(commit, [done(visit, f"{home}x", depth=1), Step(visit, ending=DONE)], 0, 3)
    assert await database.read(causes, job.id) == ["visits", "visits"]
    last = await database.read(counters.last, job.id)
    assert last
    assert (last.sites_finished, last.pages_done, last.state) == (6, 12, JobState.RUNNING)
    await assert_clean(database, job.id)


async def test_a_batch_that_ends_no_visit_takes_none(database: AnyDatabase) -> None:
    job_id = await worked(database)
    (visit,) = await database.write(claim_all)
    await database.write(commit, [done(visit, "http://c.test/next", depth=1)], 0, 1)
    assert await database.read(causes, job_id) == []


async def test_a_pause_has_one_when_the_last_visit_is_handed_back(database: AnyDatabase) -> None:
    job_id = await worked(database)
    await database.write(claim_all)
    await control.pause(database, await found(database, job_id))
    sweeper = Sweeper(database, SystemClock(), LEASE)
    await sweeper.sweep()
    assert await database.read(causes, job_id) == []
    await database.write(reclaim.void_home, "home")
    await sweeper.sweep()
    assert await database.read(causes, job_id) == ["pause"]
    last = await database.read(counters.last, job_id)
    assert last
    assert (last.state, last.sites_finished, last.pages_done, last.records) == (JobState.PAUSED, 2, 3, 4)
    await assert_clean(database, job_id)


async def test_the_end_of_a_job_has_one(database: AnyDatabase) -> None:
    job_id = await worked(database)
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://c.test/next", depth=1), Step(visit, ending=DONE))
    await Closer(database, RECIPES, "", nullcontext).look()
    last = await database.read(counters.last, job_id)
    assert last
    assert (last.cause, last.state, last.sites_finished) == (CheckpointCause.END, JobState.COMPLETED, 3)
    await assert_clean(database, job_id)


async def test_a_cancelled_and_a_failed_job_have_one_too(database: AnyDatabase) -> None:
    job_id = await worked(database)
    await control.cancel(database, await found(database, job_id))
    await control.resume(database, await found(database, job_id))
    await database.write(jobs.move, job_id, JobState.FAILED, "The recipe failed on every page.")
    assert await database.read(causes, job_id) == ["end", "end"]
    await assert_clean(database, job_id)


async def test_starting_resuming_and_refused_moves_take_none(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    await control.pause(database, job)
    await control.resume(database, await found(database, job.id))
    assert not await database.write(jobs.move, job.id, JobState.PAUSED)
    assert await database.read(causes, job.id) == []


async def test_a_runner_that_is_told_to_stop_leaves_one_of_each_running_job(
    database: AnyDatabase, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await database.write(make_job, "a.invalid", "b.invalid")
    over = await database.write(make_job, "c.invalid")
    await control.cancel(database, over)
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", database_url)
    settings, _ = read_settings()
    async with open_app(settings) as app:
        assert app.lock.take()
        runner = app.runner(1)
        assert await runner.start()
        await runner.stop(now=True)
        app.lock.release()
    assert await database.read(causes, job.id) == ["shutdown"]
    assert await database.read(causes, over.id) == ["end"]
    await assert_clean(database, job.id)
