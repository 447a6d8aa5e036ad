"""Lines of a list that were left out as invalid: the file they are written to, and what is said about them."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import UserError
from gossamer.intake.textfile import STDIN, name_of

# As in exports: a spreadsheet would run a cell that begins like this.
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line that could not be used, as it was written, and why: the end of a sentence that begins with "it"."""

    line: int
    text: str
    reason: str


def write_skipped(source: Path, subject: str, skipped: Sequence[SkippedLine]) -> Path:
    """Write `<list>-skipped.csv` in the working folder, never over another file."""
    stem = subject if source == STDIN else source.stem
    written = Path(f"{stem}-skipped.csv")
    number = 1
    while True:
        try:
            with written.open("x", encoding="utf-8-sig", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(("line", "text", "reason"))
                rows.writerows((one.line, _safe(one.text), f"it {one.reason}") for one in skipped)
        except FileExistsError:
            number += 1
            written = Path(f"{stem}-skipped-{number}.csv")
        except OSError as error:
            message = f"{name_of(written)} cannot be written ({error.strerror}); it would list the skipped lines."
            raise UserError(
                "skipped.unwritable", message, hint="Run the command in a folder you may write to."
            ) from error
        else:
            return written


def skipped_sentence(skipped: Sequence[SkippedLine], source: Path, written: Path) -> str:
    """`Skipped 3 invalid lines of domains.txt (see domains-skipped.csv)`."""
    lines = f"{len(skipped):,} invalid line{'' if len(skipped) == 1 else 's'}"
    return f"Skipped {lines} of {name_of(source if source == STDIN else Path(source.name))} (see {name_of(written)})"


def _safe(text: str) -> str:
    return f"'{text}" if text[:1] in _FORMULA and text else text
