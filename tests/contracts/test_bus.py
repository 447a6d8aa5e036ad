"""The embedded Bus keeps the contract and holds on to nothing it does not need."""

import gc

import pytest

from gossamer.bus import Bus
from gossamer.bus.local import LocalBus
from tests.contracts.bus import BusContract


class TestLocalBus(BusContract):
    @pytest.fixture
    def bus(self) -> Bus:
        return LocalBus()


async def test_a_slow_reader_keeps_the_newest() -> None:
    bus = LocalBus(unread=3)
    async with bus.subscribe("jobs") as news:
        for number in range(10):
            await bus.publish("jobs", {"number": number})
        assert [(await anext(news))["number"] for _ in range(3)] == [7, 8, 9]


async def test_what_arrived_before_closing_can_still_be_read() -> None:
    bus = LocalBus()
    news = bus.subscribe("jobs")
    await bus.publish("jobs", {"last": True})
    await bus.close()
    assert [message async for message in news] == [{"last": True}]


async def test_subscribing_to_a_closed_bus_ends_at_once() -> None:
    bus = LocalBus()
    await bus.close()
    assert [message async for message in bus.subscribe("jobs")] == []


async def test_a_reader_that_was_dropped_is_forgotten() -> None:
    bus = LocalBus()
    for _ in range(100):
        bus.subscribe("jobs")
    gc.collect()
    await bus.publish("jobs", {"heard": False})
    assert not bus._readers


async def test_what_is_not_json_fails_where_it_is_published() -> None:
    with pytest.raises(TypeError):
        await LocalBus().publish("jobs", {"thing": object()})  # type: ignore[dict-item]
