"""Create the partitions of the coming months on Postgres before they begin; not a part of the crawl path."""

from gossamer.clock import Clock
from gossamer.db import partitions
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.logging import get_logger
from gossamer.model.alert import AlertKind
from gossamer.model.messages import ALERTS
from gossamer.store import alerts

_EVERY, _SOON = 3600.0, 60.0  # seconds between looks, and if somebody was in the way

log = get_logger(__name__)


class Months:
    """One look an hour, and one at the start. There is a partition for rows of any other time, so nothing ever fails
    for want of one; that it is used is worth an alert, since queries then read more than they need."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._looks_at = clock.monotonic()

    async def look(self) -> None:
        if not self._database.dialect.row_locks or self._clock.monotonic() < self._looks_at:
            return
        while made := await self._database.write(partitions.make_next):
            log.info("partition.made", name=made)
        self._looks_at = self._clock.monotonic() + (_EVERY if made is None else _SOON)
        if made is None:
            await self._database.write(_tell)


def _tell(tx: Tx) -> None:
    """Of rows that belong to no month, table by table."""
    found = partitions.strays(tx)
    for table in partitions.PARTITIONED:
        if table not in found:
            alerts.clear(tx, AlertKind.PARTITIONS, table)
        elif alerts.fire(tx, AlertKind.PARTITIONS, table, ALERTS[AlertKind.PARTITIONS].format(table=table)):
            log.error("partition.strays", table=table)
