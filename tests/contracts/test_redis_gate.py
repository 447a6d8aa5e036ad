"""The Gate in Redis keeps the contract, over any number of clients."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import count

import pytest

from gossamer.clock import SystemClock
from gossamer.gate import NOW, Gate, Places, pass_gate
from gossamer.gate.redis import RedisGate
from tests.contracts.gate import GateContract
from tests.contracts.places import PlacesContract
from tests.servers import RedisServer

LetPass = Callable[[timedelta], Awaitable[None]]
AGES = timedelta(hours=10)

_numbers = count(1)


@pytest.fixture
def prefix() -> str:
    """Lights that no other test uses."""
    return f"test-{next(_numbers)}"


@pytest.fixture
async def redis_gate(redis_server: RedisServer, prefix: str) -> AsyncIterator[RedisGate]:
    async with RedisGate(redis_server.url, SystemClock(), prefix=prefix).kept() as gate:
        assert not gate.outage()
        yield gate


@pytest.fixture
def let_pass() -> LetPass:
    async def sleep(time: timedelta) -> None:
        await asyncio.sleep(time.total_seconds())

    return sleep


class TestRedisGate(GateContract):
    spacing = timedelta(milliseconds=150)

    @pytest.fixture
    def gate(self, redis_gate: RedisGate) -> Gate:
        return redis_gate


class TestPlacesInRedis(PlacesContract):
    ttl = timedelta(milliseconds=500)

    @pytest.fixture
    def places(self, redis_gate: RedisGate) -> Places:
        return redis_gate


def told(server: RedisServer, *command: str) -> int:
    """The number a command answers."""
    return int(server.ask(*command).lstrip(b":"))


def reads(server: RedisServer) -> int:
    """How often the server has read anything from anybody."""
    lines = server.tell("INFO", "stats").splitlines()
    return next(int(line.partition(":")[2]) for line in lines if line.startswith("total_reads_processed"))


async def test_a_crowd_of_clients_passes_one_by_one(redis_server: RedisServer, prefix: str) -> None:
    spacing = timedelta(milliseconds=30)
    passed: list[tuple[float, float]] = []

    async def visitor(gate: RedisGate) -> None:
        for _ in range(3):
            while True:
                before = time.monotonic()
                wait = await gate.turn("a.example", spacing, NOW)
                if wait == NOW:
                    break
                await asyncio.sleep(wait.total_seconds())
            passed.append((before, time.monotonic()))

    async with AsyncExitStack() as stack, asyncio.timeout(30):
        gates = [
            await stack.enter_async_context(RedisGate(redis_server.url, SystemClock(), prefix=prefix).kept())
            for _ in range(6)
        ]
        await asyncio.gather(*(visitor(gate) for gate in gates for _ in range(2)))
    assert len(passed) == 36
    # Each slot lies between asking and answer, so this holds whatever the order in which they were given.
    asked, answered = (sorted(moments) for moments in zip(*passed, strict=True))
    assert all(later - earlier >= 0.030 for earlier, later in zip(asked, answered[1:], strict=False))
    assert answered[-1] - asked[0] >= 35 * 0.030


async def test_places_are_shared_by_all_clients(redis_server: RedisServer, prefix: str) -> None:
    async with AsyncExitStack() as stack:
        gates = [
            await stack.enter_async_context(RedisGate(redis_server.url, SystemClock(), prefix=prefix).kept())
            for _ in range(4)
        ]
        holders = [(gate, f"{number}-{name}") for number, gate in enumerate(gates) for name in range(10)]
        entered = await asyncio.gather(*(gate.enter("cap", name, 7, AGES) for gate, name in holders))
        assert sum(entered) == 7
        await asyncio.gather(*(gate.leave("cap", name) for gate, name in holders))
        assert await gates[0].enter("cap", "late", 1, AGES)


async def test_another_prefix_is_another_world(redis_server: RedisServer, redis_gate: RedisGate, prefix: str) -> None:
    await redis_gate.hold_off("a.example", AGES)
    assert await redis_gate.enter("cap", "a", 1, AGES)
    async with RedisGate(redis_server.url, SystemClock(), prefix=f"{prefix}-other").kept() as other:
        assert await other.turn("a.example", timedelta(seconds=1), NOW) <= timedelta(seconds=1)
        assert await other.enter("cap", "b", 1, AGES)


async def test_every_key_is_forgotten_some_day(redis_server: RedisServer, redis_gate: RedisGate, prefix: str) -> None:
    await redis_gate.turn("a.example", timedelta(seconds=1), AGES)
    await redis_gate.hold_off("b.example", timedelta(hours=3))
    assert await redis_gate.enter("cap", "brief", 2, timedelta(minutes=1))
    assert await redis_gate.enter("cap", "long", 2, timedelta(minutes=2))
    assert await redis_gate.enter("cap", "brief", 2, timedelta(seconds=1))
    keys = redis_server.tell("KEYS", f"{prefix}:*").split()
    lives = {key.removeprefix(f"{prefix}:"): told(redis_server, "PTTL", key) / 1000 for key in keys if prefix in key}
    lives.pop("light:probe")
    assert set(lives) == {"since", "light:a.example", "light:b.example", "place:cap"}
    assert 3590 < lives["light:a.example"] < 3605
    assert 4 * 3600 - 20 < lives["light:b.example"] <= 4 * 3600 + 1
    assert 100 < lives["place:cap"] < 121
    assert 0 < lives["since"] <= 7 * 86_400


async def test_the_calls_of_one_turn_of_the_loop_travel_together(
    redis_server: RedisServer, redis_gate: RedisGate
) -> None:
    before = reads(redis_server)
    waits = await asyncio.gather(*(redis_gate.turn(f"{n}.example", timedelta(seconds=1), AGES) for n in range(200)))
    assert len(waits) == 200
    assert reads(redis_server) - before < 20


async def test_scripts_that_were_flushed_are_loaded_again(redis_server: RedisServer, redis_gate: RedisGate) -> None:
    redis_server.ask("SCRIPT", "FLUSH")
    waits = await asyncio.gather(*(redis_gate.turn("a.example", timedelta(seconds=1), AGES) for _ in range(5)))
    assert sorted(waits)[-1] > timedelta(seconds=4)
    assert not redis_gate.outage()


async def test_a_lost_connection_is_replaced_before_anybody_notices(
    redis_server: RedisServer, redis_gate: RedisGate
) -> None:
    await redis_gate.hold_off("a.example", timedelta(minutes=1))
    await asyncio.sleep(0.3)  # a connection that breaks at once would be no accident
    redis_server.ask("CLIENT", "KILL", "TYPE", "normal")
    waits = await asyncio.gather(*(redis_gate.turn("a.example", timedelta(seconds=1), NOW) for _ in range(5)))
    assert min(waits) > timedelta(seconds=30), "asked alone: a minute would not be known"
    assert await redis_gate.enter("cap", "a", 1, AGES)
    assert not redis_gate.outage()


async def test_who_asks_and_goes_disturbs_nobody(redis_gate: RedisGate) -> None:
    asking = [asyncio.create_task(redis_gate.enter("cap", str(n), 100, AGES)) for n in range(10)]
    await asyncio.sleep(0)
    for task in asking[::2]:
        task.cancel()
    done = await asyncio.gather(*asking, return_exceptions=True)
    assert done[1::2] == [True] * 5
    assert await redis_gate.enter("other", "a", 1, AGES)


async def test_passing_is_the_same_as_with_any_gate(redis_gate: RedisGate) -> None:
    began = time.monotonic()
    for _ in range(3):
        assert await pass_gate(redis_gate, "a.example", timedelta(milliseconds=100), AGES) == NOW
    assert time.monotonic() - began >= 0.3
