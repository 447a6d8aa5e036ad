"""Exports: from the request to the bytes of the file, streamed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile

import orjson

from gossamer.billing.prices import PriceList
from gossamer.db.database import Database
from gossamer.exports.encoding import Draft
from gossamer.exports.formats import Format
from gossamer.exports.threads import chunks_of
from gossamer.model.job import Job
from gossamer.model.states import OVER
from gossamer.recipes.base import Column, Line, Lines, Looks, Table, TableQuery

_GROWTH = 5  # a job at work may add a fifth while its file is written

USUAL = PriceList()

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Order:
    """One file: which table of which job, how."""

    job: Job
    table: Table
    form: Format
    columns: tuple[str, ...] = ()  # none: the usual ones
    only: str = ""
    looks: Looks = Looks()
    since: Job | None = None
    excluded: frozenset[str] = frozenset()

    def chosen(self) -> tuple[Column, ...]:
        """The columns of the file, in its order."""
        if not self.columns and self.form.whole:
            return self.table.columns
        return self.table.choose(self.columns) if self.columns else self.table.usual(self.job.params)

    def asked(self) -> TableQuery:
        """Return the query for the table. If the file is keyed by columns, these come first and order the lines."""
        columns = self.chosen()
        nested = self.table.nested if self.form.keyed else ()
        keys = self.table.choose(nested) if nested else ()
        others = tuple(column for column in columns if column not in keys)
        order = (nested[-1], "url") if nested else ()
        return TableQuery(self.job, keys + others if keys else columns, self.only, order, self.since, self.excluded)


async def expected(database: Database, order: Order) -> int:
    """Return the expected number of lines, as far as it can be determined quickly."""
    return await order.table.count(database, order.asked())


async def make_file(
    database: Database,
    order: Order,
    told: Progress,
    *,
    lines_expected: int = 0,
    folder: Path | None = None,
    prices: PriceList = USUAL,
) -> AsyncIterator[bytes]:
    """Yield the file in pieces. `told` is called with the number of lines so far; one batch is in memory.

    `prices` are those of this installation: the workbook computes savings from them.
    """
    asked = replace(order.asked(), told=told, prices=prices if order.looks.costs else None)
    if order.form.name == "xlsx" and order.table.book:
        from gossamer.exports.workbook import write_workbook  # other formats are written without its library

        with NamedTemporaryFile(dir=folder, prefix=".", suffix=".part") as file:
            whole = replace(asked, columns=order.table.columns) if not order.columns else asked
            told(await write_workbook(Path(file.name), database, order.table, whole, order.looks))
            # Whoever wrote it may have put another file in its place.
            with await asyncio.to_thread(Path(file.name).open, "rb") as written:
                async for chunk in chunks_of(written):
                    yield chunk
        return
    if order.job.state not in OVER:
        lines_expected += lines_expected // _GROWTH
    lines, columns = order.table.lines(database, asked), asked.columns
    if not order.form.values and any(column.kind == "value" for column in columns):
        lines, columns = _written_out(lines, columns), tuple(map(_plain, columns))
    draft = Draft(order.table, columns, order.looks, lines_expected, folder)
    async for chunk in order.form.encode(_counted(lines, told), draft):
        yield chunk


def _plain(column: Column) -> Column:
    return replace(column, kind="text") if column.kind == "value" else column


async def _written_out(lines: Lines, columns: tuple[Column, ...]) -> Lines:
    """Values as JSON, for files that have only plain cells."""
    values = [at for at, column in enumerate(columns) if column.kind == "value"]
    async for some in lines:
        made = [list(line) for line in some]
        for line in made:
            for at in values:
                line[at] = None if line[at] is None else orjson.dumps(line[at]).decode()
        yield list[Line](made)


async def _counted(lines: Lines, told: Progress) -> Lines:
    done = 0
    async for some in lines:
        done += len(some)
        yield some
        told(done)
