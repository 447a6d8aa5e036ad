"""The only way out for a visit: every request waits its turn at the Gate here, robots.txt and redirects included."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from weakref import WeakValueDictionary

from gossamer.clock import Clock
from gossamer.fetch import Fetcher
from gossamer.gate import Gate, pass_gate
from gossamer.model.fetching import Response
from gossamer.model.url import domain_of, host_of
from gossamer.work.hold import Hold

LONGEST_SLEEP = timedelta(seconds=5)
_MARGIN = 1.02  # clocks and schedulers are never exact; the site should not notice


class Interrupted(Exception):
    """The walk was told to end before the request was made. It does not count as a try."""


class TooEarly(Exception):
    """The Gate is closed for longer than we sleep."""

    def __init__(self, wait: timedelta) -> None:
        super().__init__(f"not before {wait}")
        self.wait = wait


class Turnstile:
    """One request at a time per domain in this process.

    The Gate spaces the moments at which requests begin; if a first one is slow to connect, a second could catch up
    with it. Waiting for the one before keeps the gap that the site sees.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, domain: str) -> asyncio.Lock:
        lock = self._locks.get(domain)
        if lock is None:
            lock = self._locks[domain] = asyncio.Lock()
        return lock


@dataclass(slots=True)
class Courier:
    """Makes single requests, politely. `spacing` grows when the site asks for more room."""

    session: Fetcher
    gate: Gate
    turnstile: Turnstile
    clock: Clock
    hold: Hold
    spacing: timedelta
    timeout: timedelta
    patience: timedelta = LONGEST_SLEEP

    async def get(self, url: str, max_bytes: int, *, truncate: bool = False) -> Response:
        """One request for one address, no redirect followed."""
        domain = domain_of(host_of(url))
        spacing = self.spacing * _MARGIN
        async with self.turnstile.of(domain):
            await self._wait_turn(domain, spacing)
            answered: list[float] = []

            def on_head(_status: int, _headers: Mapping[str, str]) -> bool:
                answered.append(self.clock.monotonic())
                return True

            try:
                return await self.session.fetch(
                    url, timeout=self.timeout, max_bytes=max_bytes, accept=on_head, truncate=truncate
                )
            finally:
                # Counted from when the site is known to have received the request, not from when we meant to send it.
                since_answer = self.clock.monotonic() - answered[0] if answered else 0.0
                await self.gate.hold_off(domain, spacing - timedelta(seconds=since_answer))

    async def stay_away(self, domain: str, time: timedelta) -> None:
        """The site asked for rest: nobody of this process asks it for anything before that, whatever the job."""
        await self.gate.hold_off(domain, time)

    async def _wait_turn(self, domain: str, spacing: timedelta) -> None:
        wait = await pass_gate(self.gate, domain, spacing, self.patience, self._sleep)
        if wait:
            raise TooEarly(wait)
        if self.hold.stop.is_set() or self.clock.monotonic() >= self.hold.deadline:
            raise Interrupted

    async def _sleep(self, seconds: float) -> None:
        await self.rest(timedelta(seconds=seconds))

    async def rest(self, time: timedelta) -> None:
        """Sleep, unless told to stop."""
        try:
            async with asyncio.timeout(time.total_seconds()):
                await self.hold.stop.wait()
        except TimeoutError:
            return
        raise Interrupted
