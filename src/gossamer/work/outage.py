"""Beside the walks: says once that a server is away, and takes it back when it is there to stay."""

import asyncio
from collections.abc import Callable

from gossamer.clock import Clock
from gossamer.deliver.alerts import Post
from gossamer.model.alert import Alert, AlertKind
from gossamer.model.ids import new_id
from gossamer.model.sentences import ALERTS
from gossamer.store import alerts
from gossamer.store.database import Database

_REPEAT = 10.0  # seconds: another process may have taken back what still holds for this one
_CALM = 5.0  # seconds; longer than it takes all processes to find a server that came back
_NO_BLINK = 5.0  # seconds for which a database is away before somebody is told: longer than a restart of it takes


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


class DatabaseWatch:
    """One per instance. While there is no database to keep an alert it is told without a row, which comes later."""

    def __init__(self, database: Database, clock: Clock, post: Post, host: str) -> None:
        self._database = database
        self._clock = clock
        self._post = post
        self._host = host
        self._told = ""

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(1)

    async def look(self) -> None:
        away = self._database.patience.away_for()
        if away >= _NO_BLINK and not self._told:
            self._told = ALERTS[AlertKind.DATABASE].format(host=self._host, why=self._database.patience.why)
            now = self._clock.now()
            await self._post.tell_at_once(Alert(new_id(now), AlertKind.DATABASE, self._host, self._told, now))
        elif self._told and not away:
            await self._database.write(alerts.tell_of_past, AlertKind.DATABASE, self._host, self._told)
            self._told = ""
