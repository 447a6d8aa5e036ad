"""The Bus in Redis keeps the contract over clients, and finds back after Redis was away."""

import asyncio
import logging
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from gossamer.bus import Bus
from gossamer.bus.redis import RedisBus
from tests.contracts.bus import BusContract
from tests.servers import RedisServer, redis

_numbers = count(1)


@pytest.fixture
def prefix() -> str:
    return f"test-bus-{next(_numbers)}"


@pytest.fixture
async def redis_bus(redis_server: RedisServer, prefix: str) -> AsyncIterator[RedisBus]:
    bus = RedisBus(redis_server.url, prefix=prefix)
    yield bus
    await bus.close()


class TestRedisBus(BusContract):
    @pytest.fixture
    def bus(self, redis_bus: RedisBus) -> Bus:
        return redis_bus


async def test_another_process_hears_it_and_another_prefix_does_not(
    redis_server: RedisServer, redis_bus: RedisBus, prefix: str
) -> None:
    same, other = RedisBus(redis_server.url, prefix=prefix), RedisBus(redis_server.url, prefix=f"{prefix}-other")
    async with asyncio.timeout(10), redis_bus.subscribe("jobs") as news:
        await other.publish("jobs", {"from": "other"})
        await same.publish("jobs", {"from": "same"})
        assert await anext(news) == {"from": "same"}
    for bus in (same, other):
        await bus.close()


async def test_without_entering_the_first_message_asked_for_begins_it(redis_bus: RedisBus) -> None:
    news = redis_bus.subscribe("jobs")
    async with asyncio.timeout(10):
        reading = asyncio.create_task(anext(news))
        while not reading.done():
            await redis_bus.publish("jobs", {"heard": True})
            await asyncio.sleep(0.01)
        assert await reading == {"heard": True}


async def test_nobody_is_told_what_nobody_listens_to(
    redis_server: RedisServer, redis_bus: RedisBus, prefix: str
) -> None:
    async with redis_bus.subscribe("jobs"):
        assert f"{prefix}:bus:jobs" in redis_server.tell("PUBSUB", "CHANNELS")
    async with asyncio.timeout(10):
        while f"{prefix}:bus:jobs" in redis_server.tell("PUBSUB", "CHANNELS"):
            await redis_bus.publish("jobs", {"heard": False})
            await asyncio.sleep(0.01)
    async with asyncio.timeout(10), redis_bus.subscribe("jobs") as news:
        await redis_bus.publish("jobs", {"heard": True})
        assert await anext(news) == {"heard": True}


async def test_many_may_join_at_once(redis_bus: RedisBus) -> None:
    readers = {topic: redis_bus.subscribe(topic) for topic in ("jobs", "workers", "sites")}
    async with asyncio.timeout(10):
        hearing = [asyncio.create_task(anext(reader)) for reader in readers.values()]
        while not all(task.done() for task in hearing):
            for topic in readers:
                await redis_bus.publish(topic, {"of": topic})
            await asyncio.sleep(0.01)
        assert [task.result() for task in hearing] == [{"of": topic} for topic in readers]


async def test_it_can_be_closed_at_any_moment(redis_server: RedisServer) -> None:
    async with asyncio.timeout(20):
        for turns in range(40):
            bus = RedisBus(redis_server.url)
            await bus.publish("jobs", {"turns": turns})
            for _ in range(turns):
                await asyncio.sleep(0)
            await bus.close()
            assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("bus")]


async def test_it_is_lost_without_a_server_and_comes_back_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with redis(tmp_path / "redis") as server:
        bus = RedisBus(server.url, unread=10)
        async with asyncio.timeout(20), bus.subscribe("jobs") as news:
            server.kill()
            for number in range(1_000):  # nobody waits, nothing piles up
                await bus.publish("jobs", {"lost": number})
            assert len(bus._unsaid) <= 10
            late = bus.subscribe("workers")
            async with late:
                await asyncio.sleep(0)
                server.start()
                reading = [asyncio.create_task(anext(one)) for one in (news, late)]
                while not all(task.done() for task in reading):
                    for topic in ("jobs", "workers"):
                        await bus.publish(topic, {"back": True})
                    await asyncio.sleep(0.02)
                assert {"back": True} in [await task for task in reading]
        await bus.close()
    said = [record.getMessage() for record in caplog.records if record.name.startswith("gossamer.bus")]
    assert len([line for line in said if "bus.away" in line]) == 1, said
    assert len([line for line in said if "bus.back" in line]) == 1, said
