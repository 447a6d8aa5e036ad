"""Backpressure: while results wait too long to be written, the jobs that bring them pause."""

from collections.abc import Set
from datetime import timedelta
from uuid import UUID

from gossamer.db.database import Database
from gossamer.logging import get_logger
from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.messages import PAUSES
from gossamer.settle.settler import Settler
from gossamer.store.jobs import pause_automatically

log = get_logger(__name__)


class Pressure:
    """Backpressure of one process: checks whether the settler is behind for too long.

    The settler holds its visits back immediately; this is for delays that go on.
    """

    def __init__(self, database: Database, settler: Settler, patience: timedelta) -> None:
        self._database = database
        self._settler = settler
        self._patience = patience.total_seconds()

    async def look(self, working: Set[UUID]) -> set[UUID]:
        """Once a second. The jobs it has paused, whose walks are to end."""
        # A database that is away is another matter: it is waited for, and what waits is written when it is back.
        lag = min(self._settler.lag(), self._database.patience.reachable_for())
        if lag <= self._patience:
            return set()
        log.error("settle.too_slow", seconds=round(lag))
        for job_id in sorted(working):
            why = PAUSES[AlertKind.BACKPRESSURE].format(seconds=round(lag), job=short(job_id))
            await self._database.write(pause_automatically, job_id, AlertKind.BACKPRESSURE, why)
        return set(working)
