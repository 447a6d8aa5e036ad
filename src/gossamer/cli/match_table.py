"""Results for a terminal: a line each; where that is too narrow, the words round the mention stand below it."""

import re
from collections.abc import Sequence
from typing import Any

from rich.cells import set_cell_size
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.cli import words
from gossamer.cli.tables import GAP, fit
from gossamer.export.readable import flag_words

MENTIONED = "bold yellow"

_NARROW = 150  # columns; in fewer, what is left beside the others says too little
_SHORTEST_CONTEXT = 24
_ROOM_FOR_FLAGS = 72  # columns; in fewer, the others would be wider than the terminal
_INDENT = 2
_HYPHENS = "[-\u2010\u2011\u2012\u2013]"


def matches(rows: Sequence[Any], room: int) -> RenderableType:
    """The results. Nothing is wider than `room`."""
    titles, most, least = ["Domain", "Page", "Keyword", "Times"], [28, 30, 24, 6], [12, 8, 8, 5]
    cells = [[row["domain"], _page(row["url"]), row["keyword"], f"{row['frequency'] or 0:,}"] for row in rows]
    if any(row["verdict"] for row in rows):
        titles, most, least = [*titles, "Verdict"], [*most, 15], [*least, 15]
        cells = [[*line, row["verdict"]] for line, row in zip(cells, rows, strict=True)]
    if room >= _ROOM_FOR_FLAGS and any(row.get("flags") for row in rows):
        titles, most, least = [*titles, "Flags"], [*most, 20], [*least, 13]
        cells = [[*line, flag_words(row.get("flags") or "")] for line, row in zip(cells, rows, strict=True)]
    widths = fit(titles, cells, most, least, room)
    left = room - sum(widths) - len(widths) * GAP
    if room < _NARROW or left < _SHORTEST_CONTEXT:
        return _in_two_lines(titles, cells, widths, rows, room)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, width in zip([*titles, "Context"], [*widths, left], strict=True):
        justify = _justify(title)
        table.add_column(title, no_wrap=True, overflow="ellipsis", width=width, justify=justify)  # type: ignore[arg-type]
    for line, row in zip(cells, rows, strict=True):
        table.add_row(*map(Text, line), context(row, left))
    return table


def _in_two_lines(
    titles: Sequence[str], cells: Sequence[Sequence[str]], widths: Sequence[int], rows: Sequence[Any], room: int
) -> RenderableType:
    lines = [Text(_padded(titles, titles, widths), style="bold", no_wrap=True, overflow="crop")]
    for line, row in zip(cells, rows, strict=True):
        lines.append(Text(_padded(titles, line, widths), no_wrap=True, overflow="crop"))
        below = Text(" " * _INDENT, no_wrap=True, overflow="crop")
        lines.append(below.append_text(context(row, room - _INDENT)))
    return Group(*lines)


def _padded(titles: Sequence[str], texts: Sequence[str], widths: Sequence[int]) -> str:
    cells = []
    for title, text, width in zip(titles, texts, widths, strict=True):
        cell = set_cell_size(text[: width - 1] + "…", width) if len(text) > width else text
        cells.append(cell.rjust(width) if _justify(title) == "right" else set_cell_size(cell, width))
    return (" " * GAP).join(cells)


def context(row: Any, room: int) -> Text:
    """The words round a mention, with the mention itself to be seen at once."""
    keyword = row["keyword"]
    # The keyword and the dots at both ends come on top of the words round it.
    around = words.around(row["context_snippet"], keyword, max(0, room - len(keyword) - 6))
    text = Text(around, no_wrap=True, overflow="ellipsis")
    pattern = re.escape(keyword).replace(r"\-", _HYPHENS)
    for found in re.finditer(pattern, around, re.IGNORECASE):
        text.stylize(MENTIONED, *found.span())
    text.truncate(room, overflow="ellipsis")
    return text


def _justify(title: str) -> str:
    return "right" if title == "Times" else "left"


def _page(url: str) -> str:
    return "/" + url.split("/", 3)[3]
