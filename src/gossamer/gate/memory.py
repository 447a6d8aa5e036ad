"""Places in memory, for one process alone: tests, and tools that share nothing."""

from datetime import timedelta

from gossamer.clock import Clock


class MemoryPlaces:
    """Holders and the monotonic moment at which each drops out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._holders: dict[str, dict[str, float]] = {}

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        now = self._clock.monotonic()
        held = {name: until for name, until in self._holders.get(place, {}).items() if until > now and name != holder}
        allowed = len(held) < limit
        if allowed:
            held[holder] = now + ttl.total_seconds()
        self._keep(place, held)
        return allowed

    async def leave(self, place: str, holder: str) -> None:
        held = self._holders.get(place, {})
        held.pop(holder, None)
        self._keep(place, held)

    def _keep(self, place: str, held: dict[str, float]) -> None:
        if held:
            self._holders[place] = held
        else:
            self._holders.pop(place, None)
