"""Files are made once, completely, by somebody alive; cancelled, lost or away, they come out right in the end."""

import asyncio
import csv
import hashlib
import io
import os
import socket
import urllib.request
from collections.abc import AsyncIterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update

from gossamer.blobs.export_store import ExportStore
from gossamer.blobs.folder import FolderBlobs
from gossamer.blobs.objects import StorageAccess, open_objects
from gossamer.clock import SystemClock
from gossamer.crawl.completion import Closer
from gossamer.db import tables as t
from gossamer.db.transactions import Tx
from gossamer.errors import GossamerError
from gossamer.model.export import KEPT, Export, ExportRequest, ExportState
from gossamer.model.job import Job
from gossamer.model.states import JobState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.recipes.registry import RECIPES
from gossamer.retention.service import FileSweeper, delete_job
from gossamer.runtime.exporting import LEASE, Exporter
from gossamer.runtime.home_lock import worker_name
from gossamer.settle.step import Finished, Step
from gossamer.store import exports, jobs
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle

HOME = "home-1"
CSV = ExportRequest("results", "csv", "results.csv", {})


@pytest.fixture
def export_store(tmp_path: Path) -> ExportStore:
    return ExportStore(HOME, FolderBlobs(tmp_path / "files", b"s" * 64, SystemClock()))


@pytest.fixture
def exporter(database: AnyDatabase, export_store: ExportStore) -> Exporter:
    return Exporter(database, export_store, worker_name(HOME, "test"))


async def job_with_matches(database: AnyDatabase, *hosts: str) -> Job:
    job = await database.write(make_job, *(hosts or ("a.test",)))
    facts: dict[str, Any] = {"frequency": 1, "context_snippet": "x", "crawl_method": "direct", "http_status": 200}
    for visit in await database.write(claim_all):
        await settle(
            database, done(visit, f"http://{visit.host}/", "CRM", "ERP", timestamp="2026-11-16T01:42:18Z", **facts)
        )
    return job


async def ask(database: AnyDatabase, job: Job, *wanted: ExportRequest, home: str = HOME) -> list[Export]:
    return await database.write(exports.add, job.id, wanted or [CSV], home)


async def now(database: AnyDatabase, export: Export) -> Export:
    found = await database.read(exports.get, export.id)
    assert found
    return found


