"""Lines as a plain workbook: one table, on as many sheets as it needs."""

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from tempfile import NamedTemporaryFile
from typing import Any

from gossamer.errors import GossamerError
from gossamer.exports.encoding import Draft
from gossamer.exports.formula import defused_lines, texts
from gossamer.exports.threads import chunks_of, write_in_thread
from gossamer.recipes.base import Cell, Line, Lines

MOST_ROWS = 1_048_576  # of a sheet, the header among them
MOST_TEXT = 32_767  # characters of a cell
CUT = " [cut]"  # how a text ends that was longer

_WIDTHS = {"text": 30.0, "url": 50.0, "number": 12.0, "decimal": 12.0, "money": 12.0, "time": 22.0}


def cut(cell: Cell) -> Cell:
    """Text that fits into a cell."""
    if isinstance(cell, str) and len(cell) > MOST_TEXT // 2 and _units(cell) > MOST_TEXT:
        kept = cell[: MOST_TEXT - len(CUT)]
        while _units(kept) > MOST_TEXT - len(CUT):
            kept = kept[: -max(1, (_units(kept) - MOST_TEXT + len(CUT)) // 2)]
        return kept + CUT
    return cell


def _units(text: str) -> int:
    """As spreadsheets count: a character outside the first 65,536 is two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


async def encode_xlsx(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    """Frozen header and filters; text cut where a cell cannot hold it."""
    with NamedTemporaryFile(dir=draft.folder, prefix=".", suffix=".part") as file:
        await write_in_thread(lambda batches: _write(file.name, draft, batches), lines)
        async for chunk in chunks_of(file):
            yield chunk


def _write(path: str, draft: Draft, batches: Iterator[list[Line]]) -> None:
    # A large library, needed for workbooks only.
    from rustpy_xlsxwriter import write_worksheets

    rows = _rows(draft, batches)
    # The library wants to know all sheets beforehand.
    several = max(1, -(-draft.expected // (MOST_ROWS - 1)))
    names = [draft.table.name, *(f"{draft.table.name} {number}" for number in range(2, several + 1))]
    sheets: list[tuple[str, Any]] = [(name, _one_at_least(islice(rows, MOST_ROWS - 1), draft)) for name in names]
    write_worksheets(
        sheets,
        path,
        freeze_panes={"general": {"row": 1}},
        bold_headers=True,
        column_widths={name: {column.name: _WIDTHS[column.kind] for column in draft.columns} for name in names},
        autofilter=dict.fromkeys(names, True),
    )
    if next(rows, None) is not None:  # nothing is lost in silence
        raise GossamerError("The job found more than was planned for while its file was written. Make it once more.")


def _rows(draft: Draft, batches: Iterator[list[Line]]) -> Iterator[dict[str, Cell]]:
    names = [column.name for column in draft.columns]
    places = texts(draft.columns)
    for some in batches:
        for line in some if draft.looks.raw else defused_lines(some, places):
            yield dict(zip(names, map(cut, line), strict=True))


def _one_at_least(rows: Iterator[dict[str, Cell]], draft: Draft) -> Iterator[dict[str, Cell]]:
    """The header is taken from the first row, so a sheet without any gets an empty one."""
    first = next(rows, None)
    yield first if first is not None else dict.fromkeys(column.name for column in draft.columns)
    yield from rows
