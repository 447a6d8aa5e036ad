"""Lines as the rows of a sheet, in the XML that spreadsheets read: written as they come, nothing kept but links."""

import re
from collections.abc import Sequence
from typing import IO

from gossamer.exports.formula import defused_lines, texts
from gossamer.exports.readable import shown_as
from gossamer.exports.xlsx import MOST_ROWS, cut
from gossamer.recipes.base import Column, Line

MOST_LINKS = 65_530  # of a sheet, by the limits of Excel
MOST_BYTES = 1_500_000_000  # of a sheet: what a plain zip archive holds, with room to spare
_LONGEST_LINK = 2_079

# An address that is one to the strictest reader. Any other stays text.
_LINK = re.compile(r"https?://(?:[\w\-.~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+", re.ASCII)
# What must not stand in XML as it is. `_x0041_` would be read as an "A".
_ODD = re.compile("[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "_": "_x005F_", "\r": "\n"}
_NO_CHARACTER = "\ufffd"


def escaped(text: str) -> str:
    """Text of a cell: a carriage return is a line end, and what no file may contain a replacement character."""
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return _ODD.sub(lambda odd: _NAMED.get(odd[0], _NO_CHARACTER), text) if _ODD.search(text) else text


def letters(at: int) -> str:
    """The name of a column: A, B, ... Z, AA."""
    name = ""
    while at >= 0:
        name, at = chr(ord("A") + at % 26) + name, at // 26 - 1
    return name


class Sheet:
    """One sheet being written. `styles` are the numbers of its columns' formats."""

    def __init__(
        self, file: IO[bytes], columns: Sequence[Column], styles: Sequence[int], *, raw: bool, rows: int = MOST_ROWS
    ) -> None:
        self._file = file
        self._room = rows - 1  # the header takes one
        self._texts = () if raw else texts(columns)
        self._columns = [
            (letters(at), f'" s="{style}"', column.kind == "url", shown_as(column))
            for at, (column, style) in enumerate(zip(columns, styles, strict=True))
        ]
        self._bytes = 0
        self.rows = 0
        self.links: list[tuple[str, str]] = []  # place and address
        self.links_left_out = 0

    def add(self, lines: list[Line]) -> list[Line]:
        """Write these lines; return those for which there was no room."""
        fits = lines[: self._room - self.rows] if self._bytes < MOST_BYTES else []
        row, made = self.rows + 1, []
        for line in defused_lines(fits, self._texts) if self._texts else fits:
            row += 1
            made.append(self._row(row, line))
        self.rows += len(fits)
        data = "".join(made).encode()
        self._bytes += len(data)
        self._file.write(data)
        return lines[len(fits) :]

    def _row(self, row: int, line: Line) -> str:
        cells = [f'<row r="{row}">']
        for (letter, style, is_link, shown), given in zip(self._columns, line, strict=True):
            if given is None or given == "":
                continue
            value = shown(given) if shown and isinstance(given, str) else given
            if isinstance(value, str):
                text = escaped(value if len(value) < 10_000 else str(cut(value)))
                # Else spaces at either end are lost.
                kept = ' xml:space="preserve"' if text[0].isspace() or text[-1].isspace() else ""
                cells.append(f'<c r="{letter}{row}{style} t="inlineStr"><is><t{kept}>{text}</t></is></c>')
                if is_link:
                    self._link(f"{letter}{row}", given)
            else:
                cells.append(f'<c r="{letter}{row}{style}><v>{value}</v></c>')
        cells.append("</row>")
        return "".join(cells)

    def _link(self, place: str, url: str) -> None:
        if len(url) > _LONGEST_LINK or not _LINK.fullmatch(url):
            return
        if len(self.links) < MOST_LINKS:
            self.links.append((place, url))
        else:
            self.links_left_out += 1
