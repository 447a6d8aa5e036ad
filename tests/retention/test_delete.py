"""Deleting by hand: all of it, at once, and to the end even if it is interrupted."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.retention import queries as retention_queries
from gossamer.retention.service import Retainer, Terms, delete_job
from gossamer.store import events, jobs
from tests.conftest import AnyDatabase
from tests.jobs import make_job, state_of
from tests.retention.finished import finished_job, rows_of


async def test_a_job_is_deleted_and_its_history_says_by_whom(database: AnyDatabase) -> None:
    job = await finished_job(database)
    assert await delete_job(database, job) > 10
    left = await database.read(rows_of, job.id)
    assert (left["pages"], left["records"], left["visits"], left["sites"]) == (0, 0, 0, 2)
    last = (await database.read(events.of_job, job.id))[-1]
    assert (last.kind, last.who) == ("job.deleted", "user")
    archived = await database.read(jobs.get, job.id)
    assert archived
    assert archived.state is JobState.ARCHIVED
    assert await delete_job(database, archived) == 0


@pytest.mark.parametrize("states", [[], [JobState.RUNNING, JobState.PAUSING, JobState.PAUSED]])
async def test_one_that_stands_still_may_be_deleted_too(database: AnyDatabase, states: list[JobState]) -> None:
    job = await database.write(make_job, "a.test", start=False)
    for state in states:
        await database.write(jobs.move, job.id, state)
    await delete_job(database, await _now(database, job.id))
    assert await state_of(database, job.id) is JobState.ARCHIVED


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.PAUSING])
async def test_one_at_work_is_refused_with_the_next_step(database: AnyDatabase, state: JobState) -> None:
    job = await database.write(make_job, "a.test")
    if state is JobState.PAUSING:
        await database.write(jobs.move, job.id, state)
    with pytest.raises(UserError, match=f"is {state}: it cannot be deleted") as refused:
        await delete_job(database, await _now(database, job.id))
    assert "gossamer job pause" in refused.value.hint


async def test_one_that_was_resumed_in_between_is_refused(database: AnyDatabase) -> None:
    job = await finished_job(database)
    await database.write(jobs.move, job.id, JobState.RUNNING)
    with pytest.raises(UserError, match="is running"):
        await delete_job(database, job)
    assert (await database.read(rows_of, job.id))["records"] == 6


async def test_an_interrupted_deletion_is_finished_by_the_next_pass(database: AnyDatabase) -> None:
    job = await finished_job(database)

    def begin(tx: Tx) -> None:
        assert retention_queries.archive(tx, job.id, tx.now, "by hand", "user")
        assert retention_queries.purge_step(tx, job.id, 4) == 4

    await database.write(begin)
    assert (await database.read(rows_of, job.id))["records"] == 2
    report = await Retainer(database, Terms(timedelta(days=90))).pass_once(datetime.now(UTC))
    assert report.deleted == (job.id,)
    assert (await database.read(rows_of, job.id))["pages"] == 0


async def _now(database: AnyDatabase, job_id: UUID) -> Job:
    found = await database.read(jobs.get, job_id)
    assert found
    return found
