"""Bad days of a provider, written down beforehand: so many calls are refused, delayed or answered with nonsense."""

from collections import deque
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Kinds of failures of a call."""

    STATUS = "status"  # refused with a status of the provider's own: 401, 402, 429, 500, 503 ...
    SLOW = "slow"  # answered as usual, late
    MALFORMED = "malformed"  # answered and charged as usual, with headers or a document that make no sense
    CUT = "cut"  # charged as usual, and the line goes dead in the middle of the answer
    NOT_HTTP = "not-http"  # something else answers


@dataclass(frozen=True, slots=True)
class Storm:
    """`times` calls in a row."""

    kind: Kind
    times: int = 1
    status: int = 503
    seconds: float = 0.0


class Storms:
    """Those still to come, in their order."""

    def __init__(self) -> None:
        self._coming: deque[Storm] = deque()

    def add(self, storm: Storm) -> None:
        self._coming.extend([storm] * storm.times)

    def clear(self) -> None:
        self._coming.clear()

    def next(self) -> Storm | None:
        return self._coming.popleft() if self._coming else None

    def __len__(self) -> int:
        return len(self._coming)
