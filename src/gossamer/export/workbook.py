"""XLSX for a client: a summary, the prospects, all matches, what failed and what it cost, in one file fit to be sent.

The matches are read once and written as they come, while the prospects are ranked and everything is counted; the other
sheets follow. An archive's parts may stand in any order, so the summary, though the first sheet, is written last and
agrees with all others. Memory is taken by the ranking and by the links of one sheet.
"""

import asyncio
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, NamedTuple

from gossamer.db.database import Database
from gossamer.export import costs, errors
from gossamer.export.frame import Frame, Plan, SheetFrame, make_frame, relations
from gossamer.export.front_sheet import Told, write_front
from gossamer.export.overview import MATCHES, Overview, survey
from gossamer.export.prospects import COLUMNS as PROSPECTS
from gossamer.export.prospects import Ranking
from gossamer.export.sheet import Sheet
from gossamer.export.xlsx import MOST_ROWS
from gossamer.recipes.base import Asked, Column, Line, Looks

_LEVEL = 3  # of compression: a third of the time of the usual one, for a tenth more bytes
_VERDICT = next(at for at, column in enumerate(MATCHES) if column.name == "verdict")
_FAILED = errors.ERRORS.columns
_COSTS = costs.COSTS.columns
_FIRST_MATCHES = 3  # number of the sheet: after the summary and the prospects


class Written(NamedTuple):
    """How many lines of each are in the file."""

    matches: int
    prospects: int


async def write_workbook(
    path: Path,
    database: Database,
    asked: Asked,
    looks: Looks,
    *,
    prospects: Asked | None = None,
    rows_per_sheet: int = MOST_ROWS,
) -> Written:
    """Write the file. `asked` says which matches and which of their columns, `prospects` the same of the domains."""
    wanted = prospects or replace(asked, columns=PROSPECTS, only="", told=None)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        book = _Book(archive, asked, wanted.columns, looks, rows_per_sheet)
        try:

            async def add(lines: list[Line]) -> None:
                await _apart(lambda: book.add_matches(lines))
                if asked.told and prospects is None:
                    asked.told(book.written)

            ranking = Ranking(database, wanted.job, wanted.since, wanted.only)
            overview = await survey(database, wanted, add, ranking)
            failed = [line async for some in errors.lines(database, replace(asked, columns=_FAILED)) for line in some]
            dearest = await _dearest(database, asked) if overview.bill and overview.bill.could_cost else None
            await _apart(lambda: book.end_matches(overview, len(failed), dearest))
            async for some in ranking.lines(wanted.columns):
                await _apart(lambda lines=some: book.add_prospects(lines))  # type: ignore[misc]
            await _apart(lambda: book.finish(failed, dearest))
        except BaseException:
            book.abandon()
            raise
    return Written(book.written, overview.ranking.domains)


async def _dearest(database: Database, asked: Asked) -> list[Line]:
    """What each domain has cost, the dearest first: who pays asks for those."""
    found = [line async for some in costs.lines(database, replace(asked, columns=_COSTS)) for line in some]
    return sorted(found, key=costs.by_cost)


