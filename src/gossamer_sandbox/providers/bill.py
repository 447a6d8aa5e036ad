"""The provider's own books: every call with its price. What our ledger says is held against this."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson


@dataclass(frozen=True, slots=True)
class Entry:
    """One call that was answered, paid or not."""

    at: float
    target: str
    credits: int
    status: int  # of the provider's answer
    way: str = ""  # the parameters that make the price

    @property
    def charged(self) -> bool:
        return self.credits > 0


class Bill:
    """In memory, and in a file of JSON lines where there is one."""

    def __init__(self, path: Path | None = None) -> None:
        self.entries: list[Entry] = []
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if path else -1

    @property
    def total(self) -> int:
        return sum(entry.credits for entry in self.entries)

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        if self._file >= 0:
            os.write(self._file, orjson.dumps(asdict(entry), option=orjson.OPT_APPEND_NEWLINE))

    def of(self, target: str) -> int:
        """Return the cost of the calls for one URL."""
        return sum(entry.credits for entry in self.entries if entry.target == target)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_bill(path: Path) -> list[Entry]:
    """A bill from its file. A last line that was cut short by a kill is left out."""
    with path.open("rb") as file:
        return [Entry(**orjson.loads(line)) for line in file if line.endswith(b"\n")]
