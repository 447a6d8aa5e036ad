"""Automatic pauses of jobs.

Reasons: a job ran too long, caused too much traffic, or has no workers; the disk is nearly full; results wait too long
to be written; the proxy is down.

Each guard checks regularly and acts in one transaction: the pause, its reason and the alert.
"""

import shutil
from collections.abc import Sequence, Set
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.fetch.outage import Outage
from gossamer.logging import get_logger
from gossamer.model.alert import PAUSES, AlertKind
from gossamer.model.ids import short
from gossamer.model.money import shown
from gossamer.model.states import JobState
from gossamer.settle.settler import Settler
from gossamer.store import budgets, jobs, visits
from gossamer.store.jobs import pause_automatically

_MEGABYTE = 1_000_000

log = get_logger(__name__)


class DeadlineGuard:
    """Pauses a job that has run for `limit` (48 hours unless configured) since it was last started.

    It stays paused until it is resumed.
    """

    def __init__(self, database: Database, clock: Clock, limit: timedelta, every: timedelta = timedelta(seconds=30)):
        self._database = database
        self._clock = clock
        self._limit = limit
        self._every = min(every, limit / 4)
        self._counted = clock.monotonic()

    async def look(self) -> None:
        worked = timedelta(seconds=self._clock.monotonic() - self._counted)
        if worked < self._every:
            return
        self._counted = self._clock.monotonic()
        if not await self._database.read(jobs.any_running):
            return
        # Time without checks (a suspended laptop, a database that was away) is not working time.
        await self._database.write(_count_time, min(worked, 2 * self._every), self._limit)


def _count_time(tx: Tx, worked: timedelta, limit: timedelta) -> None:
    for job_id in jobs.count_working_time(tx, worked, limit):
        why = PAUSES[AlertKind.DEADLINE].format(time=_spoken(limit), job=short(job_id))
        pause_automatically(tx, job_id, AlertKind.DEADLINE, why)


def _spoken(time: timedelta) -> str:
    """Return a time in hours, like `48 hours`, or in smaller units below one hour."""
    hours = time / timedelta(hours=1)
    if hours >= 1:
        return f"{hours:g} hours" if hours != 1 else "1 hour"
    return f"{time / timedelta(minutes=1):g} minutes" if hours >= 1 / 60 else f"{time.total_seconds():g} seconds"


class DiskGuard:
    """Pauses all jobs before the disk is full."""

    def __init__(self, database: Database, folders: Sequence[Path], least: int) -> None:
        self._database = database
        self._folders = folders
        self._least = least

    async def look(self) -> None:
        free, folder = min((shutil.disk_usage(folder).free, folder) for folder in self._folders)
        if free < self._least and await self._database.read(jobs.any_running):
            log.error("disk.nearly_full", free=free, folder=str(folder))
            await self._database.write(_pause_all, free, self._least, str(folder))


def _pause_all(tx: Tx, free: int, least: int, folder: str) -> None:
    figures = {"free": f"{free // _MEGABYTE:,}", "least": f"{least // _MEGABYTE:,}", "home": folder}
    for job in jobs.in_states(tx, JobState.RUNNING):
        why = PAUSES[AlertKind.DISK].format(**figures, job=short(job.id))
        pause_automatically(tx, job.id, AlertKind.DISK, why)


class TrafficGuard:
    """Pauses a job that has reached its traffic limit; requests in flight may exceed it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self) -> None:
        if await self._database.read(budgets.over_traffic):
            await self._database.write(_pause_over_traffic)


def _pause_over_traffic(tx: Tx) -> None:
    for job_id, traffic in budgets.over_traffic(tx).items():
        pause_automatically(
            tx, job_id, AlertKind.BUDGET, PAUSES[AlertKind.BUDGET].format(used=shown("traffic", traffic))
        )


class LaneGuard:
    """Pauses jobs whose visits have long been due in a lane without workers."""

    def __init__(self, database: Database, clock: Clock, patience: timedelta = timedelta(minutes=10)) -> None:
        self._database = database
        self._clock = clock
        self._patience = patience
        self._looked = clock.monotonic()

    async def look(self) -> None:
        if self._clock.monotonic() - self._looked < self._patience.total_seconds() / 10:
            return
        self._looked = self._clock.monotonic()
        if await self._database.read(visits.deserted, self._patience):
            await self._database.write(_pause_deserted, self._patience)


def _pause_deserted(tx: Tx, patience: timedelta) -> None:
    for job_id, lane in visits.deserted(tx, patience):
        minutes = patience // timedelta(minutes=1)
        why = PAUSES[AlertKind.LANE].format(lane=lane, minutes=minutes, job=short(job_id))
        pause_automatically(tx, job_id, AlertKind.LANE, why)


class BackpressureGuard:
    """Backpressure of one process: checks whether the settler is behind for too long.

    The settler holds its visits back immediately; this is for delays that go on.
    """

    def __init__(self, database: Database, settler: Settler, patience: timedelta) -> None:
        self._database = database
        self._settler = settler
        self._patience = patience.total_seconds()

    async def look(self, working: Set[UUID]) -> set[UUID]:
        """Check once a second; return the jobs that were paused, whose crawls must stop."""
        # Time without a database does not count: results are written when it is back.
        lag = min(self._settler.lag(), self._database.retries.reachable_for())
        if lag <= self._patience:
            return set()
        log.error("settle.too_slow", seconds=round(lag))
        for job_id in sorted(working):
            why = PAUSES[AlertKind.BACKPRESSURE].format(seconds=round(lag), job=short(job_id))
            await self._database.write(pause_automatically, job_id, AlertKind.BACKPRESSURE, why)
        return set(working)


class ProxyGuard:
    """Pauses jobs if the proxy, which all requests of a process use, is down for too long."""

    def __init__(self, database: Database, outage: Outage, patience: timedelta) -> None:
        self._database = database
        self._outage = outage
        self._patience = patience.total_seconds()

    async def look(self, running: Set[UUID]) -> set[UUID]:
        """Check once a second; return the jobs that were paused, whose crawls must stop."""
        lasted = self._outage.lasts()
        if not running:
            self._outage.end()  # another process has paused them: after a resume the full time counts again
        if not running or lasted <= self._patience:
            return set()
        log.error("proxy.away", why=self._outage.why, seconds=round(lasted))
        for job_id in sorted(running):
            why = PAUSES[AlertKind.PROXY].format(why=self._outage.why, job=short(job_id))
            await self._database.write(pause_automatically, job_id, AlertKind.PROXY, why)
        self._outage.end()
        return set(running)
