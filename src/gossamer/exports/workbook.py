"""XLSX for a client: summary, ranking, all rows, failures and costs, in one file ready to send.

The rows are read once and written as they come, while everything is counted and ranked; the other sheets
follow. The parts of an archive may be in any order, so the summary, though the first sheet, is written last
and agrees with all others. Only the ranking and the links of one sheet take memory.
"""

import asyncio
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from gossamer.db.database import Database
from gossamer.exports.sheet import Sheet
from gossamer.exports.workbook_summary import Told, write_front
from gossamer.exports.workbook_writer import ACCENT, Frame, Plan, SheetFrame, make_frame, relations
from gossamer.exports.xlsx import MOST_ROWS
from gossamer.recipes.base import Book, Column, Line, Looks, Table, TableQuery
from gossamer.recipes.overview import FrontSheet, Overview
from gossamer.recipes.tables import COSTS, ERRORS, by_cost

_LEVEL = 3  # of compression: a third of the time of the usual one, for a tenth more bytes
_FIRST_ROWS = 3  # number of the sheet: after the summary and the ranking


async def write_workbook(
    path: Path,
    database: Database,
    table: Table,
    asked: TableQuery,
    looks: Looks,
    *,
    rows_per_sheet: int = MOST_ROWS,
) -> int:
    """Write the file of a table with a book; how many lines of the table are in it.

    `asked` is the part wanted of it; the other tables are there with all their columns.
    """
    book = table.book
    assert book is not None  # noqa: S101 - others are plain sheets
    of_ranked = table.name == book.ranked.table
    ranked = asked if of_ranked else replace(asked, columns=book.ranked.columns, only="", told=None)
    rows = replace(asked, columns=book.rows.columns, only="") if of_ranked else asked
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        writer = _Writer(archive, book, rows, ranked.columns, looks, rows_per_sheet)
        try:

            async def add(lines: list[Line]) -> None:
                await _apart(lambda: writer.add_rows(lines))
                if rows.told and not of_ranked:
                    rows.told(writer.written)

            survey = book.survey(database, ranked)
            overview = await survey.read(add)
            failed = await _all_of(ERRORS, database, rows)
            costs = None
            if overview.bill and overview.bill.could_cost:
                costs = sorted(await _all_of(COSTS, database, rows), key=by_cost)
            front = survey.front(looks.client, rows.only)
            await _apart(lambda: writer.end_rows(overview, front, survey.ranked_count, len(failed), costs))
            async for some in survey.ranked(ranked.columns):
                await _apart(lambda lines=some: writer.add_ranked(lines))  # type: ignore[misc]
            await _apart(lambda: writer.finish(failed, costs))
        except BaseException:
            writer.abandon()
            raise
    return survey.ranked_count if of_ranked else writer.written


async def _all_of(table: Table, database: Database, asked: TableQuery) -> list[Line]:
    """All lines of a table of which there is one per domain at most."""
    return [line async for some in table.lines(database, replace(asked, columns=table.columns)) for line in some]


