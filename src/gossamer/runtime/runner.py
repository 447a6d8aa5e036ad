"""The runner of a data folder: starts one worker per shard, and runs the services for them and the database."""

import asyncio
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from gossamer.clock import SteadyClock
from gossamer.crawl.express import Express
from gossamer.crawl.sweep import Sweeper
from gossamer.db import schema
from gossamer.db.database import PostgresDatabase, SqliteDatabase
from gossamer.db.transactions import Tx
from gossamer.errors import GossamerError, StorageAway
from gossamer.logging import get_logger
from gossamer.model.alert import AlertKind
from gossamer.model.states import JobState
from gossamer.runtime import shutdown_note
from gossamer.runtime.alerts import AlertSender, Channel
from gossamer.runtime.anomalies import AnomalyGuard
from gossamer.runtime.auto_pause import DeadlineGuard, DiskGuard, LaneGuard, TrafficGuard
from gossamer.runtime.conclusion import Concluder
from gossamer.runtime.home_lock import RUNNER, RUNNER_KEPT, HomeLock
from gossamer.runtime.outage_alerts import DatabaseWatch, StorageWatch
from gossamer.runtime.process_pool import ProcessPool
from gossamer.runtime.services import Cleanup, ExportService, MachineWatch, WebhookService, Where, run_services
from gossamer.store import alerts, conclusions, counters, events, jobs, reclaim, robots, workers
from gossamer.store.named_slots import StoredSlots
from gossamer.webhooks import queries as webhook_queries

_ROWS, _CHECKPOINT = 1.0, 5.0  # seconds between checkpoints: if callers wait for pages, and otherwise

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RunnerLimits:
    """The operator's settings that the runner obeys."""

    processes: int
    lease: timedelta
    job_time: timedelta
    min_free_disk: int
    patience: timedelta  # with an unreachable database


class Runner:
    """Runs all running jobs of a data folder until stopped."""

    def __init__(
        self,
        database: SqliteDatabase | PostgresDatabase,
        clock: SteadyClock,
        lock: HomeLock,
        home: str,
        folder: Path,
        command: Sequence[str],
        output: Path,
        limits: RunnerLimits,
        channels: Sequence[Channel],
        cleanup: Cleanup,
        exports: ExportService,
        webhooks: WebhookService,
        concluder: Concluder,
        storage: StorageWatch | None = None,
        express: Express | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._home = home
        self._folder = folder
        self._limits = limits
        commands = [(*command, "--clock", repr(clock.offset))] * limits.processes
        # Then checkpoints are small: during a large one, no page that a caller waits for could be written.
        self._callers_wait = express is not None
        self._process_pool = ProcessPool(
            database, clock, home, commands, limits.lease, lock=lock, output=output, express=express
        )
        self._slots = StoredSlots(database)
        self._sweeper = Sweeper(database, clock, limits.lease)
        alert_sender = AlertSender(database, clock, channels)
        self._owners: list[object] = [
            self._process_pool,
            self._sweeper,
            DeadlineGuard(database, clock, limits.job_time),
            DiskGuard(database, _disks(database, folder), limits.min_free_disk),
            TrafficGuard(database),
            LaneGuard(database, clock),
            AnomalyGuard(database, clock),
            MachineWatch(database, home),
            alert_sender,
            cleanup,
            exports,
            webhooks,
            concluder,
        ]
        if storage:
            self._owners.append(storage)
        if isinstance(database, PostgresDatabase):
            self._owners.append(DatabaseWatch(database, clock, alert_sender, socket.gethostname()))

    async def start(self) -> bool:
        """Start, unless another data folder uses this database: the two could not space their requests together."""
        self._database.retries.limit = self._limits.patience
        if not await self._slots.enter(RUNNER, self._home, 1, RUNNER_KEPT):
            return False
        # Checked again under the slot: an upgrade may have happened since we opened the database.
        schema.refuse_unknown(await self._database.read(schema.revision), "The database")
        await self._database.write(_void, self._home)
        await self._database.write(workers.leave_home, self._home)
        await self._database.write(webhook_queries.void_leases, f"{self._home}/runner-")
        await self._database.write(reclaim.shorten_waits)
        await self._database.write(robots.forget_old)
        await self._database.write(_taken_up, self._home, os.getpid())
        self._process_pool.start()
        log.info("runner.started", processes=self._limits.processes, pid=os.getpid())
        return True

    async def look_after(self) -> None:
        """Run the services of a home for ever, and keep its place and the log file of SQLite small."""
        await run_services(Where.RUNNER, self._owners, self._keep_place(), self._tidy())

    async def _keep_place(self) -> None:
        while True:
            await asyncio.sleep(_CHECKPOINT)
            if not await self._slots.enter(RUNNER, self._home, 1, RUNNER_KEPT):
                raise GossamerError("Another data folder has begun to use this database while it could not be reached.")

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_ROWS if self._callers_wait else _CHECKPOINT)
            await self._database.tidy()

    async def stop(self, *, now: bool = False) -> None:
        """Let the children settle and hand back, or kill them; their visits are ready again either way."""
        await self._process_pool.stop(now=now)
        gave_up = self._database.retries.gave_up
        if gave_up:
            # The database cannot take the reason now, so it is kept in the data folder.
            shutdown_note.note(self._folder, gave_up, self._limits.patience, self._clock.now())
        self._database.retries.limit = timedelta()  # a shutdown does not wait long
        try:
            await self._database.write(_void, self._home)
            await self._database.write(workers.leave_home, self._home)
            await self._database.write(counters.take_running)
            await self._database.write(_left, self._home)
            await self._slots.leave(RUNNER, self._home)
            # Requests that were cut off are billed now, not at the next start.
            await self._sweeper.sweep(alone=True)
            await self._database.tidy()
        except StorageAway as error:
            # The next runner starts with the same cleanup.
            log.warning("runner.left", why=str(error))
        log.info("runner.stopped", pid=os.getpid())


def _void(tx: Tx, home: str) -> None:
    """Release all leases of this data folder, whose processes have ended."""
    reclaim.void_home(tx, home)
    conclusions.void_home(tx, home)


def _disks(database: SqliteDatabase | PostgresDatabase, folder: Path) -> tuple[Path, ...]:
    """Return the folders we write to: the data folder, and the folder of a database elsewhere."""
    return (folder, database.path.parent) if isinstance(database, SqliteDatabase) else (folder,)


def _taken_up(tx: Tx, home: str, pid: int) -> None:
    """Record in the history of every continued job when and by which process, which a crash leaves open."""
    alerts.clear(tx, AlertKind.WORKERS, home)
    for job in jobs.in_states(tx, JobState.RUNNING, JobState.PAUSING):
        events.add(tx, job.id, "job.taken_up", f"process {pid}", who=home)


def _left(tx: Tx, home: str) -> None:
    for job in jobs.in_states(tx, JobState.RUNNING):
        events.add(tx, job.id, "job.left", "the runner was stopped", who=home)
