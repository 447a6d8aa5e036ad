"""Results that wait too long to be written pause the jobs that bring them."""

from datetime import timedelta
from pathlib import Path

from gossamer.clock import FrozenClock, SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.schema import upgrade
from gossamer.model.alert import AlertKind
from gossamer.model.states import JobState
from gossamer.runtime.auto_pause import BackpressureGuard
from gossamer.settle.settler import Settler
from gossamer.store import alerts, jobs
from tests.jobs import claim_all, done, make_job


async def test_slow_writing_pauses_the_job_with_its_sentence(tmp_path: Path) -> None:
    clock = FrozenClock()
    database = SqliteDatabase(tmp_path / "a.db", SystemClock())
    await database.write(upgrade)
    database.retries = type(database.retries)(clock)
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    settler = Settler(database, clock, 0, lambda _: None)
    pressure = BackpressureGuard(database, settler, timedelta(seconds=60))
    settler.put(done(visit, "http://a.test/"))
    clock.advance(59)
    assert await pressure.look({job.id}) == set()
    clock.advance(10)
    assert await pressure.look({job.id}) == {job.id}
    paused = await database.read(jobs.get, job.id)
    assert paused
    assert paused.state is JobState.PAUSING
    assert paused.reason.startswith("The database takes results too slowly (the oldest has waited 69 s).")
    assert [alert.kind for alert in await database.read(alerts.recent, 10)] == [AlertKind.BACKPRESSURE]
    await database.close()
