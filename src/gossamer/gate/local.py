"""The Gate of one process: spacing in its memory, slots in its memory or in shared rows."""

import math
from dataclasses import dataclass, field
from datetime import timedelta
from heapq import heappop, heappush

from gossamer.clock import Clock
from gossamer.gate.seam import NOW, Places


@dataclass(slots=True)
class _Slot:
    """Holders of a place with their expiry times, and these times in order, including some outdated ones."""

    held: dict[str, float] = field(default_factory=dict)
    ends: list[tuple[float, str]] = field(default_factory=list)

    def drop_out(self, now: float) -> None:
        """Remove expired holders without looking at the others, of which there may be many thousands."""
        while self.ends and self.ends[0][0] <= now:
            until, holder = heappop(self.ends)
            if self.held.get(holder) == until:
                del self.held[holder]


class MemoryPlaces:
    """Holders and the monotonic moment at which each drops out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._places: dict[str, _Slot] = {}

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        now = self._clock.monotonic()
        here = self._places.setdefault(place, _Slot())
        here.drop_out(now)
        allowed = len(here.held) - (holder in here.held) < limit
        if allowed:
            here.held[holder] = until = now + ttl.total_seconds()
            heappush(here.ends, (until, holder))
        self._forget(place, here)
        return allowed

    async def leave(self, place: str, holder: str) -> None:
        if here := self._places.get(place):
            here.held.pop(holder, None)
            self._forget(place, here)

    def _forget(self, place: str, here: _Slot) -> None:
        if not here.held:
            del self._places[place]


@dataclass(slots=True)
class _Light:
    """One key, in seconds of the monotonic clock: its last slot, the spacing owed after it, and any hold-off."""

    last: float
    owed: float
    held_until: float

    def opens(self, spacing: float) -> float:
        return max(self.last + max(spacing, self.owed), self.held_until)

    def is_idle(self, now: float) -> bool:
        return self.opens(0.0) <= now


class LocalGate:
    """A Gate for one event loop, where the code between two awaits is atomic."""

    def __init__(self, clock: Clock, places: Places, *, remembered: int = 10_000) -> None:
        self._clock = clock
        self._places = places
        self._gates: dict[str, _Light] = {}
        # Whatever was used before this moment, we would not know of it.
        self._ignorant_before = clock.monotonic()
        self._remembered = remembered
        self._tidy_above = remembered

    async def turn(self, key: str, spacing: timedelta, patience: timedelta) -> timedelta:
        now = self._clock.monotonic()
        seconds = max(spacing.total_seconds(), 0.0)
        light = self._gates.get(key) or self._unknown()
        opens = light.opens(seconds)
        slot, wait = (now, NOW) if opens <= now else (opens, _rounded_up(opens - now))
        if wait and wait > max(patience, NOW):
            return wait
        light.last, light.owed = slot, seconds
        self._remember(key, light)
        return wait

    async def hold_off(self, key: str, wait: timedelta) -> None:
        light = self._gates.get(key) or self._unknown()
        light.held_until = max(light.held_until, self._clock.monotonic() + wait.total_seconds())
        self._remember(key, light)

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        return await self._places.enter(place, holder, limit, ttl)

    async def leave(self, place: str, holder: str) -> None:
        await self._places.leave(place, holder)

    def distrust(self) -> None:
        """Treat every key as used until now, because other workers may have used it."""
        now = self._clock.monotonic()
        self._ignorant_before = now
        for light in self._gates.values():
            light.last = max(light.last, now)

    def busy(self) -> list[tuple[str, timedelta]]:
        """Return the keys that may not be used at the moment, and for how long."""
        now = self._clock.monotonic()
        return [
            (key, _rounded_up(light.opens(0.0) - now)) for key, light in self._gates.items() if not light.is_idle(now)
        ]

    def _unknown(self) -> _Light:
        return _Light(last=self._ignorant_before, owed=0.0, held_until=self._ignorant_before)

    def _remember(self, key: str, light: _Light) -> None:
        self._gates[key] = light
        if len(self._gates) > self._tidy_above:
            self._forget_idle()

    def _forget_idle(self) -> None:
        """Forget the longest idle keys. All unknown keys then count as used when the last of these was.

        So forgetting can cost a key some waiting, but never violates a site's spacing, whatever spacing is set
        later.
        """
        now = self._clock.monotonic()
        idle = sorted((light.last, key) for key, light in self._gates.items() if light.is_idle(now))
        surplus = len(self._gates) - self._remembered // 2
        for last, key in idle[:surplus]:
            del self._gates[key]
            self._ignorant_before = max(self._ignorant_before, last)
        # Where nearly all keys are busy there is little to forget; looking again at each new one would be quadratic.
        self._tidy_above = max(self._remembered, 2 * len(self._gates))


def _rounded_up(seconds: float) -> timedelta:
    """Convert seconds to a timedelta, rounded up: rounding down would open the light a little too early."""
    # Rounding errors of floats, under a nanosecond, are dropped.
    return timedelta(microseconds=math.ceil(seconds * 1e6 - 1e-3))
