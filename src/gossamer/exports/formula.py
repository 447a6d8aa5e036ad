"""Text that a spreadsheet would run is defused: an apostrophe in front, which is what people type for "only text"."""

from collections.abc import Sequence

from gossamer.recipes.base import Column, Line

PREFIX = "'"

# What a spreadsheet takes for the beginning of a formula, also in the wide letters of East Asian keyboards, and what it
# passes over before one.
RISKY = frozenset("=+-@\t\r\n＝＋－＠")


def defused(cell: object) -> object:
    """One cell. Numbers are never touched."""
    return f"{PREFIX}{cell}" if isinstance(cell, str) and cell[:1] in RISKY and cell else cell


def texts(columns: Sequence[Column]) -> tuple[int, ...]:
    """Return the positions of columns with text of third parties."""
    return tuple(at for at, column in enumerate(columns) if column.kind in ("text", "url"))


def defused_lines(lines: list[Line], places: Sequence[int]) -> list[Line]:
    """The same lines; hardly any needs to be changed, so the others are only looked at."""
    risky = RISKY
    made = []
    for line in lines:
        for at in places:
            cell = line[at]
            if cell and cell[0] in risky:
                made.append(_defused_line(line, places))
                break
        else:
            made.append(line)
    return made


def _defused_line(line: Line, places: Sequence[int]) -> Line:
    cells = list(line)
    for at in places:
        cells[at] = defused(cells[at])
    return cells
