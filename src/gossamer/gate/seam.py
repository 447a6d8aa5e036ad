"""The traffic lights for outgoing requests, shared by all workers.

There are two kinds. A *key* (a registrable domain) lets one request pass per spacing. A *place* (a cap, a
slot) has room for a number of holders at a time, which drop out automatically when they no longer renew.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Protocol

NOW = timedelta()

# Timers may fire early by a rounding error; sleeping less than this would only burn the processor.
_SHORTEST_SLEEP = timedelta(milliseconds=1)


class Places(Protocol):
    """Storage of the holders of places. Shared by all users of the Gate, and atomic."""

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        """As `Gate.enter`."""
        ...

    async def leave(self, place: str, holder: str) -> None:
        """As `Gate.leave`."""
        ...


class Gate(Protocol):
    """Every method is one atomic step over all workers that share the Gate."""

    async def turn(self, key: str, spacing: timedelta, patience: timedelta) -> timedelta:
        """Take the key's next slot and return how long to wait before using it; `NOW` means go.

        If the wait is longer than `patience`, nothing was taken. Two slots are separated by the larger of
        their requested spacings. A slot that is taken and not used is lost, never given to another caller: a
        caller that dies with it costs the others one spacing.

        A key unknown to the Gate counts as used at the latest moment for which the Gate has no data, at worst
        just now: a restarted worker, or a server that lost its memory, is never less polite than before.

        While other workers cannot be seen, each worker paces requests alone, and more slowly.

        The slots are spaced exactly, but not the moments at which callers wake up for them. A late caller
        comes close to the next, and a timer may fire early. If the smallest gap matters use `pass_gate`, or
        request a spacing that is 2 % larger and check the clock again after sleeping.
        """
        ...

    async def hold_off(self, key: str, wait: timedelta) -> None:
        """Block slots of the key that begin earlier than `wait` from now (Retry-After, back-off).

        Never shortens an earlier block. Slots already taken stay taken. Can be repeated.
        """
        ...

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        """Hold a place for `ttl`, or renew it; False if `limit` others hold one.

        Can be repeated: a holder counts once, and each call counts its `ttl` from now. A dead holder drops
        out when its `ttl` is over. So holders with unique names that never leave act as a rate limit: up to
        `limit` in any `ttl`.

        While the holders of a place cannot be determined, every request for one is refused: the limit is
        never exceeded.
        """
        ...

    async def leave(self, place: str, holder: str) -> None:
        """Release a place. No effect for a caller that does not hold it. Can be repeated."""
        ...


async def pass_gate(
    gate: Gate,
    key: str,
    spacing: timedelta,
    patience: timedelta,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> timedelta:
    """Wait up to `patience` until the key lets this caller pass; `NOW` means it did: send at once.

    Any other value means that it did not and nothing was taken; the value is the shortest wait the key
    needs. The slot is taken at the moment of passing and never ahead, so a caller that wakes early sleeps
    again, and one that wakes late delays the next one as well: the gap between two callers that passed is
    never under the spacing. In return, several callers that wait for one key pass in the order in which
    they wake up.
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
