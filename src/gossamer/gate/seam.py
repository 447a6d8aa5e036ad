"""Beside every request on its way out: the traffic lights all workers share.

Two kinds of light. A *key* (a registrable domain) lets one request pass per spacing. A *place* (a cap, a slot) has room
for so many holders at a time, who drop out by themselves when they no longer renew.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Protocol

NOW = timedelta()

# Timers may fire early by a rounding error; sleeping less than this would only burn the processor.
_SHORTEST_SLEEP = timedelta(milliseconds=1)


class Places(Protocol):
    """Where the holders of places are written down. Seen by everybody who shares the Gate, and atomic."""

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        """As `Gate.enter`."""
        ...

    async def leave(self, place: str, holder: str) -> None:
        """As `Gate.leave`."""
        ...


class Gate(Protocol):
    """Every method is one atomic step over all workers that share the Gate."""

    async def turn(self, key: str, spacing: timedelta, patience: timedelta) -> timedelta:
        """Take the key's next slot and say how long to wait before using it; `NOW` means go.

        A wait longer than `patience` means that nothing was taken. Between two slots lies the larger of the two
        spacings they were asked with. A slot that is taken and not used is lost, never given to somebody else: whoever
        dies with it costs the others one spacing.

        A key the Gate knows nothing of counts as used at the latest moment of which it knows nothing, at worst just
        now: a restarted worker, or a server that lost its memory, is never less polite than before.

        Where the others cannot be seen for a time, each worker goes alone, and slower.

        The slots are spaced exactly, the moments at which callers wake up for them are not. Somebody who goes late
        comes close to the next, and a timer may fire early. Where the smallest gap matters use `pass_gate`, or ask
        with a spacing that is 2 % larger and look at the clock again after sleeping.
        """
        ...

    async def hold_off(self, key: str, wait: timedelta) -> None:
        """Let nobody take a slot of the key that begins earlier than `wait` from now (Retry-After, back-off).

        Never shortens what was asked before. Slots already taken stay taken. May repeat.
        """
        ...

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        """Hold a place for `ttl`, or renew it; False if `limit` others hold one.

        May repeat: a holder counts once, and each call counts its `ttl` from now. A holder who died drops out when its
        `ttl` is over. So holders with names of their own that never leave are a count: at most `limit` in any `ttl`.

        Where it cannot be known who holds a place nobody gets one: what must not happen too often does not happen.
        """
        ...

    async def leave(self, place: str, holder: str) -> None:
        """Give a place up. Nothing happens to somebody who does not hold it. May repeat."""
        ...


async def pass_gate(
    gate: Gate,
    key: str,
    spacing: timedelta,
    patience: timedelta,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> timedelta:
    """Wait until the key lets this caller through, at most `patience`; `NOW` means it did: send at once.

    Anything else means it did not and nothing was taken, and is how long the key needs at least. The slot is taken at
    the moment of passing and never ahead, so whoever wakes early sleeps again, and whoever wakes late moves the next
    one back with it: the gap between two that passed is never under the spacing. The price is that several who wait
    for one key pass in the order in which they wake up.
    """
    waited = NOW
    while True:
        wait = await gate.turn(key, spacing, patience=NOW)
        if wait <= NOW:
            return NOW
        if waited + wait > patience:
            return wait
        wait = max(wait, _SHORTEST_SLEEP)
        await sleep(wait.total_seconds())
        waited += wait
