"""Results, failures and costs of a job's domains, and the conditions that select results."""

from collections.abc import Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from shlex import quote
from typing import Annotated, Any

from pydantic import Field

from gossamer.db.database import Database
from gossamer.errors import UserError
from gossamer.exports.orders import table_named
from gossamer.exports.paging import Page, Where, read_page
from gossamer.intake.domain import BadEntry, clean, read_domain
from gossamer.model.ids import short
from gossamer.model.job import Job, Progress
from gossamer.model.states import SiteState
from gossamer.model.trouble import FOR_PEOPLE
from gossamer.model.url import site_of
from gossamer.questions.jobs import Costs, read_costs
from gossamer.questions.view import Few, Many, Place, Text, View, recipe_of, refuse_gone
from gossamer.recipes.base import Column, Line, Recipe, Table, TableQuery, plural_form
from gossamer.recipes.page_results import as_object, kind_of, read_results, with_files
from gossamer.recipes.registry import all_conditions
from gossamer.recipes.tables import COSTS, ERRORS, by_cost
from gossamer.store import counters, sites
from gossamer.store.sites import SiteSummary

_MOST_COUNTED = 10_000  # results that are read to find the last page


Addresses = Annotated[list[Annotated[str, Field(max_length=8_000)]], Field(max_length=200)]


@dataclass(frozen=True, slots=True)
class Conditions:
    domain: str = ""
    values: Mapping[str, str] = field(default_factory=dict)  # as they were typed, by column
    switches: tuple[str, ...] = ()  # columns whose other option was given

    def where(self, job: Job, recipe: Recipe) -> Where:
        """Return the conditions as checked values; refuse those that the job's recipe does not have."""
        known = {one.column: one for one in (recipe.screen.conditions if recipe.screen else ())}
        given = {column: text for column, text in self.values.items() if text}
        if any(column not in known for column in (*given, *self.switches)):
            raise _refused(job, recipe)
        for column in self.switches:
            flag, value, _ = known[column].switch or ("", "", "")
            if column in given:
                raise UserError("usage", f"{flag} means the same as --{column} {value}.", hint="Give one of them.")
            given[column] = value
        return Where(self.site(), {column: known[column].check(job, text) for column, text in given.items()})

    def options(self, recipe: Recipe) -> str:
        """Return the command-line options that repeat these conditions."""
        said = {"domain": self.domain, **self.values}
        options = "".join(f" --{name} {quote(value)}" for name, value in said.items() if value)
        conditions = recipe.screen.conditions if recipe.screen else ()
        switched = (one.switch[0] for one in conditions if one.switch and one.column in self.switches)
        return options + "".join(f" {flag}" for flag in switched)

    def site(self) -> str:
        if not self.domain:
            return ""
        domain = read_domain(clean(self.domain))
        if isinstance(domain, BadEntry):
            raise UserError(
                "results.domain",
                f"{self.domain!r} is not a domain: it {domain.why}.",
                hint="For example --domain example.com.",
            )
        return site_of(domain.host)


def _refused(job: Job, recipe: Recipe) -> UserError:
    own = {one.column for one in (recipe.screen.conditions if recipe.screen else ())}
    others = [one for one in all_conditions() if one.column not in own]
    flags = [f"--{one.column}" for one in others] + [one.switch[0] for one in others if one.switch]
    return UserError(
        "results.recipe",
        f"Job {short(job.id)} is of the recipe {job.recipe}, whose results have "
        f"{' and '.join(f'no {plural_form(one.column)}' for one in others)}.",
        hint=f"Leave out {' and '.join(part for part in (', '.join(flags[:-1]), flags[-1]) if part)}.",
    )


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a table; `more` is True if there are further ones."""

    names: tuple[str, ...]
    rows: list[list[Any]]
    more: bool


@dataclass(frozen=True, slots=True)
class Results:
    """A page of rows; `before` has the rows before a page that is past the end."""

    job: Job
    progress: Progress
    where: Where
    page: Page
    total: int  # rows of the table without any condition, as far as quickly known
    before: Page | None = None


@dataclass(frozen=True, slots=True)
class Failures:
    """Failed domains; of a scrape job, failed pages."""

    job: Job
    progress: Progress
    sites: tuple[SiteSummary, ...] = ()
    pages: Lines | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """Costs of domains, most expensive first."""

    job: Job
    rows: list[list[Any]]
    total: int  # number of domains
    costs: Costs


async def results(
    view: View, job: Text, conditions: Conditions, page: Place, limit: Few, *, whole: bool = False
) -> Results:
    """Return a page of results: all columns if `whole`, otherwise the columns shown on a terminal."""
    found, database = await view.job(job)
    await refuse_gone(view, database, found)
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
    total = await table.count(database, TableQuery(found, table.columns))
    return Results(found, progress, where, rows, total, before)


def _only(page: Page, names: Collection[str]) -> Page:
    return Page([{name: row[name] for name in row if name in names} for row in page.rows], page.is_last)


async def failures(view: View, job: Text, limit: Many, *, by_hand: bool = False) -> Failures:
    """Return the failures of a job; with `by_hand`, only domains that need a person, such as for a login or CAPTCHA."""
    found, database = await view.job(job)
    await refuse_gone(view, database, found)
    progress = await database.read(counters.progress, found.id)
    if found.extent.in_pages:
        errors = table_named(ERRORS.name, found.recipe)
        return Failures(
            found, progress, pages=await _some(errors, database, TableQuery(found, errors.columns), 0, limit)
        )
    reasons = FOR_PEOPLE if by_hand else ()
    summaries = await database.read(sites.summaries, found.id, SiteState.FAILED, reasons=reasons, limit=limit)
    return Failures(found, progress, tuple(summaries))


async def spent(view: View, job: Text, limit: Many) -> Spent:
    found, database = await view.job(job)
    await refuse_gone(view, database, found)
    lines = [line async for some in COSTS.lines(database, TableQuery(found, COSTS.columns)) for line in some]
    costly = [list(line) for line in sorted(lines, key=by_cost)[:limit]]
    progress = await database.read(counters.progress, found.id)
    return Spent(found, costly, len(lines), await database.read(read_costs, found, progress, view.prices))


async def _some(table: Table, database: Database, asked: TableQuery, before: int, most: int) -> Lines:
    """Return up to `most` lines after the first `before` ones, reading no further than needed."""
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


async def scraped(view: View, job: Text, urls: Addresses) -> list[dict[str, Any]]:
    """Return the results of these addresses of a scrape job in their order, as JSON objects, with their files."""
    found, database = await view.job(job)
    files = view.page_files()
    some = await read_results(database, found.id, kind_of(found.recipe), urls)
    return [as_object(await with_files(files, found.id, page)) for page in some]
