"""What a benchmark gives: named numbers, some of them with a limit they must keep."""

from dataclasses import dataclass
from typing import Any


class BenchFailed(Exception):
    """A benchmark could not be taken: what it measures did not work."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number. `meaning` is its line in the table; `note` is what the number alone does not say."""

    name: str
    meaning: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""

    @property
    def ok(self) -> bool:
        return self.limit is None or self.value <= self.limit

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"meaning": self.meaning, "value": _rounded(self.value), "unit": self.unit}
        if self.limit is not None:
            shown |= {"limit": self.limit, "ok": self.ok}
        return shown | ({"note": self.note} if self.note else {})


def _rounded(value: float) -> float:
    """Four digits are more than the noise allows."""
    if value == int(value) or abs(value) >= 1000:
        return int(value) if value == int(value) else round(value)
    return float(f"{value:.4g}")
