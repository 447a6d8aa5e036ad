"""Circuit breakers shared by all workers, and their in-memory implementation for one process."""

from datetime import timedelta
from typing import Protocol

from gossamer.clock import Clock
from gossamer.model import breaker
from gossamer.model.breaker import BreakerRule, BreakerStanding, BreakerState, News

_MOST = 10_000  # remembered; only those who have failed of late are


class Breakers(Protocol):
    """Circuit breakers. Each method is one atomic step over all workers that share them.

    A breaker whose name is unknown is closed.
    """

    async def ask(self, name: str, rule: BreakerRule) -> timedelta:
        """Return how long to wait before a request; `NOW` means that it may be sent, and its outcome is reported.

        While the breaker is being probed, only as many requests may run at a time as it has probes. A request
        whose sender died is written off after some minutes.
        """
        ...

    async def tell(self, name: str, rule: BreakerRule, news: News, why: str = "", goods: int = 0) -> BreakerStanding:
        """Report the outcome of a request; return the breaker's state.

        `goods` counts earlier successes that were not reported: they need no report of their own while all is
        well. Can be repeated, but a request reported twice counts twice.
        """
        ...

    async def look(self, name: str) -> BreakerStanding:
        """Return the breaker's state without changing it."""
        ...


class NoBreakers:
    """Circuit breakers that never open, for callers that make single calls and keep no state."""

    async def ask(self, name: str, rule: BreakerRule) -> timedelta:
        return timedelta()

    async def tell(self, name: str, rule: BreakerRule, news: News, why: str = "", goods: int = 0) -> BreakerStanding:
        return BreakerStanding()

    async def look(self, name: str) -> BreakerStanding:
        return BreakerStanding()


class MemoryBreakers:
    """Circuit breakers of one process, for services that only it uses, and while the others are unreachable."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._states: dict[str, BreakerState] = {}

    async def ask(self, name: str, rule: BreakerRule) -> timedelta:
        state = self._states.get(name)
        if state is None:
            return timedelta()
        self._states[name], wait = breaker.ask(state, rule, self._clock.monotonic())
        return wait

    async def tell(self, name: str, rule: BreakerRule, news: News, why: str = "", goods: int = 0) -> BreakerStanding:
        # Taken out and put back at the end: the first are those of whom nobody has heard for longest.
        before = self._states.pop(name, BreakerState())
        now = self._clock.monotonic()
        state = breaker.tell(before, rule, now, news, why, goods)
        if state != BreakerState():
            self._states[name] = state
            if len(self._states) > _MOST:
                del self._states[next(iter(self._states))]
        return breaker.standing(state, now)

    async def look(self, name: str) -> BreakerStanding:
        return breaker.standing(self._states.get(name, BreakerState()), self._clock.monotonic())
