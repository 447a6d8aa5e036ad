"""Who keeps a cluster lets somebody else try when its own messages do not arrive."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import gettempdir

import pytest
from sqlalchemy import select

from gossamer.blobs.export_store import ExportStore
from gossamer.blobs.folder import FolderBlobs
from gossamer.clock import SystemClock
from gossamer.db.tables import places
from gossamer.dispatch.local import LocalDispatcher
from gossamer.model.worker import DESK_RULES, Worker
from gossamer.retention.service import FileSweeper, Retainer, Terms
from gossamer.runtime import cluster
from gossamer.runtime.alerts import AlertSender
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.runtime.cluster import ClusterLeader, Duties
from gossamer.runtime.issuing import Issuer
from gossamer.runtime.services import Cleanup
from gossamer.store import workers
from tests.conftest import AnyDatabase
from tests.jobs import make_job

NOW = datetime.now(UTC)
MINUTE = timedelta(minutes=1)


def leader_of(database: AnyDatabase, holder: str) -> tuple[ClusterLeader, LocalDispatcher]:
    clock, dispatcher = SystemClock(), LocalDispatcher()
    desk = BackgroundSlots(database, holder, DESK_RULES)
    files = FileSweeper(
        database, ExportStore("cluster", FolderBlobs(Path(gettempdir()) / "no-files", b"secret", clock))
    )
    cleanup = Cleanup(clock, Retainer(database, Terms(timedelta(days=90))), files, desk)
    duties = Duties(AlertSender(database, clock, ()), cleanup, {}, "", MINUTE, MINUTE * 600, desk)
    return ClusterLeader(
        database, database, clock, holder, Issuer(database, dispatcher, clock, holder, 10), duties
    ), dispatcher


async def test_one_whose_broker_is_away_gives_way(database: AnyDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_MUTE", 0.3)
    monkeypatch.setattr(cluster, "_RENEW", 0.1)
    await database.write(make_job, "a.test")
    await database.write(workers.beat, Worker("box/0-7", "box", 7, {"http": 5}, "1", NOW, NOW))
    mute, closed = leader_of(database, "mute")
    await closed.close()
    first = asyncio.create_task(mute.run())
    async with asyncio.timeout(30):
        while not await database.read(lambda tx: tx.run(select(places).where(places.c.holder == "mute")).first()):
            await asyncio.sleep(0.02)
    heard, dispatcher = leader_of(database, "heard")
    second = asyncio.create_task(heard.run())
    async with asyncio.timeout(8):  # before the place would have been free by itself
        assert len(await dispatcher.receive(5)) == 1
    for task in (first, second):
        task.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
