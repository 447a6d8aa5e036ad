"""The runner of an embedded home: starts one process per shard, looks after them and after the rows."""

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
from gossamer.runtime.alerts import Channel, Post
from gossamer.runtime.anomalies import AnomalyGuard
from gossamer.runtime.auto_pause import DeadlineGuard, DiskGuard, LaneGuard, TrafficGuard
from gossamer.runtime.concluding import Concluder
from gossamer.runtime.home_lock import HomeLock
from gossamer.runtime.outage_alerts import DatabaseWatch, StorageWatch
from gossamer.runtime.process_pool import ProcessPool
from gossamer.runtime.services import Cleanup, ExportService, MachineWatch, WebhookService, Where, run_services
from gossamer.store import alerts, conclusions, counters, events, jobs, reclaim, robots, workers
from gossamer.store.slots import StoredSlots
from gossamer.webhooks import queries as webhook_queries

_ROWS, _CHECKPOINT = 1.0, 5.0  # seconds between checkpoints: where somebody waits, and elsewhere
_PLACE, _PLACE_KEPT = "runner", timedelta(seconds=30)

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Rules:
    """The operator's settings the runner obeys."""

    processes: int
    lease: timedelta
    job_time: timedelta
    min_free_disk: int
    patience: timedelta  # with a database that is away


class Runner:
    """Works every running job of a home until stopped."""

    def __init__(
        self,
        database: SqliteDatabase | PostgresDatabase,
        clock: SteadyClock,
        lock: HomeLock,
        home: str,
        folder: Path,
        command: Sequence[str],
        output: Path,
        rules: Rules,
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
        self._rules = rules
        commands = [(*command, "--clock", repr(clock.offset))] * rules.processes
        # Then a little is written at a time: while the disk takes much of it, no page that was waited for is written.
        self._somebody_waits = express is not None
        self._process_pool = ProcessPool(
            database, clock, home, commands, rules.lease, lock=lock, output=output, express=express
        )
        self._places = StoredSlots(database)
        self._sweeper = Sweeper(database, clock, rules.lease)
        post = Post(database, clock, channels)
        self._owners: list[object] = [
            self._process_pool,
            self._sweeper,
            DeadlineGuard(database, clock, rules.job_time),
            DiskGuard(database, _disks(database, folder), rules.min_free_disk),
            TrafficGuard(database),
            LaneGuard(database, clock),
            AnomalyGuard(database, clock),
            MachineWatch(database, home),
            post,
            cleanup,
            exports,
            webhooks,
            concluder,
        ]
        if storage:
            self._owners.append(storage)
        if isinstance(database, PostgresDatabase):
            self._owners.append(DatabaseWatch(database, clock, post, socket.gethostname()))

    async def start(self) -> bool:
        """Start to work, unless another data folder works on this database: two could not space their requests."""
        self._database.retries.limit = self._rules.patience
        if not await self._places.enter(_PLACE, self._home, 1, _PLACE_KEPT):
            return False
        # Once more, now that nobody upgrades it any longer: we may have opened it just before.
        schema.refuse_unknown(await self._database.read(schema.revision), "The database")
        await self._database.write(_void, self._home)
        await self._database.write(workers.leave_home, self._home)
        await self._database.write(webhook_queries.void_leases, f"{self._home}/runner-")
        await self._database.write(reclaim.shorten_waits)
        await self._database.write(robots.forget_old)
        await self._database.write(_taken_up, self._home, os.getpid())
        self._process_pool.start()
        log.info("runner.started", processes=self._rules.processes, pid=os.getpid())
        return True

    async def look_after(self) -> None:
        """Run the services of a home for ever, and keep its place and the log file of SQLite small."""
        await run_services(Where.RUNNER, self._owners, self._keep_place(), self._tidy())

    async def _keep_place(self) -> None:
        while True:
            await asyncio.sleep(_CHECKPOINT)
            if not await self._places.enter(_PLACE, self._home, 1, _PLACE_KEPT):
                raise GossamerError("Another home has begun to work this database while we could not reach it.")

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_ROWS if self._somebody_waits else _CHECKPOINT)
            await self._database.tidy()

    async def stop(self, *, now: bool = False) -> None:
        """Let the children settle and hand back, or kill them; their visits are ready again either way."""
        await self._process_pool.stop(now=now)
        gave_up = self._database.retries.gave_up
        if gave_up:
            # Whoever noticed it first, the door or we ourselves: what is left to say is kept here.
            shutdown_note.note(self._folder, gave_up, self._rules.patience, self._clock.now())
        self._database.retries.limit = timedelta()  # somebody waits for us to end
        try:
            await self._database.write(_void, self._home)
            await self._database.write(workers.leave_home, self._home)
            await self._database.write(counters.take_running)
            await self._database.write(_left, self._home)
            await self._places.leave(_PLACE, self._home)
            # Calls that were cut off are in the bill when we are gone, and not when somebody happens to come again.
            await self._sweeper.sweep(alone=True)
            await self._database.tidy()
        except StorageAway as error:
            # Whoever works the home next begins with the same.
            log.warning("runner.left", why=str(error))
        log.info("runner.stopped", pid=os.getpid())


def _void(tx: Tx, home: str) -> None:
    """Whatever processes of the home had in hand, others may have: none of them lives."""
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
