"""Questions about what a job has found, and where it failed."""

from collections.abc import Collection
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from gossamer.db.database import Database
from gossamer.exports.orders import table_named
from gossamer.exports.paging import Page, Where, read_page
from gossamer.model.job import Job, Progress
from gossamer.model.states import SiteState
from gossamer.model.trouble import FOR_PEOPLE
from gossamer.questions import kept
from gossamer.questions.conditions import Conditions
from gossamer.questions.costs import Costs, read_costs
from gossamer.questions.known import recipe_of
from gossamer.questions.limits import Few, Many, Place, Text
from gossamer.questions.view import View
from gossamer.recipes.base import Asked, Column, Line, Table
from gossamer.recipes.tables import COSTS, ERRORS, by_cost
from gossamer.store import counters, sites
from gossamer.store.sites import SiteSummary

_MOST_COUNTED = 10_000  # results that are read to say how many there are


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a table, and whether there are more."""

    names: tuple[str, ...]
    rows: list[list[Any]]
    more: bool


@dataclass(frozen=True, slots=True)
class Results:
    """A page of rows. Past the last one, `before` says how many there are."""

    job: Job
    progress: Progress
    where: Where
    page: Page
    total: int  # rows of the table, as far as is quick to say, without any condition
    before: Page | None = None


@dataclass(frozen=True, slots=True)
class Failures:
    """Domains that failed, or of a scrape job pages."""

    job: Job
    progress: Progress
    sites: tuple[SiteSummary, ...] = ()
    pages: Lines | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """Costs of domains, most expensive first."""

    job: Job
    rows: list[list[Any]]
    total: int  # domains in all
    costs: Costs


async def results(
    view: View, job: Text, conditions: Conditions, page: Place, limit: Few, *, whole: bool = False
) -> Results:
    """A page of them; with all columns if they are wanted `whole`, else with those a terminal shows."""
    found, database = await view.job(job)
    await kept.refuse_gone(view, database, found)
    recipe = recipe_of(view.recipes, found)
    table, last = recipe.tables[0], recipe.screen.last if recipe.screen else ""
    progress = await database.read(counters.progress, found.id)
    where = conditions.where(found, recipe)
    rows = await read_page(database, found, table, where, page, limit, last=last)
    before = None
    if not rows.rows and page > 1:
        most = min(limit * (page - 1), _MOST_COUNTED)
        before = await read_page(database, found, table, where, 1, most, last=last)
    if recipe.screen and not whole:
        rows = _only(rows, recipe.screen.names)
    total = await table.count(database, Asked(found, table.columns))
    return Results(found, progress, where, rows, total, before)


def _only(page: Page, names: Collection[str]) -> Page:
    return Page([{name: row[name] for name in row if name in names} for row in page.rows], page.is_last)


async def failures(view: View, job: Text, limit: Many, *, by_hand: bool = False) -> Failures:
    """With `by_hand`, only domains that want something of a person: a login, a CAPTCHA."""
    found, database = await view.job(job)
    await kept.refuse_gone(view, database, found)
    progress = await database.read(counters.progress, found.id)
    if found.extent.in_pages:
        errors = table_named(ERRORS.name, found.recipe)
        return Failures(found, progress, pages=await _some(errors, database, Asked(found, errors.columns), 0, limit))
    reasons = FOR_PEOPLE if by_hand else ()
    summaries = await database.read(sites.summaries, found.id, SiteState.FAILED, reasons=reasons, limit=limit)
    return Failures(found, progress, tuple(summaries))


async def spent(view: View, job: Text, limit: Many) -> Spent:
    found, database = await view.job(job)
    await kept.refuse_gone(view, database, found)
    lines = [line async for some in COSTS.lines(database, Asked(found, COSTS.columns)) for line in some]
    dearest = [list(line) for line in sorted(lines, key=by_cost)[:limit]]
    progress = await database.read(counters.progress, found.id)
    return Spent(found, dearest, len(lines), await database.read(read_costs, found, progress, view.prices))


async def _some(table: Table, database: Database, asked: Asked, before: int, most: int) -> Lines:
    """So many lines after the first ones. No more is read than leads there."""
    rows: list[Line] = []
    async with aclosing(table.lines(database, asked)) as batches:
        async for some in batches:
            rows += some[before : before + most + 1 - len(rows)]
            before = max(0, before - len(some))
            if len(rows) > most:
                break
    return Lines(_names(asked.columns), [list(line) for line in rows[:most]], len(rows) > most)


def _names(columns: tuple[Column, ...]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)
