"""Some results to look at: those that fit a few conditions, a page at a time, in the order of the files. Rows with a
flag, such as `navigation-only`, come after all others."""

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from gossamer.db.database import Database
from gossamer.export import results
from gossamer.model.job import Job
from gossamer.recipes.base import Asked, Line

_NAMES = [column.name for column in results.RESULTS.columns]
_KEYWORD, _VERDICT, _FLAGS = _NAMES.index("keyword"), _NAMES.index("verdict"), _NAMES.index("flags")


@dataclass(frozen=True, slots=True)
class Where:
    """Which results. What is empty does not matter."""

    domain: str = ""  # a site, or a domain with all its sites
    keyword: str = ""  # as the job has it
    verdict: str = ""

    def __bool__(self) -> bool:
        return bool(self.domain or self.keyword or self.verdict)


@dataclass(frozen=True, slots=True)
class Page:
    """Results with all their columns, and whether there are more."""

    rows: list[dict[str, Any]]
    is_last: bool


async def read_page(database: Database, job: Job, where: Where, number: int, size: int) -> Page:
    """Page `number`, from 1, of `size` results. No more is read than leads there.

    Flags depend on all rows of a site, so no index has them: all is read once before the first flagged row is shown.
    """
    asked = Asked(job, results.RESULTS.columns)
    if where.domain:
        asked = replace(asked, domains=frozenset({where.domain}))
    conditions = [(at, value) for at, value in ((_KEYWORD, where.keyword), (_VERDICT, where.verdict)) if value]
    before, rows = (number - 1) * size, list[Line]()
    for flagged in (False, True):
        async with aclosing(results.lines(database, asked)) as batches:
            async for some in batches:
                fitting = [line for line in some if bool(line[_FLAGS]) is flagged]
                fitting = [line for line in fitting if all(line[at] == value for at, value in conditions)]
                rows += fitting[before : before + size + 1 - len(rows)]
                before = max(0, before - len(fitting))
                if len(rows) > size:
                    break
        if len(rows) > size:
            break
    return Page([dict(zip(_NAMES, line, strict=True)) for line in rows[:size]], len(rows) <= size)
