"""Breakers keep the contract in memory and in Redis, over any number of clients, and without Redis too."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import count

import pytest

from gossamer.clock import FrozenClock, SystemClock
from gossamer.gate import NOW, Breakers
from gossamer.gate.breakers import MemoryBreakers
from gossamer.gate.redis import RedisBreakers, RedisGate
from gossamer.model.breaker import PROVIDER, SITE, News
from tests.contracts.breakers import BreakersContract
from tests.servers import RedisServer

LetPass = Callable[[timedelta], Awaitable[None]]

_numbers = count(1)


class TestMemoryBreakers(BreakersContract):
    @pytest.fixture
    def clock(self) -> FrozenClock:
        return FrozenClock()

    @pytest.fixture
    def let_pass(self, clock: FrozenClock) -> LetPass:
        async def advance(time: timedelta) -> None:
            clock.advance(time.total_seconds())

        return advance

    @pytest.fixture
    def breakers(self, clock: FrozenClock) -> Breakers:
        return MemoryBreakers(clock)

    async def test_late_failures_do_not_make_the_rest_longer(self, breakers: Breakers, let_pass: LetPass) -> None:
        await self.open(breakers)
        await let_pass(self.rest * 0.6)
        assert await self.tell(breakers, News.BAD, News.POOR)
        await let_pass(self.rest * 0.6)
        assert await breakers.ask("bee", self.rule) == NOW

    async def test_a_probe_that_never_came_back_is_given_up(self, breakers: Breakers, let_pass: LetPass) -> None:
        await self.open(breakers)
        await let_pass(self.rest * 1.1)
        assert [await breakers.ask("bee", self.rule) for _ in range(2)] == [NOW, NOW]
        await let_pass(timedelta(seconds=190))
        assert await breakers.ask("bee", self.rule) > NOW
        await let_pass(timedelta(seconds=20))
        assert await breakers.ask("bee", self.rule) == NOW


@pytest.fixture
def prefix() -> str:
    return f"breakers-{next(_numbers)}"


class TestBreakersInRedis(BreakersContract):
    rest = timedelta(milliseconds=400)

    @pytest.fixture
    def let_pass(self) -> LetPass:
        async def sleep(time: timedelta) -> None:
            await asyncio.sleep(time.total_seconds())

        return sleep

    @pytest.fixture
    async def breakers(self, redis_server: RedisServer, prefix: str) -> AsyncIterator[Breakers]:
        async with RedisGate(redis_server.url, SystemClock(), prefix=prefix).kept() as gate:
            yield RedisBreakers(gate, SystemClock())

    async def test_all_clients_see_the_same(
        self, redis_server: RedisServer, prefix: str, breakers: Breakers, let_pass: LetPass
    ) -> None:
        async with AsyncExitStack() as stack:
            gates = [
                await stack.enter_async_context(RedisGate(redis_server.url, SystemClock(), prefix=prefix).kept())
                for _ in range(4)
            ]
            others = [RedisBreakers(gate, SystemClock()) for gate in gates]
            for other in others:
                await other.tell("bee", self.rule, News.BAD, "it is away")
            assert (await breakers.look("bee")).why == "it is away"
            assert await breakers.ask("bee", self.rule) > NOW
            await let_pass(self.rest * 1.1)
            asked = await asyncio.gather(*(one.ask("bee", self.rule) for one in (*others, breakers)))
            assert asked.count(NOW) == self.rule.probes

    async def test_every_breaker_is_forgotten_some_day(
        self, redis_server: RedisServer, prefix: str, breakers: Breakers
    ) -> None:
        await breakers.tell("doubted", self.rule, News.BAD)
        await self.open(breakers)
        lives = [
            int(redis_server.ask("PTTL", f"{prefix}:breaker:{name}").lstrip(b":")) / 1000 for name in ("doubted", "bee")
        ]
        assert 0 < lives[0] <= 16
        assert 3590 < lives[1] <= 3601


async def test_without_redis_a_worker_goes_by_what_it_has_met_itself() -> None:
    clock = FrozenClock()
    async with RedisGate("redis://127.0.0.1:1/0", clock).kept() as gate:
        breakers = RedisBreakers(gate, clock)
        assert gate.outage()
        for _ in range(SITE.failures):
            await breakers.tell("site", SITE, News.BAD, "it is away")
        assert await breakers.ask("site", SITE) == SITE.rest
        assert (await breakers.look("site")).why == "it is away"


async def test_the_figures_are_those_that_were_asked_for() -> None:
    for rule, failures, share, window, buckets, rest, probes in (
        (PROVIDER, 10, 0.5, 60, 6, 30, 3),
        (SITE, 5, 0.8, 120, 12, 60, 2),
    ):
        assert (rule.failures, rule.share, rule.buckets, rule.probes) == (failures, share, buckets, probes)
        assert (rule.window, rule.rest) == (timedelta(seconds=window), timedelta(seconds=rest))