async def test_what_was_asked_for_becomes_a_file(
    database: AnyDatabase, exporter: Exporter, export_store: ExportStore
) -> None:
    job = await job_with_matches(database, "a.test", "b.test")
    (asked,) = await ask(database, job)
    await exporter.make_all()
    made = await now(database, asked)
    path = export_store.path(made)
    assert path
    content = path.read_bytes()
    assert len(list(csv.DictReader(io.StringIO(content.decode())))) == 4
    assert (made.state, made.rows_done, made.rows_total) == (ExportState.DONE, 4, 4)
    assert (made.size, made.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert made.finished_at
    assert made.expires_at == made.finished_at + KEPT
    assert await export_store.link(made, made.finished_at) == path.as_uri()
    assert await export_store.link(made, made.finished_at + KEPT) is None
    assert path.stat().st_mode & 0o077 == 0
    assert not await database.read(exports.any_open, HOME)


async def test_one_maker_at_a_time(database: AnyDatabase) -> None:
    job = await job_with_matches(database)
    (asked,) = await ask(database, job)
    token = uuid4()
    mine = await database.write(exports.claim, "other/1", HOME, token, LEASE)
    assert mine
    assert mine.id == asked.id
    assert await database.write(exports.claim, "other/2", HOME, uuid4(), LEASE) is None
    assert await database.write(exports.claim, "other/1", HOME, token, LEASE) == mine, "said twice is said once"
    assert await database.write(exports.take_back) == 0


async def test_a_file_on_a_disk_is_made_by_the_home_of_that_disk(database: AnyDatabase, exporter: Exporter) -> None:
    job = await job_with_matches(database)
    (theirs,) = await ask(database, job, home="home-2")
    assert await exporter.make_next() is None
    assert (await now(database, theirs)).state is ExportState.PENDING


async def test_who_lost_the_lease_leaves_no_file(
    database: AnyDatabase, export_store: ExportStore, exporter: Exporter
) -> None:
    """Two make the same file because one stood still for too long: the file is the second one's."""
    job = await job_with_matches(database)
    (asked,) = await ask(database, job)
    slow = await database.write(exports.claim, "elsewhere/x-1", HOME, uuid4(), timedelta(seconds=-1))
    assert slow
    await exporter.make_all()
    made = await now(database, asked)
    assert made.state is ExportState.DONE
    facts: dict[str, Any] = {"rows": 9, "size": 9, "sha256": "", "home": HOME, "spooled": False, "kept": KEPT}
    assert not await database.write(lambda tx: exports.finish(tx, slow, **facts))
    assert not await database.write(exports.fail, slow, "late")
    assert not await database.write(exports.beat, slow, 1, 1, LEASE)
    assert await now(database, asked) == made


async def test_a_maker_that_died_is_waited_for_as_long_as_its_lease(database: AnyDatabase, exporter: Exporter) -> None:
    """Only the lease tells: the number of its process may be one of another machine, or of another container."""
    job = await job_with_matches(database)
    (asked,) = await ask(database, job)
    child = await asyncio.create_subprocess_exec("true")
    await child.wait()
    name = f"{HOME}/exports-{child.pid}"
    claimed = await database.write(exports.claim, name, HOME, uuid4(), timedelta(seconds=1))
    assert claimed
    await exporter.take_back()
    assert await database.write(exports.beat, claimed, 1, 2, timedelta(seconds=1)), "it is not said to be dead"
    await exporter.make_all()
    assert (await now(database, asked)).state is ExportState.DONE


async def test_a_file_that_kills_its_makers_is_given_up(database: AnyDatabase, exporter: Exporter) -> None:
    job = await job_with_matches(database)
    (asked,) = await ask(database, job)
    for _ in range(exports.MOST_TRIES):
        assert await database.write(exports.claim, "x/1", HOME, uuid4(), timedelta(seconds=-1))
        await exporter.take_back()
    failed = await now(database, asked)
    assert (failed.state, failed.reason) == (ExportState.FAILED, "Given up after 3 tries.")


async def test_a_file_that_cannot_be_made_keeps_no_other_from_it(database: AnyDatabase, exporter: Exporter) -> None:
    job = await job_with_matches(database)
    wrong, right = await ask(database, job, ExportRequest("gone", "csv", "x.csv", {}), CSV)
    await exporter.make_all()
    failed = await now(database, wrong)
    assert failed.state is ExportState.FAILED
    assert "no type of export" in failed.reason
    assert (await now(database, right)).state is ExportState.DONE


class Hesitant(ExportStore):
    """Waits in the middle of a file until somebody has done something else."""

    def __init__(self, home: str, local: FolderBlobs) -> None:
        super().__init__(home, local)
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def keep(self, key: str, chunks: AsyncIterator[bytes]):  # type: ignore[no-untyped-def]
        async def slowly() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                yield chunk * 300
                self.begun.set()
                await self.go_on.wait()

        return await super().keep(key, slowly())


@pytest.mark.parametrize("how", ["cancelled", "deleted", "stopped"])
async def test_half_a_file_is_never_seen(database: AnyDatabase, tmp_path: Path, how: str) -> None:
    export_store = Hesitant(HOME, FolderBlobs(tmp_path / "files", b"s" * 64, SystemClock()))
    job = await job_with_matches(database)
    (asked,) = await ask(database, job)
    making = asyncio.create_task(Exporter(database, export_store, worker_name(HOME, "test")).make_all())
    await export_store.begun.wait()
    assert (await now(database, asked)).state is ExportState.RUNNING
    if how == "cancelled":
        assert await database.write(exports.cancel, job.id) == 1
    elif how == "deleted":
        await database.write(jobs.move, job.id, JobState.CANCELLED)
        ended = await database.read(jobs.get, job.id)
        assert ended
        await delete_job(database, ended)
    else:
        making.cancel()
    await asyncio.wait([making])
    assert [path for path in (tmp_path / "files").rglob("*") if path.is_file()] == []
    if how == "deleted":
        assert await database.read(exports.of_job, job.id) == []
    else:
        state = (await now(database, asked)).state
        assert state is (ExportState.CANCELLED if how == "cancelled" else ExportState.PENDING)


async def test_files_go_after_a_week_and_with_their_job(
    database: AnyDatabase, exporter: Exporter, export_store: ExportStore
) -> None:
    job = await job_with_matches(database)
    old, young = await ask(database, job, CSV, CSV)
    await exporter.make_all()
    paths = [export_store.path(await now(database, one)) for one in (old, young)]

    def age(tx: Tx) -> None:
        tx.run(update(t.exports).where(t.exports.c.id == old.id).values(expires_at=tx.now))

    await database.write(age)
    sweeper = FileSweeper(database, export_store)
    await sweeper.sweep()
    assert [path.exists() for path in paths if path] == [False, True]
    expired = await now(database, old)
    assert (expired.state, expired.is_there) == (ExportState.DONE, False)
    await database.write(jobs.move, job.id, JobState.CANCELLED)
    ended = await database.read(jobs.get, job.id)
    assert ended
    await delete_job(database, ended)
    await sweeper.sweep()
    assert [path.exists() for path in paths if path] == [False, False]
    assert await database.read(exports.of_job, job.id) == []


async def test_a_file_nobody_knows_of_goes_too(database: AnyDatabase, export_store: ExportStore) -> None:
    await export_store.local.put("exports/1/2/results.csv", [b"x"])
    path = export_store.local.path("exports/1/2/results.csv")
    sweeper = FileSweeper(database, export_store)
    await sweeper.sweep()
    assert path.exists()
    long_ago = (SystemClock().now() - KEPT - timedelta(days=2)).timestamp()
    os.utime(path, (long_ago, long_ago))
    await sweeper.sweep()
    assert not path.exists()


async def test_storage_that_is_away_gets_its_files_later(
    database: AnyDatabase, export_store: ExportStore, storage_server: str
) -> None:
    job = await job_with_matches(database)
    (asked,) = await ask(database, job, home="")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        export_store.remote = open_objects(StorageAccess("s3://tests/away", address, "us-east-1", "key", "secret"))
        await Exporter(database, export_store, worker_name(HOME, "test")).make_all()
        waiting = await now(database, asked)
        assert (waiting.state, waiting.spooled, waiting.home) == (ExportState.DONE, True, HOME)
        path = export_store.path(waiting)
        assert path
        content = path.read_bytes()
        assert await export_store.link(waiting, waiting.created_at) == path.as_uri()
        await FileSweeper(database, export_store).sweep()
        assert (await now(database, asked)).spooled, "still away"
    export_store.remote = open_objects(StorageAccess("s3://tests/away", storage_server, "us-east-1", "key", "secret"))
    await FileSweeper(database, export_store).sweep()
    moved = await now(database, asked)
    assert (moved.spooled, moved.home) == (False, "")
    assert not path.exists()
    link = await export_store.link(moved, moved.created_at)
    assert link
    assert await asyncio.to_thread(lambda: urllib.request.urlopen(link, timeout=10).read()) == content
    await database.write(exports.expire_of_job, job.id)
    await FileSweeper(database, export_store).sweep()
    with pytest.raises(GossamerError):
        [chunk async for chunk in export_store.remote.open(moved.blob_key or "")]


async def test_failed_domains_are_written_down_when_a_job_is_completed(
    database: AnyDatabase, exporter: Exporter, export_store: ExportStore
) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    for visit in await database.write(claim_all):
        ending = Finished(SiteState.FAILED, Trouble(Reason.DNS)) if visit.host == "b.test" else Finished(SiteState.DONE)
        await settle(database, done(visit, f"http://{visit.host}/", "CRM"), Step(visit, ending=ending))
    closer = Closer(database, RECIPES, HOME, nullcontext)
    await closer.look()
    await closer.look()
    made = await database.read(exports.of_job, job.id)
    assert [(one.name, one.type, one.partial) for one in made] == [
        ("failed_domains.csv", "errors", False),
        ("failed_domains.json", "errors", False),
    ]
    await exporter.make_all()
    path = export_store.path(await now(database, made[0]))
    assert path
    header, line = path.read_text().splitlines()
    assert header == "domain,failure_reason,http_status,retry_count,last_attempt_timestamp"
    assert line.startswith("b.test,DNS resolution failed,,0,")


async def test_nothing_is_new_compared_with_a_job_that_was_deleted_meanwhile(
    database: AnyDatabase, exporter: Exporter
) -> None:
    earlier, job = [await job_with_matches(database) for _ in range(2)]
    options = {"since": str(earlier.id), "filter": "new"}
    (asked,) = await ask(database, job, ExportRequest("prospects", "csv", "new.csv", options))
    await database.write(jobs.move, earlier.id, JobState.CANCELLED)
    ended = await database.read(jobs.get, earlier.id)
    assert ended
    await delete_job(database, ended)
    await exporter.make_all()
    failed = await now(database, asked)
    assert failed.state is ExportState.FAILED
    assert "were deleted" in failed.reason