async def _apart(work: Callable[[], None]) -> None:
    """Run `work` in a thread. On cancellation, wait for it: two threads must not write into one archive."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        with suppress(Exception):
            await working
        raise


class _Writer:
    """The archive while it grows."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        book: Book,
        asked: TableQuery,
        ranked: tuple[Column, ...],
        looks: Looks,
        rows_per_sheet: int,
    ) -> None:
        self._archive = archive
        self._book = book
        self._raw, self._title = looks.raw, looks.title
        self._only = asked.only
        self._silent = frozenset[str]() if asked.since else frozenset(book.ranked.only_compared)
        self._rows_per_sheet = rows_per_sheet
        self._ranked = ranked
        self._columns = asked.columns
        self._places = [book.rows.columns.index(column) for column in asked.columns]
        self._whole = self._columns == book.rows.columns
        names = [column.name for column in book.rows.columns]
        self._filtered_by = names.index(book.filtered_by) if book.filtered_by else None
        # The numbers of formats are those of the last frame too: both are made alike.
        self._frame = self._make_frame(self._example(), [rows_per_sheet - 1], 1, 1)
        self._sheet: _Open | None = None
        self._sheets: list[int] = []  # rows of each sheet of rows
        self._unlinked_links = 0
        self.written = 0

    def _example(self) -> Told:
        nothing = FrontSheet("", (), (), (), (), "")
        return Told(None, nothing, self._book.rows.title, self._book.ranked.title)

    def add_rows(self, lines: list[Line]) -> None:
        if self._only and self._filtered_by is not None:
            lines = [line for line in lines if line[self._filtered_by] == self._only]
        if not self._whole:
            lines = [[line[at] for at in self._places] for line in lines]
        self.written += len(lines)
        while lines:
            sheet = self._sheet or self._open_rows()
            lines = sheet.rows.add(lines)
            if lines:
                self._end_sheet()

    def end_rows(
        self, overview: Overview, front: FrontSheet, ranked: int, failed: int, costs: Sequence[Line] | None
    ) -> None:
        """Finish the rows and write the frame of the remaining sheets, now that all counts are known."""
        if self._sheet is None and not self._sheets:
            self._open_rows()
        self._end_sheet()
        told = Told(
            overview,
            front,
            self._book.rows.title,
            self._book.ranked.title,
            tuple(self._sheets),
            ranked,
            self._unlinked_links,
            self._raw,
            self._title,
        )
        before = self._frame.sheet(_FIRST_ROWS).styles
        priced = None if costs is None else len(costs)
        self._frame = self._make_frame(told, self._sheets, ranked, failed, priced)
        if self._frame.sheet(_FIRST_ROWS).styles != before:
            raise RuntimeError("the two frames of a workbook number their formats differently")

    def add_ranked(self, lines: list[Line]) -> None:
        if self._sheet is None:
            self._sheet = self._open(2, self._frame.sheet(2), self._ranked)
        self._sheet.rows.add(lines)

    def finish(self, failed: Sequence[Line], costs: Sequence[Line] | None) -> None:
        """The sheets that are still missing, and everything that is not a sheet."""
        if self._sheet is None:
            self._sheet = self._open(2, self._frame.sheet(2), self._ranked)
        self._sheet.close(self._archive)
        last = _FIRST_ROWS + len(self._sheets)
        if costs is not None:
            self._write_sheet(last, COSTS.columns, costs)
            last += 1
        self._write_sheet(last, ERRORS.columns, failed)
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
        """Close open files of a workbook that is not needed any more."""
        if self._sheet:
            self._sheet.abandon()

    def _open_rows(self) -> "_Open":
        frame = self._frame.sheet(_FIRST_ROWS)
        self._sheet = self._open(_FIRST_ROWS + len(self._sheets), frame, self._columns, self._rows_per_sheet)
        return self._sheet

    def _open(self, number: int, frame: SheetFrame, columns: Sequence[Column], rows: int = MOST_ROWS) -> "_Open":
        file = self._archive.open(f"xl/worksheets/sheet{number}.xml", "w")
        file.write(frame.before.encode())
        return _Open(number, file, frame, Sheet(file, columns, frame.styles, raw=self._raw, rows=rows))

    def _make_frame(
        self, told: Told, rows: Sequence[int], ranked: int, failed: int, priced: int | None = None
    ) -> Frame:
        sheet = self._book.ranked
        title = self._book.rows.title
        names = [title, *(f"{title} {number}" for number in range(2, len(rows) + 1))]
        plans = [
            Plan(
                sheet.title,
                self._ranked,
                ranked,
                frozen=min(sheet.frozen, len(self._ranked)),
                colour=sheet.colour or ACCENT,
                hidden=self._silent,
            ),
            *(Plan(name, self._columns, count) for name, count in zip(names, rows, strict=True)),
            *([Plan("Costs", COSTS.columns, priced, colour="#6B46C1")] if priced is not None else []),
            Plan("Failed", ERRORS.columns, failed, colour="#B7791F"),
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
