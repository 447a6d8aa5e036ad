"""Each try has a file of its own: none takes another's away, and what came to nothing stays nowhere."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import update

from gossamer.blobs.export_store import ExportStore, StoredFile
from gossamer.blobs.folder import FolderBlobs
from gossamer.blobs.objects import StorageAccess, open_objects
from gossamer.blobs.seam import Blobs, BlobsAway, NoSuchBlob
from gossamer.clock import SystemClock
from gossamer.db import tables as t
from gossamer.db.transactions import Tx
from gossamer.model.export import Export, ExportState
from gossamer.retention.service import FileSweeper
from gossamer.runtime import exporting
from gossamer.runtime.exporting import Exporter
from gossamer.store import exports
from tests.conftest import AnyDatabase
from tests.runtime.test_exporting import CSV, HOME, ask, job_with_matches, now

_prefixes = count(1)


class Hesitant(ExportStore):
    """Stands still once a file is complete, before anybody hears of it."""

    def __init__(self, home: str, local: FolderBlobs, remote: Blobs | None = None) -> None:
        super().__init__(home, local, remote)
        self.complete, self.go_on = asyncio.Event(), asyncio.Event()

    async def keep(self, key: str, chunks: AsyncIterator[bytes]) -> StoredFile:
        kept = await super().keep(key, chunks)
        self.complete.set()
        await self.go_on.wait()
        return kept


@pytest.fixture
def local(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path / "files", b"s" * 64, SystemClock())


@pytest.fixture
def remote(storage_server: str) -> Blobs:
    return open_objects(
        StorageAccess(f"s3://tests/tries/{next(_prefixes)}", storage_server, "us-east-1", "key", "secret")
    )


def on_disk(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


async def is_stored(remote: Blobs, key: str | None) -> bool:
    try:
        return bool([chunk async for chunk in remote.open(key or "")])
    except NoSuchBlob:
        return False


def run_out(tx: Tx) -> None:
    tx.run(update(t.exports).values(lease_until=tx.now - timedelta(seconds=1)))


async def test_who_lost_the_lease_takes_nothing_from_its_successor(
    database: AnyDatabase, tmp_path: Path, local: FolderBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_BEAT", 1000.0)  # no sign of life
    job = await job_with_matches(database)
    (asked,) = await ask(database, job)
    shelves = [Hesitant(HOME, local) for _ in range(2)]
    first, second = (Exporter(database, export_store, f"elsewhere/{n}") for n, export_store in enumerate(shelves))
    slow = asyncio.create_task(first.make_next())
    await shelves[0].complete.wait()
    await database.write(run_out)
    await second.take_back()
    successor = asyncio.create_task(second.make_next())
    await shelves[1].complete.wait()
    shelves[0].go_on.set()
    await slow
    shelves[1].go_on.set()
    await successor
    made = await now(database, asked)
    path = shelves[1].path(made)
    assert path
    assert made.state is ExportState.DONE
    assert hashlib.sha256(path.read_bytes()).hexdigest() == made.sha256
    assert on_disk(tmp_path / "files") == [CSV.name], "that of the first one is gone"


@pytest.mark.parametrize("how", ["cancelled", "deleted"])
async def test_a_complete_file_nobody_wants_is_removed(
    database: AnyDatabase, tmp_path: Path, local: FolderBlobs, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(exporting, "_BEAT", 0.05)
    job = await job_with_matches(database)
    (asked,) = await ask(database, job)
    export_store = Hesitant(HOME, local)
    making = asyncio.create_task(Exporter(database, export_store, "elsewhere/1").make_next())
    await export_store.complete.wait()
    await database.write(exports.cancel if how == "cancelled" else exports.expire_of_job, job.id)
    await making
    assert on_disk(tmp_path / "files") == []
    ended = await now(database, asked)
    assert (ended.state, ended.blob_key) == (ExportState.CANCELLED, None)


async def killed_after_storing(database: AnyDatabase, export_store: ExportStore) -> Export:
    """Somebody whose file is complete and who is no more."""
    claimed = await database.write(exports.claim, "elsewhere/1", HOME, uuid4(), timedelta(seconds=-1))
    assert claimed
    assert await Exporter(database, export_store, "elsewhere/1")._made(claimed)
    await database.write(run_out)
    return claimed


async def test_what_a_killed_maker_stored_goes_with_the_sweep(
    database: AnyDatabase, local: FolderBlobs, remote: Blobs
) -> None:
    job = await job_with_matches(database)
    await ask(database, job, home="")
    export_store = ExportStore(HOME, local, remote)
    lost = await killed_after_storing(database, export_store)
    assert await is_stored(remote, lost.blob_key)
    await database.write(exports.expire_of_job, job.id)
    await FileSweeper(database, export_store).sweep()
    assert not await is_stored(remote, lost.blob_key)


async def test_what_a_killed_maker_stored_goes_before_the_next_try(
    database: AnyDatabase, local: FolderBlobs, remote: Blobs
) -> None:
    job = await job_with_matches(database)
    (asked,) = await ask(database, job, home="")
    export_store = ExportStore(HOME, local, remote)
    lost = await killed_after_storing(database, export_store)
    await Exporter(database, export_store, "elsewhere/2").make_all()
    made = await now(database, asked)
    assert await is_stored(remote, made.blob_key)
    assert not await is_stored(remote, lost.blob_key)


async def test_a_file_that_is_to_go_while_it_is_brought_away_goes_from_there_too(
    database: AnyDatabase, local: FolderBlobs, remote: Blobs
) -> None:
    job = await job_with_matches(database)
    (asked,) = await ask(database, job)
    await Exporter(database, ExportStore(HOME, local), "elsewhere/1").make_all()
    made = await now(database, asked)

    def spool(tx: Tx) -> None:
        tx.run(update(t.exports).values(spooled=True))

    class Slow(ExportStore):
        async def send(self, key: str) -> None:
            content = [chunk async for chunk in self.local.open(key)]
            await database.write(exports.expire_of_job, job.id)
            await FileSweeper(database, ExportStore(HOME, local, remote))._remove()
            await remote.put(key, content)

    await database.write(spool)
    await FileSweeper(database, Slow(HOME, local, remote)).sweep()
    assert not await is_stored(remote, made.blob_key)


async def test_one_that_cannot_be_removed_keeps_no_other(
    database: AnyDatabase, tmp_path: Path, local: FolderBlobs
) -> None:
    job = await job_with_matches(database)
    stuck, _ = await ask(database, job, CSV, CSV)
    await Exporter(database, ExportStore(HOME, local), "elsewhere/1").make_all()

    class Stubborn(ExportStore):
        async def delete(self, export: Export) -> None:
            if export.id == stuck.id:
                raise BlobsAway("not now")
            await super().delete(export)

    await database.write(exports.expire_of_job, job.id)
    assert await FileSweeper(database, Stubborn(HOME, local)).sweep() == 1
    assert len(on_disk(tmp_path / "files")) == 1
