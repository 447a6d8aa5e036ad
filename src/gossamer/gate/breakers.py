"""Beside the lights: breakers, which all workers share, and their keeper in the memory of one process."""

from datetime import timedelta
from typing import Protocol

from gossamer.clock import Clock
from gossamer.model import breaker
from gossamer.model.breaker import News, Rule, Standing, State

_MOST = 10_000  # remembered; only those who have failed of late are


class Breakers(Protocol):
    """Every method is one atomic step over all workers that share the breakers. A name nobody told of is closed."""

    async def ask(self, name: str, rule: Rule) -> timedelta:
        """Before a request: how long to wait; `NOW` means go, and that what becomes of it will be told.

        While the breaker is being probed, so many may go at a time as it has probes. Whoever went and died is given up
        after some minutes.
        """
        ...

    async def tell(self, name: str, rule: Rule, news: News, why: str = "", goods: int = 0) -> Standing:
        """After a request: what became of it, and how the breaker stands now.

        `goods` are good ones before it that were not told: nobody has to tell each of them while all is well. May
        repeat; a request told twice counts twice.
        """
        ...

    async def look(self, name: str) -> Standing:
        """How it stands. Changes nothing."""
        ...


class NoBreakers:
    """For who makes single calls and remembers nothing of them."""

    async def ask(self, name: str, rule: Rule) -> timedelta:
        return timedelta()

    async def tell(self, name: str, rule: Rule, news: News, why: str = "", goods: int = 0) -> Standing:
        return Standing()

    async def look(self, name: str) -> Standing:
        return Standing()


class MemoryBreakers:
    """For one process: where it alone talks to somebody, and while it cannot see the others."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._states: dict[str, State] = {}

    async def ask(self, name: str, rule: Rule) -> timedelta:
        state = self._states.get(name)
        if state is None:
            return timedelta()
        self._states[name], wait = breaker.ask(state, rule, self._clock.monotonic())
        return wait

    async def tell(self, name: str, rule: Rule, news: News, why: str = "", goods: int = 0) -> Standing:
        # Taken out and put back at the end: the first are those of whom nobody has heard for longest.
        before = self._states.pop(name, State())
        now = self._clock.monotonic()
        state = breaker.tell(before, rule, now, news, why, goods)
        if state != State():
            self._states[name] = state
            if len(self._states) > _MOST:
                del self._states[next(iter(self._states))]
        return breaker.standing(state, now)

    async def look(self, name: str) -> Standing:
        return breaker.standing(self._states.get(name, State()), self._clock.monotonic())
