"""Beside the walks: says once that the server behind the Gate is away, and takes it back when it is there to stay."""

from collections.abc import Callable

from gossamer.clock import Clock
from gossamer.model.alert import AlertKind
from gossamer.model.sentences import ALERTS
from gossamer.store import alerts
from gossamer.store.database import Database

_REPEAT = 10.0  # seconds: another process may have taken back what still holds for this one
_CALM = 5.0  # seconds; longer than it takes all processes to find a server that came back


class OutageWatch:
    """One per process. All processes of a home share one alert: it is one server."""

    def __init__(self, database: Database, clock: Clock, outage: Callable[[], str], home: str) -> None:
        self._database = database
        self._clock = clock
        self._outage = outage
        self._home = home
        self._there_since: float | None = clock.monotonic()
        self._fires_at = clock.monotonic()
        self._open = True  # for all we know: whoever was here before us may have left one

    async def look(self) -> None:
        """Once a second."""
        why, now = self._outage(), self._clock.monotonic()
        if why:
            self._there_since = None
            if now >= self._fires_at:
                self._fires_at = now + _REPEAT
                self._open = True
                sentence = ALERTS[AlertKind.REDIS].format(why=why)
                await self._database.write(alerts.fire, AlertKind.REDIS, self._home, sentence)
            return
        if self._there_since is None:
            self._there_since = self._fires_at = now
        if self._open and now - self._there_since >= _CALM:
            self._open = False
            await self._database.write(alerts.clear, AlertKind.REDIS, self._home)
