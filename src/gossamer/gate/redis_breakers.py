"""Breakers of several homes or machines: in Redis, beside the lights.

While Redis is away each worker goes by what it has met itself since then. What the others know is not forgotten: it is
there again when Redis is.
"""

from datetime import timedelta
from typing import Any

from gossamer.clock import Clock
from gossamer.gate.breakers import MemoryBreakers
from gossamer.gate.redis import Away, RedisGate
from gossamer.gate.scripts import ASK, LOOK, TELL
from gossamer.model.breaker import News, Rule, Standing


class RedisBreakers:
    """Whoever has the same server and prefix shares all breakers."""

    def __init__(self, gate: RedisGate, clock: Clock) -> None:
        self._gate = gate
        self._alone = MemoryBreakers(clock)

    async def ask(self, name: str, rule: Rule) -> timedelta:
        try:
            wait = await self._gate.run(ASK, self._key(name), _micros(rule.rest), rule.probes)
        except Away:
            return await self._alone.ask(name, rule)
        return timedelta(microseconds=wait)

    async def tell(self, name: str, rule: Rule, news: News, why: str = "", goods: int = 0) -> Standing:
        share = round(rule.share * 1000)
        numbers = (_micros(rule.rest), rule.probes, rule.failures, share, _micros(rule.window), rule.buckets)
        try:
            return _standing(await self._gate.run(TELL, self._key(name), *numbers, str(news), why, goods))
        except Away:
            return await self._alone.tell(name, rule, news, why, goods)

    async def look(self, name: str) -> Standing:
        try:
            return _standing(await self._gate.run(LOOK, self._key(name)))
        except Away:
            return await self._alone.look(name)

    def _key(self, name: str) -> tuple[str]:
        return (f"{self._gate.prefix}:breaker:{name}",)


def _standing(told: list[Any]) -> Standing:
    is_open, wait, in_a_row, down, failed, why = told
    return Standing(
        open=bool(is_open),
        wait=timedelta(microseconds=wait),
        in_a_row=in_a_row,
        down=timedelta(microseconds=down),
        failed=timedelta(microseconds=failed) if failed >= 0 else timedelta.max,
        why=why.decode(),
    )


def _micros(time: timedelta) -> int:
    return time // timedelta(microseconds=1)
