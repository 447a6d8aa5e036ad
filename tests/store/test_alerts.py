"""An alert is said once, and may be said again when it was over in between."""

from gossamer.model.alert import AlertKind
from gossamer.store import alerts
from tests.conftest import AnyDatabase
from tests.jobs import make_job

DISK = (AlertKind.DISK, "disk", "The disk is full.")


async def test_it_fires_once_until_it_is_cleared(database: AnyDatabase) -> None:
    assert await database.write(alerts.fire, *DISK)
    assert not await database.write(alerts.fire, *DISK)
    assert [alert.sentence for alert in await database.read(alerts.recent, 10)] == ["The disk is full."]
    assert await database.write(alerts.clear, AlertKind.DISK, "disk")
    assert not await database.write(alerts.clear, AlertKind.DISK, "disk")
    assert await database.read(alerts.recent, 10) == []
    assert await database.write(alerts.fire, *DISK)
    assert len(await database.read(alerts.recent, 10, cleared=True)) == 2


async def test_kinds_and_subjects_do_not_get_in_each_others_way(database: AnyDatabase) -> None:
    assert await database.write(alerts.fire, *DISK)
    assert await database.write(alerts.fire, AlertKind.DISK, "another disk", "Full too.")
    assert await database.write(alerts.fire, AlertKind.LANE, "disk", "Nobody there.")
    assert len(await database.read(alerts.recent, 10)) == 3


async def test_looking_after_a_job_clears_what_was_said_about_it(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    other = await database.write(make_job, "b.test")
    for one in (job, other):
        await database.write(alerts.fire, AlertKind.DEADLINE, str(one.id), "Too long.", job_id=one.id)
    await database.write(alerts.fire, AlertKind.DEAD_LETTER, "a visit", "Given up.", job_id=job.id)
    assert await database.write(alerts.clear_of_job, job.id) == 1
    left = {(alert.kind, alert.job_id) for alert in await database.read(alerts.recent, 10)}
    assert left == {(AlertKind.DEADLINE, other.id), (AlertKind.DEAD_LETTER, job.id)}


async def test_each_is_told_once(database: AnyDatabase) -> None:
    await database.write(alerts.fire, *DISK)
    waiting = await database.read(alerts.undelivered)
    assert [alert.kind for alert in waiting] == [AlertKind.DISK]
    await database.write(alerts.delivered, [waiting[0].id])
    assert await database.read(alerts.undelivered) == []
