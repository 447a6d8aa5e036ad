"""What could not be said while the database was away is said when it is back."""

from datetime import timedelta
from pathlib import Path

from gossamer.errors import StorageAway, StorageFull
from gossamer.model.alert import AlertKind
from gossamer.model.states import JobState
from gossamer.store import alerts, jobs
from gossamer.work import surrender
from tests.conftest import AnyDatabase
from tests.jobs import make_job, state_of

PATIENCE = timedelta(minutes=5)


async def test_a_database_that_stayed_away_fails_the_job(database: AnyDatabase, tmp_path: Path) -> None:
    job = await database.write(make_job, "a.test")
    waiting = await database.write(make_job, "b.test", start=False)
    surrender.note(tmp_path, StorageAway("connection refused"), PATIENCE)
    await surrender.recall(tmp_path, database)
    failed = await database.read(jobs.get, job.id)
    assert failed
    assert failed.state is JobState.FAILED
    assert failed.reason.startswith("The database was away for longer than 5 minutes (connection refused).")
    assert await state_of(database, waiting.id) is JobState.PENDING


async def test_a_full_disk_pauses_it(database: AnyDatabase, tmp_path: Path) -> None:
    job = await database.write(make_job, "a.test")
    surrender.note(tmp_path, StorageFull("full"), PATIENCE)
    await surrender.recall(tmp_path, database)
    assert await state_of(database, job.id) is JobState.PAUSED
    assert [alert.kind for alert in await database.read(alerts.recent, 10)] == [AlertKind.DISK]


async def test_it_is_said_once(database: AnyDatabase, tmp_path: Path) -> None:
    surrender.note(tmp_path, StorageAway("gone"), PATIENCE)
    await surrender.recall(tmp_path, database)
    later = await database.write(make_job, "a.test")
    await surrender.recall(tmp_path, database)
    assert await state_of(database, later.id) is JobState.RUNNING
    assert not (tmp_path / "surrender.json").exists()


async def test_a_note_that_was_cut_off_is_no_note(database: AnyDatabase, tmp_path: Path) -> None:
    job = await database.write(make_job, "a.test")
    (tmp_path / "surrender.json").write_bytes(b'{"full": fal')
    await surrender.recall(tmp_path, database)
    assert await state_of(database, job.id) is JobState.RUNNING
