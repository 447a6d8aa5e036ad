"""What could not be said while the database was away is said when it is back."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gossamer.app import open_app
from gossamer.errors import StorageAway, StorageFull
from gossamer.model.alert import AlertKind
from gossamer.model.states import JobState
from gossamer.runtime import shutdown_note
from gossamer.settings import Settings
from gossamer.store import alerts, jobs, named_slots
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle, state_of

PATIENCE = timedelta(minutes=5)


async def test_a_database_that_stayed_away_fails_the_job(database: AnyDatabase, tmp_path: Path) -> None:
    job = await database.write(make_job, "a.test")
    waiting = await database.write(make_job, "b.test", start=False)
    shutdown_note.note(tmp_path, StorageAway("connection refused"), PATIENCE, datetime.now(UTC))
    await shutdown_note.recall(tmp_path, database)
    failed = await database.read(jobs.get, job.id)
    assert failed
    assert failed.state is JobState.FAILED
    assert failed.reason.startswith("The database was away for longer than 5 minutes (connection refused).")
    assert await state_of(database, waiting.id) is JobState.PENDING


async def test_a_full_disk_pauses_it(database: AnyDatabase, tmp_path: Path) -> None:
    job = await database.write(make_job, "a.test")
    shutdown_note.note(tmp_path, StorageFull("full"), PATIENCE, datetime.now(UTC))
    await shutdown_note.recall(tmp_path, database)
    assert await state_of(database, job.id) is JobState.PAUSED
    assert [alert.kind for alert in await database.read(alerts.recent, 10)] == [AlertKind.DISK]


async def test_it_is_said_once(database: AnyDatabase, tmp_path: Path) -> None:
    shutdown_note.note(tmp_path, StorageAway("gone"), PATIENCE, datetime.now(UTC))
    await shutdown_note.recall(tmp_path, database)
    later = await database.write(make_job, "a.test")
    await shutdown_note.recall(tmp_path, database)
    assert await state_of(database, later.id) is JobState.RUNNING
    assert not (tmp_path / "surrender.json").exists()


async def test_a_note_that_was_cut_off_is_no_note(database: AnyDatabase, tmp_path: Path) -> None:
    job = await database.write(make_job, "a.test")
    (tmp_path / "surrender.json").write_bytes(b'{"full": fal')
    await shutdown_note.recall(tmp_path, database)
    assert await state_of(database, job.id) is JobState.RUNNING


async def test_a_note_that_says_something_else_is_no_note(database: AnyDatabase, tmp_path: Path) -> None:
    job = await database.write(make_job, "a.test")
    (tmp_path / "surrender.json").write_bytes(b'{"x": 1}')
    await shutdown_note.recall(tmp_path, database)
    assert await state_of(database, job.id) is JobState.RUNNING


async def test_jobs_another_home_works_by_now_are_left_to_it(database: AnyDatabase, tmp_path: Path) -> None:
    job = await database.write(make_job, "a.test")
    shutdown_note.note(tmp_path, StorageAway("no route to host"), PATIENCE, datetime.now(UTC))
    await database.write(named_slots.enter, "runner", "home-of-somebody-else", 1, timedelta(seconds=30))
    await shutdown_note.recall(tmp_path, database)
    assert await state_of(database, job.id) is JobState.RUNNING


async def test_a_job_that_was_worked_since_is_left_alone(database: AnyDatabase, tmp_path: Path) -> None:
    shutdown_note.note(tmp_path, StorageAway("gone"), PATIENCE, datetime.now(UTC) - timedelta(minutes=1))
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://a.test/"))
    await shutdown_note.recall(tmp_path, database)
    assert await state_of(database, job.id) is JobState.RUNNING


async def test_a_runner_whose_database_stayed_away_leaves_a_note(tmp_path: Path) -> None:
    async with open_app(Settings(home=tmp_path, database_patience=0.3, processes=1)) as app:
        assert app.lock.take()
        runner = app.runner(1)
        assert await runner.start()

        async def never() -> None:
            raise StorageAway("pulled out")

        # Whoever asks, the runner itself or the door that shows the job: patience ends for all of them.
        with pytest.raises(StorageAway):
            await app.database.retries.run(never)
        await runner.stop()
        app.lock.release()
    assert b"pulled out" in (tmp_path / "surrender.json").read_bytes()
    assert (tmp_path / "surrender.json").stat().st_mode & 0o777 == 0o600
