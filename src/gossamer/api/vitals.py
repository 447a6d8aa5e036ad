"""State of the database and the workers, checked in the background so that health requests are answered at once."""

import asyncio
import time
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum

from gossamer.db.database import Database
from gossamer.db.health import database_time
from gossamer.errors import StorageAway
from gossamer.store.workers import WorkState, labour

_EVERY = 1.0  # seconds between two checks of the database
_PATIENCE = 3.0  # seconds in which it has to answer
_WORKERS_EVERY = 5  # checks of the database per check of the workers


class Workers(StrEnum):
    OK = "ok"
    IDLE = "idle"  # no job is running
    NONE = "none"  # visits wait, and no worker is running
    STALLED = "standing still"  # visits are leased by a process that has stopped reporting


class Vitals:
    """Results of the last check."""

    def __init__(self, database: Database, lease: timedelta, patience: float = _PATIENCE) -> None:
        self._database = database
        self._lease = lease
        self._patience = patience
        self._answered_at = time.monotonic()
        self._failure = ""
        self.workers = Workers.IDLE

    @property
    def storage(self) -> str:
        """Return `ok`, or what is wrong."""
        silent = time.monotonic() - self._answered_at
        if not self._failure and silent > _EVERY + 2 * self._patience:
            return f"away: no answer for {silent:.0f} seconds"
        return self._failure or "ok"

    @property
    def is_ready(self) -> bool:
        return self.storage == "ok"

    async def run(self) -> None:
        """Check repeatedly, until cancelled."""
        looks = 0
        while True:
            await self.look(workers=looks % _WORKERS_EVERY == 0)
            looks += 1
            await asyncio.sleep(_EVERY)

    async def look(self, *, workers: bool) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await self._database.read(database_time)
        except StorageAway:
            self._failure = "away"
            return
        except TimeoutError:
            self._failure = f"away: no answer within {self._patience:g} seconds"
            return
        self._answered_at, self._failure = time.monotonic(), ""
        if workers:
            with suppress(StorageAway):
                self.workers = _said_of(await self._database.read(labour, self._lease))


def _said_of(seen: WorkState) -> Workers:
    if not seen.jobs:
        return Workers.IDLE
    if seen.stalled:
        return Workers.STALLED
    return Workers.NONE if seen.waits and not seen.is_manned else Workers.OK
