"""Retry transactions while their database does not answer."""

import asyncio
import errno
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from gossamer.clock import Clock
from gossamer.errors import StorageAway, StorageFull
from gossamer.logging import get_logger

AWAY_STATES = ("08", "53", "57P", "57014", "25P03")
"""SQLSTATEs of an unavailable database: connection, resources, shutdown or start, timeout, idle timeout."""

_NOT_OURS = ("attempt to write a readonly database", "unable to open database file")


def storage_away(error: DBAPIError, where: str) -> Exception:
    """Convert connection errors to our own; any other error is a bug and is returned unchanged."""
    text = str(error.orig)
    if text.startswith(("no such", "near ")):  # SQLite files mistakes in SQL under the same class
        return error
    if "disk is full" in text or getattr(error.orig, "sqlstate", "") == "53100":
        return StorageFull(f"The disk of the database {where} is full")
    if text in _NOT_OURS:
        return StorageAway(
            f"The database {where} cannot be written by you: {text}. Run gossamer as its owner, change the permissions "
            "of the file and its folder, or point GOSSAMER_HOME at a folder of your own."
        )
    state = str(getattr(error.orig, "sqlstate", None) or "")
    away = error.connection_invalidated or state.startswith(AWAY_STATES)
    if away or isinstance(error, (OperationalError, InterfaceError)):
        return StorageAway(f"The database {where} did not answer: {text}. 'gossamer doctor' says more.")
    return error


def log_away(error: OSError, where: str) -> StorageAway:
    """Convert an error of syncing a database's log."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"The disk of the database {where} is full")
    return StorageAway(f"The disk of the database {where} did not take it: {error}. 'gossamer doctor' says more.")


T = TypeVar("T")

_FIRST, _LONGEST = 0.1, 2.0  # seconds between tries

log = get_logger(__name__)

_SHORTER: ContextVar[timedelta | None] = ContextVar("patience", default=None)


@contextmanager
def no_longer_than(lasts: timedelta) -> Iterator[None]:
    """Limit retries inside the block to this time, because a caller waits, whatever the database's own limit."""
    former = _SHORTER.set(lasts)
    try:
        yield
    finally:
        _SHORTER.reset(former)


class Retries:
    """Retries while the database is down: none for a command a caller waits for, otherwise as configured."""

    def __init__(self, clock: Clock) -> None:
        self.limit = timedelta()
        self.gave_up: StorageAway | None = None  # the last error, if the retries were given up
        self._clock = clock
        self.why = ""  # reason of the last outage
        self._away_since: float | None = None
        self._back_at = clock.monotonic()

    @property
    def is_away(self) -> bool:
        return self._away_since is not None

    def away_for(self) -> float:
        """Return the seconds since the start of an outage; 0 without one."""
        return 0.0 if self._away_since is None else self._clock.monotonic() - self._away_since

    def reachable_for(self) -> float:
        """Return the seconds since the end of the last outage."""
        return 0.0 if self.is_away else self._clock.monotonic() - self._back_at

    async def run(self, once: Callable[[], Awaitable[T]]) -> T:
        """Retry until the call succeeds or the patience ends; then raise the error of the last try.

        A transaction is repeated if the response to its commit was lost, so every write must be safe to repeat.
        """
        began = self._clock.monotonic()
        pause = _FIRST
        while True:
            try:
                result = await once()
            except StorageAway as error:
                now = self._clock.monotonic()
                if self.limit and self._away_since is None:
                    self._away_since = now
                    self.why = str(error)
                    log.warning("database.away", why=self.why)
                # Read each time, because the limit may have been changed meanwhile.
                own = _SHORTER.get()
                lasts = self.limit if own is None else min(own, self.limit)
                if now + pause > began + lasts.total_seconds():
                    if own is None:
                        self.gave_up = error if self.limit else None
                    raise
            else:
                if self._away_since is not None:
                    self._back_at = self._clock.monotonic()
                    log.info("database.back", seconds=round(self._back_at - self._away_since, 1))
                    self._away_since = None
                return result
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST)
