"""The contract of the Bus: best effort, in order, and never in anybody's way."""
# ruff: noqa: S101 - these are tests

import asyncio
from typing import Any

import pytest

from gossamer.bus.seam import Bus, Subscription
from gossamer.model.record import Value

HANGING = 20.0


async def _heard(news: Subscription, count: int) -> list[Any]:
    async with asyncio.timeout(HANGING):
        return [await anext(news) for _ in range(count)]


class BusContract:
    """Fixture: `bus`, open. The class closes nothing that a test did not open."""

    async def test_what_is_published_after_entering_is_heard_in_order(self, bus: Bus) -> None:
        async with bus.subscribe("jobs") as news:
            for number in range(10):
                await bus.publish("jobs", {"number": number, "what": "naïve ✓"})
            assert await _heard(news, 10) == [{"number": number, "what": "naïve ✓"} for number in range(10)]

    async def test_everybody_hears_a_copy_of_their_own(self, bus: Bus) -> None:
        async with bus.subscribe("jobs") as one, bus.subscribe("jobs") as two:
            sites: list[Value] = [1, 2]
            await bus.publish("jobs", {"sites": sites})
            sites.append(3)
            (heard,) = await _heard(one, 1)
            heard["sites"].append(4)
            assert await _heard(two, 1) == [{"sites": [1, 2]}]

    async def test_other_topics_are_not_heard(self, bus: Bus) -> None:
        async with bus.subscribe("jobs") as news:
            await bus.publish("workers", {"of": "workers"})
            await bus.publish("jobs", {"of": "jobs"})
            assert await _heard(news, 1) == [{"of": "jobs"}]

    async def test_nobody_needs_to_listen(self, bus: Bus) -> None:
        await bus.publish("jobs", {"heard": False})
        async with bus.subscribe("jobs") as news:
            await bus.publish("jobs", {"heard": True})
            assert await _heard(news, 1) == [{"heard": True}]

    async def test_a_waiting_reader_is_woken(self, bus: Bus) -> None:
        async with bus.subscribe("jobs") as news:
            reading = asyncio.create_task(_heard(news, 1))
            await asyncio.sleep(0)
            await bus.publish("jobs", {"woken": True})
            assert await reading == [{"woken": True}]

    async def test_a_reader_that_never_reads_stops_nobody(self, bus: Bus) -> None:
        async with asyncio.timeout(HANGING), bus.subscribe("jobs") as slow:
            for number in range(5_000):
                await bus.publish("jobs", {"number": number})
            # It lost some, if at all, at the old end: the last one is there.
            async for message in slow:
                if message["number"] == 4_999:
                    break

    async def test_a_closed_subscription_ends(self, bus: Bus) -> None:
        news = bus.subscribe("jobs")
        async with news:
            pass
        await bus.publish("jobs", {"late": True})
        with pytest.raises(StopAsyncIteration):
            await _heard(news, 1)

    async def test_closing_the_bus_ends_the_waiting(self, bus: Bus) -> None:
        async with bus.subscribe("jobs") as news:
            reading = asyncio.create_task(_all(news))
            await asyncio.sleep(0)
            await bus.close()
            await bus.close()
            async with asyncio.timeout(HANGING):
                assert await reading == []
        await bus.publish("jobs", {"late": True})


async def _all(news: Subscription) -> list[Any]:
    return [message async for message in news]
