"""Alerts reach every channel once, and are tried again when a channel fails."""

import pytest

from gossamer.deliver.alerts import deliver
from gossamer.model.alert import Alert, AlertKind
from gossamer.store import alerts
from tests.conftest import AnyDatabase


class _Letters:
    """A channel that keeps what it is told, once it works."""

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken
        self.told: list[str] = []

    async def send(self, alert: Alert) -> None:
        if self.broken:
            raise ConnectionError("no post today")
        self.told.append(alert.sentence)


async def test_every_channel_is_told_once_and_in_order(database: AnyDatabase) -> None:
    await database.write(alerts.fire, AlertKind.DISK, "a", "First.")
    await database.write(alerts.fire, AlertKind.LANE, "b", "Second.")
    one, two = _Letters(), _Letters()
    assert await deliver(database, [one, two]) == 2
    assert await deliver(database, [one, two]) == 0
    assert one.told == two.told == ["First.", "Second."]


async def test_what_could_not_be_told_is_told_later(database: AnyDatabase) -> None:
    await database.write(alerts.fire, AlertKind.DISK, "a", "First.")
    channel = _Letters(broken=True)
    with pytest.raises(ConnectionError):
        await deliver(database, [channel])
    channel.broken = False
    assert await deliver(database, [channel]) == 1
    assert channel.told == ["First."]
