"""Some rows of a table to look at: those that fit a few conditions, a page at a time, in the order of the files."""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from gossamer.db.database import Database
from gossamer.model.job import Job
from gossamer.recipes.base import Line, Table, TableQuery


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions on rows; empty ones are ignored."""

    domain: str = ""  # a site, or a domain with all its sites
    values: Mapping[str, str] = field(default_factory=dict)  # by column

    def __bool__(self) -> bool:
        return bool(self.domain or self.values)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows with all their columns, and whether there are more."""

    rows: list[dict[str, Any]]
    is_last: bool


async def read_page(
    database: Database, job: Job, table: Table, where: Where, number: int, size: int, *, last: str = ""
) -> Page:
    """Page `number`, from 1, of `size` rows. No more is read than leads there.

    Rows with a value in the column `last` come after all others. It may depend on all rows of a site, so that no index
    has it: all is read once before the first of these is shown.
    """
    names = [column.name for column in table.columns]
    domains = frozenset({where.domain}) if where.domain else frozenset[str]()
    asked = TableQuery(job, table.columns, domains=domains)
    conditions = [(names.index(column), value) for column, value in where.values.items() if value]
    late = names.index(last) if last else None
    before, rows = (number - 1) * size, list[Line]()
    for is_late in (False, True) if late is not None else (False,):
        async with aclosing(table.lines(database, asked)) as batches:
            async for some in batches:
                fitting = [line for line in some if all(line[at] == value for at, value in conditions)]
                if late is not None:
                    fitting = [line for line in fitting if bool(line[late]) is is_late]
                rows += fitting[before : before + size + 1 - len(rows)]
                before = max(0, before - len(fitting))
                if len(rows) > size:
                    break
        if len(rows) > size:
            break
    return Page([dict(zip(names, line, strict=True)) for line in rows[:size]], len(rows) <= size)
