"""Time, as something that can be handed over: the real one, and one that tests move by hand."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """`now` is for rows and people; `monotonic` is for deadlines and never goes back."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class SystemClock:
    """The machine's own clocks. Instants are whole milliseconds, which is what the rows keep."""

    def now(self) -> datetime:
        at = datetime.now(UTC)
        return at.replace(microsecond=at.microsecond // 1000 * 1000)

    def monotonic(self) -> float:
        return time.monotonic()


class FrozenClock:
    """Stands still until it is advanced."""

    def __init__(self, at: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._at = at
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._at

    def monotonic(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> None:
        self._at += timedelta(seconds=seconds)
        self._elapsed += seconds


def milliseconds(at: datetime) -> int:
    """Since 1970, as the rows keep moments of which there are many."""
    return round(at.timestamp() * 1000)
