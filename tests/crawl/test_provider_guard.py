"""When a job pauses for a provider: at once for what a person must mend, later for all else, and who does not."""

from datetime import timedelta
from uuid import UUID

import pytest

from gossamer.clock import FrozenClock
from gossamer.crawl.job_guards import ProviderGuard
from gossamer.gate.breakers import MemoryBreakers
from gossamer.model.breaker import PROVIDER, News
from gossamer.model.states import JobState
from gossamer.model.trouble import Reason, Trouble
from gossamer.store import jobs
from tests.conftest import AnyDatabase
from tests.jobs import make_job, state_of

AWAY = Trouble(Reason.PROVIDER_AWAY, "ScrapingBee: HTTP 503")
KEY = Trouble(Reason.PROVIDER_KEY, "ScrapingBee: HTTP 401")
NAME = "provider:scrapingbee"


class Bench:
    """A guard, and a provider about which news can come."""

    def __init__(self, database: AnyDatabase) -> None:
        self.clock = FrozenClock()
        self.breakers = MemoryBreakers(self.clock)
        self.guard = ProviderGuard(database, self.clock, self.breakers, timedelta(minutes=5))

    async def fails(self, trouble: Trouble) -> None:
        news = News.GRAVE if trouble is KEY else News.BAD
        for _ in range(PROVIDER.failures):
            await self.breakers.tell(NAME, PROVIDER, news, f"{trouble.reason.name} {trouble.detail}")

    def waits(self, job_id: UUID, trouble: Trouble, *, heard: bool = False) -> None:
        self.guard.note(job_id, "scrapingbee", trouble, heard=heard)


@pytest.fixture
def bench(database: AnyDatabase) -> Bench:
    return Bench(database)


async def test_a_job_pauses_when_it_has_waited_for_long_enough(bench: Bench, database: AnyDatabase) -> None:
    needy, other = [await database.write(make_job, host) for host in ("a.test", "b.test")]
    await bench.fails(AWAY)
    bench.clock.advance(600)
    bench.waits(needy.id, AWAY, heard=True)
    bench.clock.advance(299)
    bench.waits(needy.id, AWAY)
    assert await bench.guard.look({needy.id, other.id}) == set()
    bench.clock.advance(2)
    assert await bench.guard.look({needy.id, other.id}) == {needy.id}
    assert await state_of(database, needy.id) is JobState.PAUSING
    assert await state_of(database, other.id) is JobState.RUNNING
    job = await database.read(jobs.get, needy.id)
    assert job
    assert job.reason.startswith("ScrapingBee has not worked for 15 minutes (HTTP 503). Paused: no page has failed")


async def test_how_long_it_is_away_counts_from_when_it_went_away(bench: Bench, database: AnyDatabase) -> None:
    late = await database.write(make_job, "a.test")
    await bench.fails(AWAY)
    bench.clock.advance(600)
    bench.waits(late.id, AWAY)
    assert await bench.guard.look({late.id}) == set()  # it may be back: nobody has asked since the job needs it
    bench.clock.advance(31)
    assert not await bench.breakers.ask(NAME, PROVIDER)
    await bench.breakers.tell(NAME, PROVIDER, News.BAD, f"{AWAY.reason.name} {AWAY.detail}")
    bench.clock.advance(1)
    assert await bench.guard.look({late.id}) == {late.id}
    job = await database.read(jobs.get, late.id)
    assert job
    assert job.reason.startswith("ScrapingBee has not worked for 10 minutes (HTTP 503). Paused: no page has failed")


async def test_a_short_absence_is_waited_out_however_often_it_is_asked(bench: Bench) -> None:
    job_id = UUID(int=1)
    await bench.fails(AWAY)
    bench.waits(job_id, AWAY)
    for _ in range(9):
        bench.clock.advance(31)
        assert not await bench.breakers.ask(NAME, PROVIDER)
        await bench.breakers.tell(NAME, PROVIDER, News.BAD, f"{AWAY.reason.name} {AWAY.detail}")
        bench.clock.advance(1)
        assert await bench.guard.look({job_id}) == set()


async def test_whoever_resumes_has_the_whole_time_again_unless_a_probe_fails(bench: Bench) -> None:
    job_id = UUID(int=1)
    await bench.fails(AWAY)
    bench.waits(job_id, AWAY)
    bench.clock.advance(200)
    assert await bench.guard.look(set()) == set()  # paused by a person
    bench.waits(job_id, AWAY)
    bench.clock.advance(200)
    assert await bench.guard.look({job_id}) == set()
    assert bench.guard.jobs() == {job_id}


async def test_a_provider_that_works_again_is_not_waited_for(bench: Bench) -> None:
    job_id = UUID(int=1)
    await bench.fails(AWAY)
    bench.waits(job_id, AWAY)
    bench.clock.advance(31)
    for _ in range(PROVIDER.probes):
        await bench.breakers.tell(NAME, PROVIDER, News.GOOD)
    assert await bench.guard.look({job_id}) == set()
    assert bench.guard.jobs() == set()


async def test_a_refused_key_pauses_who_was_refused_and_who_waits(bench: Bench, database: AnyDatabase) -> None:
    refused, waiting, later = [await database.write(make_job, f"{name}.test") for name in "abc"]
    bench.waits(waiting.id, AWAY)
    bench.clock.advance(1)
    await bench.fails(KEY)
    bench.waits(refused.id, KEY, heard=True)
    bench.clock.advance(1)
    # For all that is known the key was corrected before this one was resumed.
    bench.waits(later.id, KEY)
    bench.clock.advance(1)
    running = {refused.id, waiting.id, later.id}
    assert await bench.guard.look(running) == {refused.id, waiting.id}
    assert await state_of(database, later.id) is JobState.RUNNING
    await bench.fails(KEY)
    assert await bench.guard.look({later.id}) == {later.id}
