"""Time, as something that can be handed over: the real one, and one that tests move by hand."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """`now` is for rows and people; `monotonic` is for deadlines and never goes back.

    `milliseconds` is the same moment as `now`, since 1970, as the rows keep moments of which there are many.
    """

    def now(self) -> datetime: ...

    def milliseconds(self) -> int: ...

    def monotonic(self) -> float: ...


if hasattr(time, "CLOCK_BOOTTIME"):
    _BOOT = time.CLOCK_BOOTTIME

    def _since_boot() -> float:
        """Seconds, those included in which the machine slept."""
        return time.clock_gettime(_BOOT)
else:
    _since_boot = time.monotonic


class SystemClock:
    """The machine's own clocks. Instants are whole milliseconds, which is what the rows keep."""

    def now(self) -> datetime:
        at = datetime.now(UTC)
        return at.replace(microsecond=at.microsecond // 1000 * 1000)

    def milliseconds(self) -> int:
        return milliseconds(self.now())

    monotonic = staticmethod(time.monotonic)  # asked a dozen times for every page


class SteadyClock(SystemClock):
    """The wall clock as it was at a moment, going on from there whatever is done to the machine's own.

    All processes of a home share one `offset`, so a wall clock that is set forward or back ends no lease and makes no
    site wait for an hour. What was changed is taken over when the home is worked anew.
    """

    def __init__(self, offset: float | None = None) -> None:
        self.offset = time.time() - _since_boot() if offset is None else offset

    def go_by(self, now: datetime) -> None:
        """Adopt the time of a more authoritative clock."""
        self.offset = now.timestamp() - _since_boot()

    def now(self) -> datetime:
        return datetime.fromtimestamp(int((self.offset + _since_boot()) * 1000) / 1000, UTC)

    def milliseconds(self) -> int:
        return int((self.offset + _since_boot()) * 1000)


class FrozenClock:
    """A clock that changes only when it is advanced."""

    def __init__(self, at: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._at = at
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._at

    def milliseconds(self) -> int:
        return milliseconds(self._at)

    def monotonic(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> None:
        self._at += timedelta(seconds=seconds)
        self._elapsed += seconds


def milliseconds(at: datetime) -> int:
    """Return milliseconds since 1970, the compact form of times in large tables."""
    return round(at.timestamp() * 1000)


def iso(at: datetime | None) -> str | None:
    """Return an instant in file format: ISO 8601, UTC, to the second."""
    return None if at is None else f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
