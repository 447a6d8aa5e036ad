"""How long a transaction is tried again while its database is away."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import TypeVar

from gossamer.clock import Clock
from gossamer.errors import StorageAway
from gossamer.telemetry import get_logger

T = TypeVar("T")

_FIRST, _LONGEST = 0.1, 2.0  # seconds between tries

log = get_logger(__name__)

_SHORTER: ContextVar[timedelta | None] = ContextVar("patience", default=None)


@contextmanager
def no_longer_than(lasts: timedelta) -> Iterator[None]:
    """Inside, patience ends after so long: somebody waits, whatever else the same database is lent to."""
    former = _SHORTER.set(lasts)
    try:
        yield
    finally:
        _SHORTER.reset(former)


class Patience:
    """None for a command that somebody waits for; as long as the operator says for what works on its own."""

    def __init__(self, clock: Clock) -> None:
        self.lasts = timedelta()
        self.gave_up: StorageAway | None = None  # with what it ended, if it did
        self._clock = clock
        self.why = ""  # it was last found to be away
        self._away_since: float | None = None
        self._back_at = clock.monotonic()

    @property
    def is_away(self) -> bool:
        return self._away_since is not None

    def away_for(self) -> float:
        """Seconds since it was found to be; nothing while it is there."""
        return 0.0 if self._away_since is None else self._clock.monotonic() - self._away_since

    def reachable_for(self) -> float:
        """Seconds since the database was last found to be away."""
        return 0.0 if self.is_away else self._clock.monotonic() - self._back_at

    async def lend(self, once: Callable[[], Awaitable[T]]) -> T:
        """Try until it works or patience ends; the error of the last try is the answer then.

        A transaction whose commit was not heard of is made again, so whatever is written must stand being said twice.
        """
        began = self._clock.monotonic()
        pause = _FIRST
        while True:
            try:
                result = await once()
            except StorageAway as error:
                now = self._clock.monotonic()
                if self.lasts and self._away_since is None:
                    self._away_since = now
                    self.why = str(error)
                    log.warning("database.away", why=self.why)
                # Asked for anew each time: somebody may have lost it meanwhile.
                own = _SHORTER.get()
                lasts = self.lasts if own is None else min(own, self.lasts)
                if now + pause > began + lasts.total_seconds():
                    if own is None:
                        self.gave_up = error if self.lasts else None
                    raise
            else:
                if self._away_since is not None:
                    self._back_at = self._clock.monotonic()
                    log.info("database.back", seconds=round(self._back_at - self._away_since, 1))
                    self._away_since = None
                return result
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST)
