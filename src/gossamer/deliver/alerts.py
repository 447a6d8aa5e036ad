"""Alerts on their way to people: each is told once, through every channel there is."""

from collections.abc import Sequence
from typing import Protocol

from gossamer.model.alert import Alert
from gossamer.model.ids import short
from gossamer.store import alerts
from gossamer.store.database import Database
from gossamer.telemetry import get_logger

log = get_logger(__name__)


class Channel(Protocol):
    """One way to reach a person."""

    async def send(self, alert: Alert) -> None:
        """Tell it. Raises if that did not work; then the alert is told again later."""
        ...


class LogChannel:
    """The log, which is always there."""

    async def send(self, alert: Alert) -> None:
        job = {"job": short(alert.job_id)} if alert.job_id else {}
        log.warning("alert", kind=str(alert.kind), sentence=alert.sentence, **job)


async def deliver(database: Database, channels: Sequence[Channel]) -> int:
    """Tell what has not been told; how many alerts that were."""
    waiting = await database.read(alerts.undelivered)
    for alert in waiting:
        for channel in channels:
            await channel.send(alert)
    if waiting:
        await database.write(alerts.delivered, [alert.id for alert in waiting])
    return len(waiting)
