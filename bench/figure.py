"""What a benchmark gives: named numbers, some of them with a limit they must keep."""

from dataclasses import dataclass
from typing import Any


class BenchFailed(Exception):
    """A benchmark could not be taken: what it measures did not work."""


class BenchSkipped(Exception):
    """A benchmark was not taken, since what it needs is not here. The message says what."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, at most `limit` and at least `least` if these are given.

    `meaning` is its line in the table; `note` is what the number alone does not say; `curve` is how it came about.
    """

    name: str
    meaning: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""
    least: float | None = None
    curve: tuple[float, ...] = ()

    @property
    def ok(self) -> bool:
        return (self.limit is None or self.value <= self.limit) and (self.least is None or self.value >= self.least)

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"meaning": self.meaning, "value": _rounded(self.value), "unit": self.unit}
        limits = {"limit": self.limit, "least": self.least}
        shown |= {name: bound for name, bound in limits.items() if bound is not None}
        if self.limit is not None or self.least is not None:
            shown["ok"] = self.ok
        shown |= {"note": self.note} if self.note else {}
        return shown | ({"curve": [_rounded(value) for value in self.curve]} if self.curve else {})


def _rounded(value: float) -> float:
    """Four digits are more than the noise allows."""
    if value == int(value) or abs(value) >= 1000:
        return int(value) if value == int(value) else round(value)
    return float(f"{value:.4g}")
