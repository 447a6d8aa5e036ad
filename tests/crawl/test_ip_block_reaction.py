"""What a process does about a blocked address, on both databases."""

from datetime import timedelta
from uuid import UUID

from gossamer.clock import FrozenClock
from gossamer.crawl.domain_pacing import DomainPacing
from gossamer.crawl.ip_block import IpBlockDetector, IpBlockGuard
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.model.trouble import Reason, Trouble
from gossamer.store import events, jobs
from tests.conftest import AnyDatabase
from tests.jobs import make_job

SECOND = timedelta(seconds=1)


class Process:
    """One brake with its own clock, governor and watch."""

    def __init__(self, database: AnyDatabase) -> None:
        self.clock = FrozenClock()
        self.pacing = DomainPacing(lambda _: SECOND)
        self.ip_block_guard = IpBlockGuard(database, self.pacing, IpBlockDetector(self.clock))

    def be_blocked(self, job: Job, sites: int) -> None:
        for number in range(sites):
            host = f"{self.clock.monotonic()}-{number}.test"
            self.ip_block_guard.refusals(job.id).note(host, Trouble(Reason.FORBIDDEN, http_status=403))

    @property
    def pace(self) -> tuple[timedelta, int, int]:
        """Spacing, and how many visits of 9 and of 1."""
        return self.pacing.spacing("a.test"), self.ip_block_guard.room(9), self.ip_block_guard.room(1)


async def _reason(database: AnyDatabase, job: Job) -> str:
    found = await database.read(jobs.get, job.id)
    assert found
    return found.reason


async def _kinds(database: AnyDatabase, job_id: UUID) -> list[str]:
    return [event.kind for event in await database.read(events.of_job, job_id)][2:]  # after created and running


async def test_it_slows_down_all_jobs_of_the_process_and_pauses_the_blocked_one(database: AnyDatabase) -> None:
    blocked, other = [await database.write(make_job, host) for host in ("a.test", "b.test")]
    process = Process(database)
    running = {blocked.id, other.id}
    process.ip_block_guard.refusals(other.id)
    assert await process.ip_block_guard.look(running) == set()
    assert process.pace == (SECOND, 9, 1)
    process.be_blocked(blocked, 20)
    assert await process.ip_block_guard.look(running) == set()
    assert process.pace == (2 * SECOND, 4, 1)
    process.clock.advance(120)
    process.be_blocked(blocked, 10)
    assert await process.ip_block_guard.look(running) == {blocked.id}
    assert process.pace == (SECOND, 9, 1)
    assert process.ip_block_guard.jobs() == {other.id}
    assert await _kinds(database, blocked.id) == ["address.blocked", "job.pausing"]
    assert await _kinds(database, other.id) == []
    states = await database.read(jobs.states, sorted(running))
    assert states == {blocked.id: JobState.PAUSING, other.id: JobState.RUNNING}


async def test_a_process_that_recovers_leaves_what_another_says(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    first, second = Process(database), Process(database)
    for process, sites in ((first, 20), (second, 30)):
        process.be_blocked(job, sites)
        await process.ip_block_guard.look({job.id})
    said = "30 of 30 sites block this address: slowing down"
    assert await _reason(database, job) == said
    for process, left in ((first, said), (second, "")):
        process.clock.advance(300)
        await process.ip_block_guard.look({job.id})
        assert process.pace == (SECOND, 9, 1)
        assert await _reason(database, job) == left


async def test_a_job_that_no_longer_runs_slows_nobody_down(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    process = Process(database)
    process.be_blocked(job, 20)
    await process.ip_block_guard.look({job.id})
    await database.write(jobs.move, job.id, JobState.CANCELLED)
    await process.ip_block_guard.look(set())
    assert process.pace == (SECOND, 9, 1)
    assert process.ip_block_guard.jobs() == set()
    assert await _reason(database, job) == ""


async def test_what_a_dead_process_said_is_taken_back_at_the_start(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    await database.write(jobs.set_note, job.id, "8 of 31 sites block this address: slowing down")
    await Process(database).ip_block_guard.begin()
    assert await _reason(database, job) == ""
