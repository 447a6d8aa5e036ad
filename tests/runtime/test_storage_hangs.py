"""A storage that accepts and never answers takes nobody's time but that of whoever deals with files."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from gossamer.app import App, open_app
from gossamer.blobs import objects
from gossamer.blobs.seam import BlobsAway
from gossamer.db import tables as t
from gossamer.db.transactions import Tx
from gossamer.model.export import Export, ExportState
from gossamer.retention import service as retention_service
from gossamer.retention.service import FileSweeper
from gossamer.runtime import process_pool as running
from gossamer.settings import Settings
from gossamer.store import exports
from tests.runtime.test_exporting import ask, job_with_matches, now


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with socket.socket() as storage:
        storage.bind(("127.0.0.1", 0))
        storage.listen(50)
        yield Settings(
            home=tmp_path / "home",
            storage_url="s3://bucket/prefix",
            storage_endpoint=f"http://127.0.0.1:{storage.getsockname()[1]}",
            storage_access_key="key",
            storage_secret_key="secret",
            storage_region="us-east-1",
        )


async def due(app: App) -> Export:
    """A file in object storage that has been kept long enough."""
    job = await job_with_matches(app.database)
    (asked,) = await ask(app.database, job, home="")

    def age(tx: Tx) -> None:
        values = {"state": ExportState.DONE, "blob_key": "exports/1/2/results.csv", "expires_at": tx.now}
        tx.run(update(t.exports).values(**values))
        tx.run(update(t.jobs).values(state="paused"))

    await app.database.write(age)
    return asked


async def test_the_runner_looks_after_its_children(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    replace_dead = running.ProcessPool._replace_dead

    async def counted(process_pool: running.ProcessPool) -> None:
        nonlocal looks
        looks += 1
        await replace_dead(process_pool)

    monkeypatch.setattr(running.ProcessPool, "_replace_dead", counted)
    async with open_app(settings) as app:
        await due(app)
        assert app.lock.take()
        runner = app.runner(1)
        assert await runner.start()
        looking = asyncio.create_task(runner.look_after())
        async with asyncio.timeout(60):
            while looks < 3:
                await asyncio.sleep(0.1)
        looking.cancel()
        async with asyncio.timeout(objects._LEAVE + 3):
            await asyncio.wait([looking])
        await runner.stop(now=True)
        app.lock.release()


async def test_each_call_has_an_end(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "_ANSWER", 0.3)
    async with open_app(settings) as app:
        remote = app.export_store().remote
        assert remote
        async with asyncio.timeout(5):
            with pytest.raises(BlobsAway, match="has not answered"):
                await remote.delete("a/b")
            with pytest.raises(BlobsAway, match="has not answered"):
                await remote.put("a/b", [b"x"])


@pytest.mark.parametrize("size", [objects.PART // 2, 3 * objects.PART])
async def test_a_large_file_is_given_up_when_none_of_it_is_taken(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(objects, "_ANSWER", 0.2)
    monkeypatch.setattr(objects, "_SLOWEST", 100 * objects.PART)
    async with open_app(settings) as app:
        remote = app.export_store().remote
        assert remote
        async with asyncio.timeout(5):
            with pytest.raises(BlobsAway, match=r"has not answered|has taken nothing"):
                await remote.put("a/b", [bytes(size)])


def test_no_file_of_one_request_is_waited_for_longer_than_a_minute() -> None:
    assert objects._patience(1) < 16
    assert objects._patience(objects.PART) < 60


async def test_who_deletes_waits_a_moment_and_hears_what_is_left(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_service, "_WAITED_FOR", 0.3)
    monkeypatch.setattr(objects, "_LEAVE", 0.3)
    async with open_app(settings) as app:
        asked = await due(app)
        async with asyncio.timeout(5):
            assert await FileSweeper(app.database, app.export_store()).remove_now() == 1
        assert (await now(app.database, asked)).blob_key, "the next sweep knows of it"


async def test_stopping_does_not_wait_for_it(settings: Settings) -> None:
    async with open_app(settings) as app:
        job = await job_with_matches(app.database)
        (asked,) = await ask(app.database, job, home="")
        async with app.exporter("test") as exporter:
            making = asyncio.create_task(exporter.make_next())
            while (await now(app.database, asked)).state is not ExportState.RUNNING:
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.5)  # now it is being sent
            making.cancel()
            async with asyncio.timeout(objects._LEAVE + 3):
                await asyncio.wait([making])
        assert (await now(app.database, asked)).state is ExportState.PENDING
        assert await app.database.read(exports.any_open, app.home_name)
