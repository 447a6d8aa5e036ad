"""An outage is said once, by however many processes, and taken back when it is over: of Redis, and of the network."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
from sqlalchemy import update

from gossamer.blobs.seam import BlobsAway
from gossamer.clock import FrozenClock, SystemClock
from gossamer.crawl.own_network import OwnNetwork
from gossamer.db import tables
from gossamer.db.database import SqliteDatabase
from gossamer.db.schema import upgrade
from gossamer.model.alert import Alert, AlertKind
from gossamer.model.export import ExportRequest
from gossamer.model.worker import Worker as WorkerRow
from gossamer.runtime.outage_alerts import NetworkWatch, OutageWatch, StorageWatch
from gossamer.runtime.services import tell_of_lost
from gossamer.store import alerts, events, exports, jobs, workers
from tests.conftest import AnyDatabase
from tests.jobs import make_job

NOW = datetime.now(UTC)


class Worker:
    """A process that looks once a second, and what it knows of Redis."""

    def __init__(self, database: SqliteDatabase, clock: FrozenClock) -> None:
        self.why = ""
        self.watch = OutageWatch(database, clock, lambda: self.why, "home-1")


@pytest.fixture
async def rows(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "a.db", SystemClock())
    await database.write(upgrade)
    yield database
    await database.close()


async def live(clock: FrozenClock, seconds: int, *workers: Worker) -> None:
    for _ in range(seconds):
        for worker in workers:
            await worker.watch.look()
        clock.advance(1)


async def said(rows: SqliteDatabase, *, cleared: bool = True) -> list[Alert]:
    return await rows.read(lambda tx: alerts.recent(tx, 100, cleared=cleared))


async def test_it_is_said_once_by_all_processes_and_cleared_when_it_is_over(rows: SqliteDatabase) -> None:
    clock = FrozenClock()
    one, two = Worker(rows, clock), Worker(rows, clock)
    await live(clock, 20, one, two)
    assert await said(rows) == []
    one.why = two.why = "Connection refused"
    await live(clock, 60, one, two)
    (alert,) = await said(rows, cleared=False)
    assert (alert.kind, alert.subject) == (AlertKind.REDIS, "home-1")
    assert alert.sentence.startswith(
        "Redis is away (Connection refused). Until it is back every worker asks a domain at"
    )
    one.why = ""
    await live(clock, 3, one, two)
    two.why = ""  # each finds it at a moment of its own
    await live(clock, 30, one, two)
    assert await said(rows, cleared=False) == []
    assert len(await said(rows)) == 1


async def test_a_server_that_comes_and_goes_is_one_outage(rows: SqliteDatabase) -> None:
    clock = FrozenClock()
    worker = Worker(rows, clock)
    for why in ("no answer in time", "") * 10:
        worker.why = why
        await live(clock, 3, worker)
    assert len(await said(rows, cleared=False)) == len(await said(rows)) == 1
    await live(clock, 10, worker)
    worker.why = "no answer in time"
    await live(clock, 10, worker)
    assert len(await said(rows)) == 2


async def test_it_holds_while_one_process_cannot_reach_it(rows: SqliteDatabase) -> None:
    clock = FrozenClock()
    one, two = Worker(rows, clock), Worker(rows, clock)
    one.why = two.why = "Network is unreachable"
    await live(clock, 5, one, two)
    one.why = ""
    await live(clock, 60, one, two)
    assert len(await said(rows, cleared=False)) == 1
    two.why = ""
    await live(clock, 10, one, two)
    assert await said(rows, cleared=False) == []


async def test_an_outage_keeps_its_beginning_though_others_take_it_back(rows: SqliteDatabase) -> None:
    """One process sees the server and has just come; the other one has not seen it for long."""
    clock = FrozenClock()
    cut_off = Worker(rows, clock)
    cut_off.why = "Network is unreachable"
    await live(clock, 5, cut_off)
    (before,) = await said(rows, cleared=False)
    await live(clock, 60, cut_off, Worker(rows, clock))
    (after,) = await said(rows)
    assert (after.id, after.fired_at, after.cleared_at) == (before.id, before.fired_at, None)


async def test_what_could_only_be_told_later_has_the_moment_it_began(rows: SqliteDatabase) -> None:
    since = await rows.read(lambda tx: tx.now)
    await rows.write(alerts.tell_of_past, AlertKind.DATABASE, "node-1", "It was away.", timedelta(minutes=4))
    (alert,) = await said(rows)
    assert alert.cleared_at
    assert timedelta(0) <= alert.fired_at - (since - timedelta(minutes=4)) < timedelta(minutes=1)


class Storage:
    """What is asked whether it is there."""

    why = ""

    async def probe(self) -> None:
        if self.why:
            raise BlobsAway(self.why)


async def test_object_storage_that_cannot_be_used_is_said_with_its_beginning(rows: SqliteDatabase) -> None:
    clock, storage = FrozenClock(), Storage()
    watch = StorageWatch(rows, clock, storage.probe, "home-1", "node-1")
    await watch.look()
    storage.why = "Object storage has not answered within 15 seconds."
    await watch.look()
    assert await said(rows) == [], "once is nothing"
    for _ in range(5):
        clock.advance(30)
        await watch.look()
    (alert,) = await said(rows, cleared=False)
    assert (alert.kind, alert.subject) == (AlertKind.STORAGE, "node-1")
    assert alert.sentence.startswith(
        "Object storage cannot be used from node-1 (Object storage has not answered within 15 seconds). Files are kept"
    )
    storage.why = ""
    await watch.look()
    assert await said(rows, cleared=False) == []


async def test_files_that_wait_for_object_storage_are_a_reason_to_say_so(rows: SqliteDatabase) -> None:
    job = await rows.write(make_job, "a.test")
    (wanted,) = await rows.write(exports.add, job.id, [ExportRequest("results", "csv", "a.csv", {})], "home-1")
    made = update(tables.exports).where(tables.exports.c.id == wanted.id)
    old = datetime.now(UTC) - timedelta(hours=1)
    await rows.write(lambda tx: tx.run(made.values(spooled=True, blob_key="exports/a", finished_at=old)))
    clock = FrozenClock()
    watch = StorageWatch(rows, clock, Storage().probe, "home-1", "node-1")
    for _ in range(3):
        await watch.look()
        clock.advance(30)
    (alert,) = await said(rows, cleared=False)
    assert "(1 file waits to be sent there)" in alert.sentence


async def test_a_machine_that_vanished_is_said_until_it_is_back(database: AnyDatabase) -> None:
    async def beat(host: str, seconds_ago: float) -> None:
        await database.write(workers.beat, WorkerRow(f"{host}/0-7", host, 7, {"http": 5}, "1", NOW, NOW))
        mine = update(tables.workers).where(tables.workers.c.id == f"{host}/0-7")
        await database.write(lambda tx: tx.run(mine.values(beat_at=tx.now - timedelta(seconds=seconds_ago))))

    await beat("node-1", 1)
    await beat("node-2", 15)
    await database.write(tell_of_lost)
    assert await database.read(alerts.recent, 5) == []
    await beat("node-2", 300)
    for _ in range(2):
        await database.write(tell_of_lost)
    (alert,) = await database.read(alerts.recent, 5)
    assert (alert.kind, alert.subject) == (AlertKind.INSTANCE, "node-2")
    assert alert.sentence.startswith("node-2 has not been heard of since ")
    assert "(1 working process)" in alert.sentence
    assert await database.read(lambda tx: tx.now) - alert.fired_at >= timedelta(seconds=290)
    await database.write(workers.forget_silent, timedelta(minutes=4))
    await database.write(tell_of_lost)
    assert len(await database.read(alerts.recent, 5)) == 1, "it is still lost"
    await beat("node-2", 1)
    await database.write(tell_of_lost)
    assert await database.read(alerts.recent, 5) == []
    await database.write(workers.leave, "node-1/0-7")
    await database.write(tell_of_lost)
    assert await database.read(alerts.recent, 5) == [], "who ends in order is not lost"


async def test_what_a_former_process_left_open_is_closed_by_the_next(rows: SqliteDatabase) -> None:
    clock = FrozenClock()
    former = Worker(rows, clock)
    former.why = "Connection refused"
    await live(clock, 2, former)
    assert len(await said(rows, cleared=False)) == 1
    await live(clock, 10, Worker(rows, clock))
    assert await said(rows, cleared=False) == []


class Missing:
    """What a process knows of its network."""

    def __init__(self) -> None:
        self.since: datetime | None = None
        self.why = "no route"
        self.looks = 0


def watch(rows: SqliteDatabase, missing: Missing, *, others: bool = False) -> NetworkWatch:
    async def others_can() -> bool:
        return others

    return NetworkWatch(rows, cast("OwnNetwork", missing), "home-1", "node-1", others_can)


async def test_jobs_say_that_they_wait_for_the_network_and_go_on_by_themselves(rows: SqliteDatabase) -> None:
    job = await rows.write(make_job, "a.test")
    mine, others = Missing(), Missing()
    one, two = watch(rows, mine), watch(rows, others)
    await one.begin()
    assert not await one.look()
    mine.since = others.since = datetime(2026, 5, 1, 14, 3).astimezone()
    for _ in range(3):
        assert await one.look()
        assert await two.look()
    (alert,) = await said(rows, cleared=False)
    assert (alert.kind, alert.subject) == (AlertKind.NETWORK, "home-1")
    assert alert.sentence.startswith("No network since 14:03: waiting. No site can be reached from node-1 (no route).")
    assert (await reason_of(rows, job.id)) == "No network since 14:03: waiting"
    later = await rows.write(make_job, "b.test")
    mine.looks += 1
    await one.look()
    assert (await reason_of(rows, later.id)) == "No network since 14:03: waiting", "one that came meanwhile waits too"

    mine.since = others.since = None
    assert not await one.look()
    assert not await two.look()
    assert await said(rows, cleared=False) == []
    assert [await reason_of(rows, one.id) for one in (job, later)] == ["", ""]
    happened = [event.kind for event in await rows.read(events.of_job, job.id) if event.kind.startswith("network")]
    assert happened == ["network.away", "network.back"]


async def test_where_others_can_do_the_work_no_job_waits(rows: SqliteDatabase) -> None:
    job = await rows.write(make_job, "a.test")
    missing = Missing()
    missing.since = datetime.now().astimezone()
    assert await watch(rows, missing, others=True).look()
    assert len(await said(rows, cleared=False)) == 1
    assert (await reason_of(rows, job.id)) == ""


async def reason_of(rows: SqliteDatabase, job_id: UUID) -> str:
    job = await rows.read(jobs.get, job_id)
    assert job
    return job.reason
