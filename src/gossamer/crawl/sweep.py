"""Regular cleanup: expired leases, lost nudges, finished pauses, orphaned reservations; monthly partitions.

A pause is finished when the job's last visit has been handed back; a reservation is orphaned when its
process has died.
"""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from gossamer.clock import Clock
from gossamer.db import postgres
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.logging import get_logger
from gossamer.model.alert import ALERTS, AlertKind
from gossamer.model.states import JobState
from gossamer.store import alerts, charges, jobs, reclaim, reservations, visits

_EVERY, _SOON = 3600.0, 60.0  # seconds between checks; after one that another process blocked
SURE_AFTER = 5.0  # minimum seconds that a lease must be seen expired until it counts as abandoned
LOST_NUDGE = 2  # lease times after which a visit that no worker has claimed is issued again,
LEAST = timedelta(seconds=10)  # but at least so long: a nudge may wait in a queue

log = get_logger(__name__)


class Sweeper:
    """Cleanup in passes of about a second; cheap when there is nothing to do."""

    def __init__(self, database: Database, clock: Clock, lease: timedelta) -> None:
        self._database = database
        self._clock = clock
        # When a suspended machine wakes, all leases have expired; live workers renew theirs within a quarter of one.
        self._sure_after = max(SURE_AFTER, lease.total_seconds() / 3)
        self._lost_after = max(LEAST, LOST_NUDGE * lease)
        self._expired: dict[UUID, tuple[UUID, float]] = {}  # visit -> token, first seen
        self._partitions = PartitionUpkeep(database, clock)
        self._orphans: dict[UUID, float] = {}  # reservations whose lease is gone, first seen

    async def sweep(self, *, alone: bool = False) -> None:
        """Clean up. `alone`: no worker is running here any more, so all orphaned reservations can be booked."""
        expired, untidy = await self._database.read(_survey, self._lost_after)
        gone = self._sure(expired)
        if gone or untidy:
            (await self._database.write(_tidy, gone, self._lost_after)).log()
        await self._partitions.look()
        orphans = await self._database.read(reservations.orphans)
        owed = orphans if alone else self._owed(orphans)
        if owed:
            log.warning("reservations.assumed", requests=await self._database.write(charges.assume, owed))

    def _sure(self, expired: dict[UUID, UUID]) -> dict[UUID, UUID]:
        """Return the leases seen expired for so long that a live holder would have renewed them."""
        now = self._clock.monotonic()
        self._expired = {
            visit: kept if (kept := self._expired.get(visit)) and kept[0] == token else (token, now)
            for visit, token in expired.items()
        }
        sure_before = now - self._sure_after
        if self._database.retries.reachable_for() < self._sure_after:
            return {}
        return {visit: token for visit, (token, since) in self._expired.items() if since <= sure_before}

    def _owed(self, orphans: list[UUID]) -> list[UUID]:
        """Return the reservations without a lease for a while; a visit just handed back may still release its own."""
        now = self._clock.monotonic()
        self._orphans = {one: self._orphans.get(one, now) for one in orphans}
        return [one for one, since in self._orphans.items() if since <= now - SURE_AFTER]


def _survey(tx: Tx, lost_after: timedelta) -> tuple[dict[UUID, UUID], bool]:
    """Return the expired leases, and whether there is anything else to clean up."""
    return visits.expired(tx), bool(jobs.ready_to_rest(tx) or reclaim.any_lost(tx, lost_after))


@dataclass(frozen=True, slots=True)
class _Swept:
    """Counts of what one pass changed."""

    taken_back: int = 0
    workers: tuple[str, ...] = ()  # that had held them
    lost_nudges: int = 0

    def log(self) -> None:
        """Log one line for each kind of change."""
        if self.taken_back:
            why = "their leases ran out"
            log.warning("visits.reclaimed", visits=self.taken_back, workers=",".join(self.workers), why=why)
        if self.lost_nudges:
            log.warning("nudges.lost", visits=self.lost_nudges)


def _tidy(tx: Tx, gone: dict[UUID, UUID], lost_after: timedelta) -> _Swept:
    workers = visits.workers_of(tx, gone)
    taken_back = reclaim.take_back(tx, gone, expired=True)
    lost = reclaim.lost_nudges(tx, lost_after)
    for identifier in jobs.ready_to_rest(tx):
        jobs.move(tx, identifier, JobState.PAUSED)
    return _Swept(taken_back, workers, lost)


class PartitionUpkeep:
    """Creation of the next monthly partitions, checked at the start and once an hour.

    Rows of other months go to a default partition, so no write fails for a missing one. Rows there raise an alert,
    since queries then read more than they need.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._looks_at = clock.monotonic()

    async def look(self) -> None:
        if not self._database.dialect.row_locks or self._clock.monotonic() < self._looks_at:
            return
        while made := await self._database.write(postgres.make_next_partition):
            log.info("partition.made", name=made)
        self._looks_at = self._clock.monotonic() + (_EVERY if made is None else _SOON)
        if made is None:
            await self._database.write(_tell)


def _tell(tx: Tx) -> None:
    """Raise or clear the alert about rows in the default partition, for each table."""
    found = postgres.strays(tx)
    for table in postgres.PARTITIONED:
        if table not in found:
            alerts.clear(tx, AlertKind.PARTITIONS, table)
        elif alerts.fire(tx, AlertKind.PARTITIONS, table, ALERTS[AlertKind.PARTITIONS].format(table=table)):
            log.error("partition.strays", table=table)
