"""The Gate for several data folders or machines: spacing, slots and circuit breakers in Redis.

While Redis cannot be reached, a worker spaces requests from its own memory, with no more than half a
request per second and domain, and no place can be entered. It returns to Redis automatically.

Circuit breakers of each worker then use only its own results since the outage began. The shared state is
not lost: it is available again when Redis is.
"""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Self

from redis.exceptions import NoScriptError

from gossamer.clock import Clock
from gossamer.gate.breakers import MemoryBreakers
from gossamer.gate.local import LocalGate
from gossamer.gate.redis_connection import TROUBLES, Wire
from gossamer.gate.redis_health import Reach
from gossamer.gate.scripts import ALL, ASK, ENTER, HOLD_OFF, LEAVE, LOOK, TELL, TURN, Script
from gossamer.gate.seam import NOW
from gossamer.model.breaker import BreakerRule, BreakerStanding, News

ALONE = timedelta(seconds=2) * 1.02  # between two requests to a domain by a worker that cannot see the others
_TRIES = 3
_LATE = timedelta(milliseconds=10)  # by which an answer may be, or by this part of the spacing if that is more,
_TOLERABLE = 0.015  # before another request could follow ours too closely: callers ask with 2 % to spare
_SHORT = timedelta(milliseconds=100)  # spacings under this are no matter of politeness


class Away(Exception):
    """Redis did not do what it was asked, or did and could not say so."""


class ClosedPlaces:
    """Places without known holders, so that none can be entered."""

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        return False

    async def leave(self, place: str, holder: str) -> None:
        return


class RedisGate:
    """Gate in Redis, for one event loop.

    All processes with the same server and `prefix` share lights and places.
    """

    def __init__(self, url: str, clock: Clock, *, prefix: str = "gossamer") -> None:
        self._clock = clock
        self.prefix = prefix
        self._since = f"{prefix}:since"
        self._alone = LocalGate(clock, ClosedPlaces())
        self._reach = Reach(url, clock, self._light("probe"), ALL, self._alone.distrust, self._confess)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[Self]:
        """Keep the connection, or keep trying to connect, until the block ends."""
        async with self._reach.kept():
            yield self

    def outage(self) -> str:
        """The reason why Redis is unavailable, in a few words; "" while it is available."""
        return self._reach.outage

    async def turn(self, key: str, spacing: timedelta, patience: timedelta) -> timedelta:
        spacing, patience = max(spacing, NOW), max(patience, NOW)
        took = NOW
        for _ in range(_TRIES):
            asked = self._clock.monotonic()
            try:
                wait = await self.run(TURN, self._light(key), _micros(spacing), _micros(patience))
            except Away:
                return await self._alone.turn(key, max(spacing, ALONE), patience)
            if wait:
                return timedelta(microseconds=wait)
            took = timedelta(seconds=self._clock.monotonic() - asked)
            if took < max(spacing, _SHORT):
                break  # else another caller may have been let through after us, and sent before us
        if took > max(_LATE, spacing * _TOLERABLE) and (wire := self._reach.present()):
            # The next one is spaced from now, and not from when the server let us through.
            wire.post_script(HOLD_OFF, self._light(key), _micros(spacing))
        return NOW

    async def hold_off(self, key: str, wait: timedelta) -> None:
        if wait > ALONE:
            # Known here too for when the server is away. All keys wait for less then, anyhow.
            await self._alone.hold_off(key, wait)
        try:
            await self.run(HOLD_OFF, self._light(key), _micros(wait))
        except Away:
            await self._alone.hold_off(key, wait)

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        try:
            return bool(await self.run(ENTER, (self._place(place),), holder, limit, _micros(ttl)))
        except Away:
            return False

    async def leave(self, place: str, holder: str) -> None:
        try:
            await self.run(LEAVE, (self._place(place),), holder)
        except Away:
            return  # it expires automatically

    async def run(self, script: Script, keys: tuple[str, ...], *arguments: str | int) -> Any:
        """Run a script and return the server's answer. Raises Away."""
        for _ in range(_TRIES):
            wire = await self._reach.wire()
            if wire is None:
                raise Away
            try:
                return await wire.run_script(script, keys, *arguments)
            except NoScriptError:
                wire.load(script)
            except TROUBLES:
                self._reach.lose(wire)
        self._alone.distrust()
        raise Away

    def _confess(self, wire: Wire) -> None:
        """Send the server the keys used during its outage, before any other request to it."""
        for key, wait in self._alone.busy():
            wire.post_script(HOLD_OFF, self._light(key), _micros(wait))

    def _light(self, key: str) -> tuple[str, str]:
        return f"{self.prefix}:light:{key}", self._since

    def _place(self, place: str) -> str:
        return f"{self.prefix}:place:{place}"


def _micros(time: timedelta) -> int:
    return math.ceil(time / timedelta(microseconds=1))


class RedisBreakers:
    """Circuit breakers in Redis. All processes with the same server and prefix share them."""

    def __init__(self, gate: RedisGate, clock: Clock) -> None:
        self._gate = gate
        self._alone = MemoryBreakers(clock)

    async def ask(self, name: str, rule: BreakerRule) -> timedelta:
        try:
            wait = await self._gate.run(ASK, self._key(name), _rounded_micros(rule.rest), rule.probes)
        except Away:
            return await self._alone.ask(name, rule)
        return timedelta(microseconds=wait)

    async def tell(self, name: str, rule: BreakerRule, news: News, why: str = "", goods: int = 0) -> BreakerStanding:
        share = round(rule.share * 1000)
        numbers = (
            _rounded_micros(rule.rest),
            rule.probes,
            rule.failures,
            share,
            _rounded_micros(rule.window),
            rule.buckets,
        )
        try:
            return _standing(await self._gate.run(TELL, self._key(name), *numbers, str(news), why, goods))
        except Away:
            return await self._alone.tell(name, rule, news, why, goods)

    async def look(self, name: str) -> BreakerStanding:
        try:
            return _standing(await self._gate.run(LOOK, self._key(name)))
        except Away:
            return await self._alone.look(name)

    def _key(self, name: str) -> tuple[str]:
        return (f"{self._gate.prefix}:breaker:{name}",)


def _standing(told: list[Any]) -> BreakerStanding:
    is_open, wait, in_a_row, down, failed, why = told
    return BreakerStanding(
        open=bool(is_open),
        wait=timedelta(microseconds=wait),
        in_a_row=in_a_row,
        down=timedelta(microseconds=down),
        failed=timedelta(microseconds=failed) if failed >= 0 else timedelta.max,
        why=why.decode(),
    )


def _rounded_micros(time: timedelta) -> int:
    return time // timedelta(microseconds=1)