async def _apart(work: Callable[[], None]) -> None:
    """In a thread, so that no loop waits. Cancelled, we end when it does: two must not write into one archive."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        with suppress(Exception):
            await working
        raise


class _Book:
    """The archive while it grows."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        asked: Asked,
        prospects: tuple[Column, ...],
        looks: Looks,
        rows_per_sheet: int,
    ) -> None:
        self._archive = archive
        self._raw = looks.raw
        self._title, self._client = looks.title, looks.client
        self._only = asked.only
        self._silent = frozenset[str]() if asked.since else frozenset({"new"})
        self._rows_per_sheet = rows_per_sheet
        self._prospects = prospects
        self._columns = asked.columns
        self._places = [MATCHES.index(column) for column in asked.columns]
        self._whole = self._columns == MATCHES
        # The numbers of formats are those of the last frame too: both are made alike.
        self._frame = self._make_frame(Told(None), [rows_per_sheet - 1], 1, 1)
        self._sheet: _Open | None = None
        self._sheets: list[int] = []  # rows of each sheet of matches
        self._unlinked_links = 0
        self.written = 0

    def add_matches(self, lines: list[Line]) -> None:
        if self._only:
            lines = [line for line in lines if line[_VERDICT] == self._only]
        if not self._whole:
            lines = [[line[at] for at in self._places] for line in lines]
        self.written += len(lines)
        while lines:
            sheet = self._sheet or self._open_matches()
            lines = sheet.rows.add(lines)
            if lines:
                self._end_sheet()

    def end_matches(self, overview: Overview, failed: int, dearest: Sequence[Line] | None) -> None:
        """All is counted: here is the frame of the other sheets."""
        if self._sheet is None and not self._sheets:
            self._open_matches()
        self._end_sheet()
        told = Told(
            overview, tuple(self._sheets), self._unlinked_links, self._only, self._raw, self._title, self._client
        )
        before = self._frame.sheet(_FIRST_MATCHES).styles
        priced = None if dearest is None else len(dearest)
        self._frame = self._make_frame(told, self._sheets, overview.ranking.domains, failed, priced)
        if self._frame.sheet(_FIRST_MATCHES).styles != before:
            raise RuntimeError("the two frames of a workbook number their formats differently")

    def add_prospects(self, lines: list[Line]) -> None:
        if self._sheet is None:
            self._sheet = self._open(2, self._frame.sheet(2), self._prospects)
        self._sheet.rows.add(lines)

    def finish(self, failed: Sequence[Line], dearest: Sequence[Line] | None) -> None:
        """The sheets that are still missing, and everything that is not a sheet."""
        if self._sheet is None:
            self._sheet = self._open(2, self._frame.sheet(2), self._prospects)
        self._sheet.close(self._archive)
        last = _FIRST_MATCHES + len(self._sheets)
        if dearest is not None:
            self._write_sheet(last, _COSTS, dearest)
            last += 1
        self._write_sheet(last, _FAILED, failed)
        written = set(self._archive.namelist())
        tables = {f"xl/worksheets/_rels/sheet{number}.xml.rels" for number in range(2, last + 1)}
        for name, part in self._frame.parts.items():
            if name not in written | tables:
                self._archive.writestr(name, part)

    def _write_sheet(self, number: int, columns: Sequence[Column], lines: Sequence[Line]) -> None:
        self._sheet = self._open(number, self._frame.sheet(number), columns)
        self._sheet.rows.add(list(lines))
        self._sheet.close(self._archive)
        self._sheet = None

    def _end_sheet(self) -> None:
        if self._sheet:
            self._sheet.close(self._archive)
            self._sheets.append(self._sheet.rows.rows)
            self._unlinked_links += self._sheet.rows.links_left_out
            self._sheet = None

    def abandon(self) -> None:
        """Nobody will read it: only what is open has to be closed."""
        if self._sheet:
            self._sheet.abandon()

    def _open_matches(self) -> "_Open":
        frame = self._frame.sheet(_FIRST_MATCHES)
        self._sheet = self._open(_FIRST_MATCHES + len(self._sheets), frame, self._columns, self._rows_per_sheet)
        return self._sheet

    def _open(self, number: int, frame: SheetFrame, columns: Sequence[Column], rows: int = MOST_ROWS) -> "_Open":
        file = self._archive.open(f"xl/worksheets/sheet{number}.xml", "w")
        file.write(frame.before.encode())
        return _Open(number, file, frame, Sheet(file, columns, frame.styles, raw=self._raw, rows=rows))

    def _make_frame(
        self, told: Told, matches: Sequence[int], prospects: int, failed: int, priced: int | None = None
    ) -> Frame:
        names = ["Matches", *(f"Matches {number}" for number in range(2, len(matches) + 1))]
        plans = [
            Plan(
                "Prospects",
                self._prospects,
                prospects,
                frozen=min(2, len(self._prospects)),
                colour="#2F855A",
                hidden=self._silent,
            ),
            *(Plan(name, self._columns, rows) for name, rows in zip(names, matches, strict=True)),
            *([Plan("Costs", _COSTS, priced, colour="#6B46C1")] if priced is not None else []),
            Plan("Failed", _FAILED, failed, colour="#B7791F"),
        ]
        return make_frame(plans, lambda book, sheet: write_front(book, sheet, told), told.heading)


class _Open:
    """A sheet whose part of the archive is open."""

    def __init__(self, number: int, file: IO[bytes], frame: SheetFrame, rows: Sheet) -> None:
        self._number = number
        self._file = file
        self._frame = frame
        self.rows = rows

    def close(self, archive: zipfile.ZipFile) -> None:
        links = self.rows.links
        for piece in self._frame.end(self.rows.rows, links):
            self._file.write(piece.encode())
        self._file.close()
        if links:
            with archive.open(f"xl/worksheets/_rels/sheet{self._number}.xml.rels", "w") as file:
                for piece in relations(links):
                    file.write(piece.encode())
        self.rows.links = []

    def abandon(self) -> None:
        self._file.close()
