"""A running job may say something beside its state, and nobody takes back what another has said."""

from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.store import jobs
from tests.conftest import AnyDatabase
from tests.jobs import make_job


async def _reason(database: AnyDatabase, job: Job) -> str:
    found = await database.read(jobs.get, job.id)
    assert found
    return found.reason


async def test_a_remark_stands_until_who_made_it_withdraws_it(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    assert not await database.read(jobs.any_note)
    assert await database.write(jobs.set_note, job.id, "first")
    assert await database.write(jobs.set_note, job.id, "second")
    await database.write(jobs.withdraw_note, job.id, "first")
    assert await _reason(database, job) == "second"
    await database.write(jobs.withdraw_note, job.id, "second")
    assert await _reason(database, job) == ""


async def test_only_running_jobs_make_remarks(database: AnyDatabase) -> None:
    waiting = await database.write(make_job, "a.test", start=False)
    pausing = await database.write(make_job, "b.test")
    await database.write(jobs.move, pausing.id, JobState.PAUSING, "for a reason")
    for job in (waiting, pausing):
        assert not await database.write(jobs.set_note, job.id, "too late")
    assert not await database.read(jobs.any_note)
    await database.write(jobs.clear_notes)
    assert [await _reason(database, job) for job in (waiting, pausing)] == ["", "for a reason"]


async def test_all_remarks_can_be_cleared_at_once(database: AnyDatabase) -> None:
    talkative, silent = [await database.write(make_job, host) for host in ("a.test", "b.test")]
    await database.write(jobs.set_note, talkative.id, "something")
    assert await database.read(jobs.any_note)
    await database.write(jobs.clear_notes)
    assert not await database.read(jobs.any_note)
    assert [await _reason(database, job) for job in (talkative, silent)] == ["", ""]
