"""Places in memory, for one process alone: tests, tools that share nothing, and a server that counts requests."""

from dataclasses import dataclass, field
from datetime import timedelta
from heapq import heappop, heappush

from gossamer.clock import Clock


@dataclass(slots=True)
class _Place:
    """Who holds it until which moment, and these moments in their order: some of holders who have left or renewed."""

    held: dict[str, float] = field(default_factory=dict)
    ends: list[tuple[float, str]] = field(default_factory=list)

    def drop_out(self, now: float) -> None:
        """Without looking at those who stay: of requests in a minute there may be many thousands."""
        while self.ends and self.ends[0][0] <= now:
            until, holder = heappop(self.ends)
            if self.held.get(holder) == until:
                del self.held[holder]


class MemoryPlaces:
    """Holders and the monotonic moment at which each drops out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._places: dict[str, _Place] = {}

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        now = self._clock.monotonic()
        here = self._places.setdefault(place, _Place())
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

    def _forget(self, place: str, here: _Place) -> None:
        if not here.held:
            del self._places[place]
