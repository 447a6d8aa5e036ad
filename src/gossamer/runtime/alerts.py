"""Sending of alerts: each once through every channel."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.logging import get_logger
from gossamer.model.alert import Alert
from gossamer.model.ids import short
from gossamer.store import alerts

_AGAIN = 60.0  # seconds until a channel that failed is tried again

log = get_logger(__name__)


class Channel(Protocol):
    """A way to notify a person."""

    async def send(self, alert: Alert) -> None:
        """Send the alert. Raises if that failed; the alert is then sent again later."""
        ...


class LogChannel:
    """Writes alerts to the log, which always works."""

    async def send(self, alert: Alert) -> None:
        job = {"job": short(alert.job_id)} if alert.job_id else {}
        log.warning("alert", kind=str(alert.kind), sentence=alert.sentence, **job)


class AlertSender:
    """Sends undelivered alerts. A channel that fails does not block the others, and is retried later."""

    def __init__(self, database: Database, clock: Clock, channels: Sequence[Channel]) -> None:
        self._database = database
        self._clock = clock
        self._channels = channels
        self._told: set[tuple[UUID, int]] = set()  # alert and channel, until all channels have taken it
        self._not_before = clock.monotonic()

    async def deliver(self) -> int:
        """Deliver alerts; return the number that every channel has received by now."""
        if self._clock.monotonic() < self._not_before:
            return 0
        waiting = await self._database.read(alerts.undelivered)
        done = [alert.id for alert in waiting if await self._tell(alert)]
        if done:
            await self._database.write(alerts.delivered, done)
            self._told = {(alert, channel) for alert, channel in self._told if alert not in done}
        if len(done) < len(waiting):
            self._not_before = self._clock.monotonic() + _AGAIN
        return len(done)

    async def tell_at_once(self, alert: Alert) -> None:
        """Send an alert that has no row, because no database is available to store it."""
        await self._tell(alert)
        self._told = {(told, channel) for told, channel in self._told if told != alert.id}

    async def _tell(self, alert: Alert) -> bool:
        for number, channel in enumerate(self._channels):
            if (alert.id, number) in self._told:
                continue
            try:
                await channel.send(alert)
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log.warning("alert.not_told", kind=str(alert.kind), channel=type(channel).__name__, why=str(error))
            else:
                self._told.add((alert.id, number))
        return all((alert.id, number) in self._told for number in range(len(self._channels)))
