"""Tables in lists: from text or sheet rows to the cells of the relevant column, each with its line number.

A list may be plain lines or a table with one of four delimiters, with or without a header. No cell is lost because a
table was parsed wrongly: if quotes do not match, every line is read on its own.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from gossamer.intake.textfile import UnusableCell, split_lines

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 200

# By preference, for tables with several of them.
HEADERS = ("domain", "domains", "url", "urls", "website", "websites", "host", "hosts", "hostname", "site", "sites")
# Words that may accompany one of them in a header. A sentence about domains has other words too.
_BESIDE = frozenset({"address", "addresses", "client", "company", "customer", "list", "name", "names", "target", "web"})

_WORDS = re.compile(r"[^\W\d_]+")
_NOT_A_TITLE = re.compile(r"[\d./@:]")
_EXCEL_HINT = re.compile(r"sep=(.)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry and the line it begins on, counted from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    cells: list[str]
    is_unsplit: bool = False  # has delimiters, but an unmatched quote hides them


def read_cells(text: str, looks_right: Callable[[str], bool]) -> list[Cell]:
    """Return the cells of the relevant column, without blank ones and comments."""
    lines = split_lines(text)
    told = _told_delimiter(lines)
    sample = list(_first(_without_comments(lines), SAMPLE))
    if not sample:
        return []
    return _of_rows(_rows(lines, told or _likeliest_delimiter(sample, looks_right)), looks_right)


def cells_of_sheet(sheet: Iterable[list[str]], looks_right: Callable[[str], bool]) -> list[Cell]:
    """Return the same for the rows of a sheet; comments are rows that begin with `#`, except formula errors."""
    rows = [
        _Row(number, cells)
        for number, cells in enumerate(sheet, start=1)
        if cells and (isinstance(cells[0], UnusableCell) or not _is_comment(cells[0]))
    ]
    return _of_rows(rows, looks_right)


def titles(read: str | list[list[str]]) -> list[str]:
    """Return the first row if it is clearly a header: several cells, none of which names a site."""
    if isinstance(read, str):
        first = next(iter(_first(_without_comments(split_lines(read)), 1)), "")
        row = _split(first, max(DELIMITERS, key=first.count))
    else:
        row = next((cells for cells in read if any(cells)), [])
    found = [cell.strip() for cell in row if cell.strip()]
    return found if len(found) > 1 and not any(_NOT_A_TITLE.search(cell) for cell in found) else []


def _of_rows(rows: list[_Row], looks_right: Callable[[str], bool]) -> list[Cell]:
    rows = [row for row in rows if any(cell.strip() for cell in row.cells)]
    if not rows:
        return []
    if len(rows) == 1 and _is_one_line_list(rows[0], looks_right):
        return [Cell(rows[0].line, cell) for cell in rows[0].cells if cell.strip()]
    column, has_header = _column(rows, looks_right)
    return list(_cells(rows[1:] if has_header else rows, column, has_header=has_header))


def _told_delimiter(lines: list[str]) -> str:
    """Return the delimiter of a line like `sep=;`, which Excel puts on top of some files, and blank that line."""
    for position, line in enumerate(lines):
        if line.strip() and not _is_comment(line):
            told = _EXCEL_HINT.fullmatch(line.strip(' "'))
            if told is None or told[1] not in DELIMITERS:
                return ""
            lines[position] = ""
            return told[1]
    return ""


def _first(lines: Iterable[str], most: int) -> Iterator[str]:
    for line in lines:
        if line.strip():
            yield line
            most -= 1
            if most <= 0:
                return


def _likeliest_delimiter(sample: list[str], looks_right: Callable[[str], bool]) -> str:
    """Return the delimiter that gives a named column, or else the column with the most matching cells."""

    def merit(delimiter: str) -> tuple[bool, int, int]:
        rows = [_split(line, delimiter) for line in sample]
        return _named_column(rows[0]) is not None, _best_column(rows, looks_right)[1], _uses(sample, delimiter)

    return max(DELIMITERS, key=merit)


def _uses(sample: list[str], delimiter: str) -> int:
    return sum(delimiter in line for line in sample)


def _without_comments(lines: Iterable[str]) -> list[str]:
    return ["" if _is_comment(line) else line for line in lines]


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _rows(lines: list[str], delimiter: str) -> list[_Row]:
    plain = _without_comments(lines)
    with suppress(csv.Error):
        return _table(plain, delimiter)
    with suppress(csv.Error):
        # The comment may have been the end of a multi-line cell, including its closing quote.
        return [row for row in _table(lines, delimiter) if not row.cells or not _is_comment(row.cells[0])]
    # Unmatched quotes would swallow the lines up to the next quote.
    split = [(number, line, _split(line, delimiter)) for number, line in enumerate(plain, start=1) if line]
    return [_Row(number, cells, is_unsplit=len(cells) == 1 and delimiter in line) for number, line, cells in split]


def _table(lines: list[str], delimiter: str) -> list[_Row]:
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, skipinitialspace=True, strict=True)
    rows = []
    begin = 1
    for cells in reader:
        rows.append(_Row(begin, cells))
        begin = reader.line_num + 1
    return rows


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return [line]  # too long for a cell: shown unchanged when it is refused


def _is_one_line_list(row: _Row, looks_right: Callable[[str], bool]) -> bool:
    """Return True for a list in one line, such as `a.com, b.com, c.com`, instead of a table."""
    cells = [cell for cell in row.cells if cell.strip()]
    return len(cells) > 1 and all(looks_right(cell) for cell in cells)


def _column(rows: list[_Row], looks_right: Callable[[str], bool]) -> tuple[int, bool]:
    """Choose the column; also return True if the first row is a header."""
    named = _named_column(rows[0].cells)
    if named is not None:
        return named, True
    column, fitting = _best_column([row.cells for row in rows[:SAMPLE]], looks_right)
    return column, _is_title(rows[0].cells, column, fitting, looks_right)


def _named_column(cells: list[str]) -> int | None:
    titles = [cell.strip(" \t\"'\ufeff").casefold() for cell in cells]
    return next((titles.index(name) for name in HEADERS if name in titles), None)


def _best_column(rows: Iterable[list[str]], looks_right: Callable[[str], bool]) -> tuple[int, int]:
    fitting: Counter[int] = Counter()
    for cells in rows:
        fitting.update(position for position, cell in enumerate(cells) if looks_right(cell))
    if not fitting:
        return 0, 0
    column = min(fitting, key=lambda position: (-fitting[position], position))
    return column, fitting[column]


def _is_title(cells: list[str], column: int, fitting: int, looks_right: Callable[[str], bool]) -> bool:
    """Return True if an unknown first row is a header: words about sites, or plain words above matching cells."""
    title = cells[column] if column < len(cells) else ""
    if looks_right(title) or any(_NOT_A_TITLE.search(cell) for cell in cells):
        return False
    words = [word.casefold() for word in _WORDS.findall(title)]
    if any(word in HEADERS for word in words) and all(word in HEADERS or word in _BESIDE for word in words):
        return True
    return fitting > 0 and sum(bool(cell.strip()) for cell in cells) > 1


def _cells(rows: Iterable[_Row], column: int, *, has_header: bool) -> Iterator[Cell]:
    for row in rows:
        # Below a header, a row that ends before the column has no entry: its cells belong to other titles. A single
        # cell whose place is not known, in a guessed column or an unmatched quote, is better refused than lost.
        position = 0 if len(row.cells) == 1 and (row.is_unsplit or not has_header) else column
        text = row.cells[position] if position < len(row.cells) else ""
        if text.strip():
            yield Cell(row.line, text)
