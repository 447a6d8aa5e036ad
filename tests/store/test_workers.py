"""Workers as rows: they say that they live, are counted while they do, and are forgotten afterwards."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import update

from gossamer.db.tables import workers as table
from gossamer.db.transactions import Tx
from gossamer.model.worker import SILENT_AFTER, Worker
from gossamer.store import queue_status, visits, workers
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, make_job

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def worker(name: str, **lanes: int) -> Worker:
    return Worker(name, name.partition("/")[0], 7, lanes, "1.2", LONG_AGO, LONG_AGO)


def silence(tx: Tx, name: str, time: timedelta) -> None:
    tx.run(update(table).where(table.c.id == name).values(beat_at=tx.now - time))


async def test_a_worker_is_known_with_its_room_and_what_it_holds(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test", "b.test")
    await database.write(claim_all, "one/0-7")
    await database.write(workers.beat, worker("one/0-7", http=95, desk=5))
    await database.write(workers.beat, worker("two/0-7", http=10))
    one, two = await database.read(workers.known)
    assert (one.id, one.host, one.pid, one.lanes, one.holds) == ("one/0-7", "one", 7, {"http": 95, "desk": 5}, 2)
    assert (two.holds, two.is_silent) == (0, False)
    assert two.started_at > LONG_AGO, "the database says when"
    await database.write(workers.beat, worker("one/0-7", http=40))
    assert await database.read(workers.rooms) == {"one/0-7": {"http": 40}, "two/0-7": {"http": 10}}
    assert (await database.read(workers.known))[0].started_at == one.started_at


async def test_a_silent_worker_has_no_room_and_is_forgotten_later(database: AnyDatabase) -> None:
    assert not await database.read(workers.any_alive)
    await database.write(workers.beat, worker("one/0-7", http=95))
    assert await database.read(workers.any_alive)
    await database.write(silence, "one/0-7", SILENT_AFTER)
    assert not await database.read(workers.any_alive)
    assert await database.read(workers.rooms) == {}
    assert [one.is_silent for one in await database.read(workers.known)] == [True]
    assert await database.write(workers.forget_silent, timedelta(minutes=10)) == []
    await database.write(silence, "one/0-7", timedelta(minutes=10))
    assert await database.write(workers.forget_silent, timedelta(minutes=10)) == ["one/0-7"]
    await database.write(workers.beat, worker("one/0-7", http=95))
    await database.write(workers.leave, "one/0-7")
    assert await database.read(workers.known) == []


async def test_the_queue_is_told_by_lane_and_job(database: AnyDatabase) -> None:
    first = await database.write(make_job, "a.test", "b.test", "c.test")
    second = await database.write(make_job, "d.test")
    await database.write(make_job, "e.test", start=False)
    ready = await database.read(visits.ready, "http", 0, 1, 10)
    issued, running = ready[first.id][:2]
    await database.write(visits.issue, [issued.id], "one/0-7")
    await database.write(visits.claim, {running.id: running.id}, "one/0-7", timedelta(seconds=60))
    lines = await database.read(queue_status.lines)
    told = [(one.lane, one.job_id, one.ready, one.later, one.issued, one.running) for one in lines]
    assert told == [("http", first.id, 1, 0, 1, 1), ("http", second.id, 1, 0, 0, 0)]
    assert all(one.priority == "normal" and one.oldest_wait is not None for one in lines)
    assert await database.read(queue_status.backlog, "http") == 4
    assert await database.read(queue_status.backlog, "desk") == 0
    assert await database.read(queue_status.in_hand) == {("http", first.id): 2}
    assert await database.read(queue_status.jobs_by_state) == {"pending": 1, "running": 2}
