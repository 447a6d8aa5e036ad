"""Alerts reach every channel once, and are tried again when a channel fails."""

from gossamer.clock import FrozenClock
from gossamer.model.alert import Alert, AlertKind
from gossamer.runtime.alerts import AlertSender
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
    post = AlertSender(database, FrozenClock(), [one, two])
    assert await post.deliver() == 2
    assert await post.deliver() == 0
    assert one.told == two.told == ["First.", "Second."]


async def test_a_channel_that_fails_is_told_later_and_nobody_else_twice(database: AnyDatabase) -> None:
    await database.write(alerts.fire, AlertKind.DISK, "a", "First.")
    clock, good, bad = FrozenClock(), _Letters(), _Letters(broken=True)
    post = AlertSender(database, clock, [bad, good])
    assert await post.deliver() == 0
    bad.broken = False
    assert await post.deliver() == 0  # not at once: whatever is wrong with it takes its time
    clock.advance(61)
    assert await post.deliver() == 1
    assert (good.told, bad.told) == (["First."], ["First."])
