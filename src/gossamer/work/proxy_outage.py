"""A proxy that is away fails no page: the visits wait for it, and where that takes too long, their jobs pause."""

from collections.abc import Set
from datetime import timedelta
from uuid import UUID

from gossamer.db.database import Database
from gossamer.fetch.outage import Outage
from gossamer.logging import get_logger
from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.messages import PAUSES
from gossamer.store.jobs import pause_automatically

log = get_logger(__name__)


class ProxyGuard:
    """Of one process, all of whose requests go through the same proxy."""

    def __init__(self, database: Database, outage: Outage, patience: timedelta) -> None:
        self._database = database
        self._outage = outage
        self._patience = patience.total_seconds()

    async def look(self, running: Set[UUID]) -> set[UUID]:
        """Once a second. The jobs it has paused, whose walks are to end."""
        lasted = self._outage.lasts()
        if not running:
            self._outage.end()  # another process has paused them: whoever resumes them has the whole time again
        if not running or lasted <= self._patience:
            return set()
        log.error("proxy.away", why=self._outage.why, seconds=round(lasted))
        for job_id in sorted(running):
            why = PAUSES[AlertKind.PROXY].format(why=self._outage.why, job=short(job_id))
            await self._database.write(pause_automatically, job_id, AlertKind.PROXY, why)
        self._outage.end()
        return set(running)
