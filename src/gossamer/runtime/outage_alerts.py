"""Alerts about outages of servers and of our own network: fired once, cleared when the connection is stable again."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from gossamer.blobs.seam import BlobsAway
from gossamer.clock import Clock
from gossamer.crawl.own_network import OwnNetwork
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.model.alert import ALERTS, NO_NETWORK, Alert, AlertKind, no_network_sentence
from gossamer.model.ids import new_id
from gossamer.model.states import JobState
from gossamer.runtime.alerts import AlertSender
from gossamer.store import alerts, events, exports, jobs

_PROBE, _PROBE_AGAIN = 30.0, 5.0  # seconds between checks of object storage; during an outage
_SENT_WITHIN = timedelta(minutes=10)  # time after an outage within which waiting files are uploaded
_REPEAT = 10.0  # seconds: another process may have cleared the alert, while it still holds for this one
_CALM = 5.0  # seconds; longer than it takes all processes to notice that a server is back
_NO_BLINK = 5.0  # seconds without a database until an alert is raised: longer than a restart takes


class OutageWatch:
    """Alert about the Gate's server; one watch per process, one alert for all processes of a data folder."""

    def __init__(self, database: Database, clock: Clock, outage: Callable[[], str], home: str) -> None:
        self._database = database
        self._clock = clock
        self._outage = outage
        self._home = home
        self._there_since: float | None = clock.monotonic()
        self._began: float | None = None
        self._fires_at = clock.monotonic()
        self._open = True  # unknown: an earlier process may have left an alert

    async def look(self) -> None:
        """Check once a second."""
        why, now = self._outage(), self._clock.monotonic()
        if why:
            self._there_since = None
            self._began = now if self._began is None else self._began
            if now >= self._fires_at:
                self._fires_at = now + _REPEAT
                self._open = True
                sentence = ALERTS[AlertKind.REDIS].format(why=why)
                lasted = timedelta(seconds=now - self._began)
                await self._database.write(alerts.fire, AlertKind.REDIS, self._home, sentence, lasted=lasted)
            return
        if self._there_since is None:
            self._there_since = self._fires_at = now
        if now - self._there_since >= _CALM:
            self._began = None
        if self._open and now - self._there_since >= _CALM:
            self._open = False
            await self._database.write(alerts.clear, AlertKind.REDIS, self._home)


class DatabaseWatch:
    """Alerts of a database outage; one watch per instance.

    While no database is available to store an alert, it is sent without a row; the row is added later.
    """

    def __init__(self, database: Database, clock: Clock, alert_sender: AlertSender, host: str) -> None:
        self._database = database
        self._clock = clock
        self._alert_sender = alert_sender
        self._host = host
        self._told = ""
        self._began = 0.0

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(1)

    async def look(self) -> None:
        away, now = self._database.retries.away_for(), self._clock.monotonic()
        if away >= _NO_BLINK and not self._told:
            self._told = ALERTS[AlertKind.DATABASE].format(host=self._host, why=self._database.retries.why)
            self._began = now - away
            since = self._clock.now() - timedelta(seconds=away)
            await self._alert_sender.tell_at_once(
                Alert(new_id(since), AlertKind.DATABASE, self._host, self._told, since)
            )
        elif self._told and not away:
            lasted = timedelta(seconds=now - self._began)
            await self._database.write(alerts.tell_of_past, AlertKind.DATABASE, self._host, self._told, lasted)
            self._told = ""


class StorageWatch:
    """Alert about object storage; one watch per instance or runner. `probe` raises if it cannot be reached.

    A successful probe does not prove that uploads work, so files that have waited for a while raise the alert too.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        probe: Callable[[], Awaitable[None]],
        home: str,
        host: str,
    ) -> None:
        self._database = database
        self._clock = clock
        self._probe = probe
        self._home = home
        self._host = host
        self._began: float | None = None
        self._open = True  # unknown: an earlier process may have left an alert

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(_PROBE if self._began is None else _PROBE_AGAIN)

    async def look(self) -> None:
        why, now = await self._trouble(), self._clock.monotonic()
        if not why:
            self._began = None
            if self._open:
                self._open = False
                await self._database.write(alerts.clear, AlertKind.STORAGE, self._host)
        elif self._began is None:
            self._began = now
        elif now - self._began >= _NO_BLINK:
            self._open = True
            sentence = ALERTS[AlertKind.STORAGE].format(host=self._host, why=why)
            lasted = timedelta(seconds=now - self._began)
            await self._database.write(alerts.fire, AlertKind.STORAGE, self._host, sentence, lasted=lasted)

    async def _trouble(self) -> str:
        try:
            await self._probe()
        except BlobsAway as error:
            return str(error).rstrip(".")
        waiting = await self._database.read(exports.count_spooled, self._home, _SENT_WITHIN)
        return f"{waiting} {'file waits' if waiting == 1 else 'files wait'} to be sent there" if waiting else ""


class NetworkWatch:
    """Alert about our own network, with a note in every job that waits for it; one watch per process.

    `subject` is shared by all processes of a machine, and so is the alert. If other machines can do the work meanwhile,
    no job waits.
    """

    def __init__(
        self,
        database: Database,
        own_network: OwnNetwork,
        subject: str,
        host: str,
        others_can: Callable[[], Awaitable[bool]],
    ) -> None:
        self._database = database
        self._own_network = own_network
        self._subject = subject
        self._host = host
        self._others_can = others_can
        self._looks = 0
        self._said = False

    async def begin(self) -> None:
        """Clear the alert of an earlier process: a process that starts assumes that it has a network."""
        await self._database.write(_have_network, self._subject)

    async def look(self) -> bool:
        """Check once a second; return True if there is no network."""
        since = self._own_network.since
        if since is None:
            if self._said:
                self._said = False
                await self._database.write(_have_network, self._subject)
            return False
        # Only after another check: a process that found the network first may have cleared the alert.
        if self._looks != self._own_network.looks or not self._said:
            self._looks, self._said = self._own_network.looks, True
            waiting = not await self._others_can()
            time = f"{since.astimezone():%H:%M}"
            await self._database.write(_lack_network, self._subject, self._host, time, self._own_network.why, waiting)
        return True


def _lack_network(tx: Tx, subject: str, host: str, since: str, why: str, waiting: bool) -> None:
    sentence = ALERTS[AlertKind.NETWORK].format(since=since, host=host, why=why)
    alerts.fire(tx, AlertKind.NETWORK, subject, sentence)
    for job in jobs.in_states(tx, JobState.RUNNING) if waiting else ():
        if job.reason.startswith(NO_NETWORK):
            continue
        said = no_network_sentence(since)
        if jobs.set_note(tx, job.id, said):
            events.add(tx, job.id, "network.away", f"{said} ({host}: {why})")


def _have_network(tx: Tx, subject: str) -> None:
    alerts.clear(tx, AlertKind.NETWORK, subject)
    for job in jobs.in_states(tx, JobState.RUNNING):
        if job.reason.startswith(NO_NETWORK):
            jobs.withdraw_note(tx, job.id, job.reason)
            events.add(tx, job.id, "network.back", "sites can be reached again")
