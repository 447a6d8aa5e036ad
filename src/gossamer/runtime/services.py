"""Services: everything that runs next to the crawl, and where it runs.

The runner of a data folder, the leader and the instances of a cluster, and every API server share this one list. Each
passes the objects its services belong to. `run_services` refuses to start if one is missing, or if one has no service
there, so a service that is added here runs everywhere it is declared for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from enum import Flag, auto
from functools import partial
from typing import Any, Generic, TypeVar

from gossamer.clock import Clock
from gossamer.crawl.completion import Closer
from gossamer.crawl.sweep import Sweeper
from gossamer.db import health
from gossamer.db.database import Database, PostgresDatabase
from gossamer.db.transactions import Tx
from gossamer.logging import get_logger
from gossamer.model.alert import ALERTS, AlertKind
from gossamer.model.worker import DeskKind
from gossamer.retention.service import FileSweeper, Retainer
from gossamer.runtime.alerts import AlertSender
from gossamer.runtime.anomalies import AnomalyGuard
from gossamer.runtime.auto_pause import DeadlineGuard, DiskGuard, LaneGuard, TrafficGuard
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.runtime.conclusion import Concluder
from gossamer.runtime.exporting import Exporter
from gossamer.runtime.housekeeping import FileMaker, Housekeeper
from gossamer.runtime.outage_alerts import DatabaseWatch, StorageWatch
from gossamer.runtime.process_pool import ProcessPool
from gossamer.store import alerts, workers
from gossamer.webhooks.sender import Sender

NEARLY_ALL = 0.8  # of the database's connections

_FORGET = timedelta(minutes=10)  # of silence of a worker
_LOST = timedelta(days=1)  # after which the alert about a lost machine is cleared

T = TypeVar("T")

log = get_logger(__name__)


class Where(Flag):
    """The processes services run in."""

    RUNNER = auto()  # the runner of a data folder
    FIRST_WORKER = auto()  # the first worker process of a data folder
    LEADER = auto()  # the one instance of a cluster that issues visits
    INSTANCE = auto()  # every instance of a cluster
    SERVER = auto()  # every API server


@dataclass(frozen=True, slots=True)
class Service(Generic[T]):
    """A service in its own task: `run` is called every `every` seconds, or once if it never returns."""

    name: str
    where: Where
    owner: type[T]
    run: Callable[[T], Awaitable[object]]
    every: float | None = None
    optional: bool = False  # runs only if a setting or a lane requires it


class Cleanup:
    """Retention and the removal of expired files, each pass in a background slot."""

    def __init__(self, clock: Clock, retainer: Retainer, files: FileSweeper, background_slots: BackgroundSlots) -> None:
        self._clock = clock
        self._retainer = retainer
        self._files = files
        self._slot = partial(background_slots.hold, DeskKind.CLEANUP)

    async def retain(self) -> None:
        await self._retainer.run(self._clock.now, self._slot)

    async def sweep_files(self) -> None:
        await self._files.run(self._slot)


@dataclass(frozen=True, slots=True)
class ExportService:
    """Export files, made on a database connection that is opened for them."""

    open: Callable[[], AbstractAsyncContextManager[Exporter]]

    async def run(self) -> None:
        async with self.open() as exporter:
            await exporter.run()


@dataclass(frozen=True, slots=True)
class WebhookService:
    """Sending of webhook messages."""

    open: Callable[[], AbstractAsyncContextManager[Sender]]

    async def run(self) -> None:
        async with self.open() as sender:
            await sender.run()


class MachineWatch:
    """Alerts about lost machines and scarce connections, and the removal of rows of dead workers."""

    def __init__(self, database: Database, subject: str) -> None:
        """`subject` names the data folder or cluster that uses the database."""
        self._database = database
        self._subject = subject

    async def tell_of_lost(self) -> None:
        await self._database.write(tell_of_lost)

    async def forget_silent(self) -> None:
        if await self._database.read(workers.any_silent, _FORGET):
            await self._database.write(workers.forget_silent, _FORGET)

    async def count_connections(self) -> None:
        if isinstance(self._database, PostgresDatabase):
            await self._database.write(count_connections, self._subject)


def tell_of_lost(tx: Tx, forget: timedelta = _LOST) -> None:
    """Fire an alert for every machine that vanished. It holds until the machine is back, or for a day."""
    lost, living = workers.hosts(tx)
    told = {one.subject: one.fired_at for one in alerts.held_of_kind(tx, AlertKind.INSTANCE)}
    for host, since in told.items():
        if host in living or since < tx.now - forget:
            alerts.clear(tx, AlertKind.INSTANCE, host)
    for one in lost:
        if one.host in told:
            continue
        had = "1 working process" if one.workers == 1 else f"{one.workers} working processes"
        why = ALERTS[AlertKind.INSTANCE].format(host=one.host, since=f"{one.heard:%Y-%m-%d %H:%M:%S}", workers=had)
        if alerts.fire(tx, AlertKind.INSTANCE, one.host, why, lasted=tx.now - one.heard):
            log.error("instance.lost", host=one.host, workers=one.workers)


def count_connections(tx: Tx, subject: str, nearly_all: float = NEARLY_ALL) -> None:
    """Raise an alert before all connections of the database are in use."""
    server = health.server(tx)
    if server is None:
        return
    if server.connections > server.most_connections * nearly_all:
        figures: dict[str, int] = {"open": server.connections, "most": server.most_connections}
        if alerts.fire(tx, AlertKind.CONNECTIONS, subject, ALERTS[AlertKind.CONNECTIONS].format(**figures)):
            log.error("connections.nearly_all", **figures)
    else:
        for one in alerts.held_of_kind(tx, AlertKind.CONNECTIONS):
            alerts.clear(tx, AlertKind.CONNECTIONS, one.subject)


_ANYWHERE = Where.RUNNER | Where.LEADER  # one process per database
_EACH_MACHINE = Where.RUNNER | Where.INSTANCE

SERVICES: Sequence[Service[Any]] = (
    # Processes and rows.
    Service("processes", _EACH_MACHINE, ProcessPool, ProcessPool.look, every=0.5),
    Service("sweep", _ANYWHERE, Sweeper, Sweeper.sweep, every=1.0),
    Service("job ends", Where.FIRST_WORKER | Where.LEADER, Closer, Closer.look, every=0.2),
    # Guards: each pauses jobs, or fires an alert, for one reason.
    Service("deadline", _ANYWHERE, DeadlineGuard, DeadlineGuard.look, every=1.0),
    # A full disk of one machine is no reason to pause the jobs of a whole cluster.
    Service("disk", Where.RUNNER, DiskGuard, DiskGuard.look, every=1.0),
    Service("traffic", _ANYWHERE, TrafficGuard, TrafficGuard.look, every=1.0),
    Service("lanes", _ANYWHERE, LaneGuard, LaneGuard.look, every=1.0),
    Service("anomalies", _ANYWHERE, AnomalyGuard, AnomalyGuard.look, every=1.0),
    Service("connections", _ANYWHERE, MachineWatch, MachineWatch.count_connections, every=5.0),
    # A data folder is on one machine, where its runner is alive.
    Service("lost machines", Where.LEADER, MachineWatch, MachineWatch.tell_of_lost, every=5.0),
    Service("silent workers", _ANYWHERE, MachineWatch, MachineWatch.forget_silent, every=5.0),
    Service("storage", _EACH_MACHINE, StorageWatch, StorageWatch.run, optional=True),
    # Not for SQLite, which is never away.
    Service("database", _EACH_MACHINE, DatabaseWatch, DatabaseWatch.run, optional=True),
    Service("alerts", _ANYWHERE, AlertSender, AlertSender.deliver, every=1.0),
    # Background work.
    Service("conclusions", _EACH_MACHINE, Concluder, Concluder.run, optional=True),
    Service("exports", _EACH_MACHINE, ExportService, ExportService.run, optional=True),
    Service("webhooks", _EACH_MACHINE, WebhookService, WebhookService.run, optional=True),
    Service("expired files", _EACH_MACHINE, Cleanup, Cleanup.sweep_files),
    Service("retention", _ANYWHERE, Cleanup, Cleanup.retain),
    Service("bills", Where.SERVER, Housekeeper, Housekeeper.run),
    Service("exports without a worker", Where.SERVER, FileMaker, FileMaker.run),
)


def services_of(where: Where) -> list[Service[Any]]:
    return [service for service in SERVICES if where in service.where]


async def run_services(where: Where, owners: Sequence[object], *more: Coroutine[Any, Any, None]) -> None:
    """Run all services of a place, and `more` next to them, until one of them ends or fails."""
    by_type = {type(owner): owner for owner in owners}
    services = [one for one in services_of(where) if not (one.optional and one.owner not in by_type)]
    missing = sorted({one.owner.__name__ for one in services} - {kind.__name__ for kind in by_type})
    idle = sorted({kind.__name__ for kind in by_type} - {one.owner.__name__ for one in services})
    if missing or idle:
        for one in more:
            one.close()
        raise ValueError(f"services of {where}: missing {missing}, without a service {idle}")
    log.debug("services.started", where=where.name, services=[one.name for one in services])
    tasks = [asyncio.create_task(_run(one, by_type[one.owner]), name=one.name) for one in services]
    tasks += [asyncio.create_task(one) for one in more]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()


async def _run(service: Service[Any], owner: object) -> None:
    if service.every is None:
        await service.run(owner)
        return
    while True:
        await service.run(owner)
        await asyncio.sleep(service.every)
