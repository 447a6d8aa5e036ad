"""The tables of a scrape job: `results` has a line per listed address, also of those that failed."""

from collections.abc import Mapping
from typing import Any

from gossamer.clock import iso
from gossamer.db.database import Database
from gossamer.model.states import PageState
from gossamer.model.url import is_covered, site_of_url
from gossamer.recipes.base import Column, Line, Lines, Table, TableQuery
from gossamer.recipes.scrape import PAGE
from gossamer.recipes.tables import COSTS, PAGES
from gossamer.store import counters, given_pages
from gossamer.store.given_pages import ScrapedPage

FILTERS = ("done", "failed")

_AT_ONCE = 200  # results of one read: each may be a whole page


async def lines(database: Database, asked: TableQuery) -> Lines:
    """Yield the lines, the addresses of a site together, in an arbitrary but fixed order."""
    place = ""
    while True:
        listing = await database.read(given_pages.after, asked.job.id, PAGE.name, place, _AT_ONCE)
        made = [_line(page, asked) for page in listing.pages if _is_wanted(page, asked)]
        if made:
            yield made
        place = listing.next
        if not place:
            return


def _is_wanted(page: ScrapedPage, asked: TableQuery) -> bool:
    site = site_of_url(page.url)
    if is_covered(site, asked.excluded) or (asked.domains and not is_covered(site, asked.domains)):
        return False
    return not asked.only or asked.only == ("done" if page.state is PageState.DONE else "failed" if page.error else "")


def _line(page: ScrapedPage, asked: TableQuery) -> Line:
    cells: Mapping[str, Any] = {
        "domain": site_of_url(page.url),
        "status": str(page.state),
        "error": page.error,
        "failure_reason": page.error,
        "retry_count": max(0, page.tries - 1),
        "last_attempt_timestamp": iso(page.settled_at),
        "description": (page.data.get("metadata") or {}).get("description"),
        **page.data,
        "url": page.url,
        "http_status": page.http_status,
    }
    return [cells.get(column.name) for column in asked.columns]


async def count(database: Database, asked: TableQuery) -> int:
    known = await database.read(counters.progress, asked.job.id)
    return known.pages_done + known.pages_failed + known.pages_open


async def _failed_lines(database: Database, asked: TableQuery) -> Lines:
    async for some in lines(database, TableQuery(asked.job, asked.columns, "failed", excluded=asked.excluded)):
        yield some


async def _count_failed(database: Database, asked: TableQuery) -> int:
    return (await database.read(counters.progress, asked.job.id)).pages_failed


SCRAPED = Table(
    "results",
    columns=(
        Column("domain"),
        Column("url", "url"),
        Column("status"),
        Column("error"),
        Column("final_url", "url"),
        Column("http_status", "number"),
        Column("crawl_method"),
        Column("timestamp", "time"),
        Column("content_type"),
        Column("bytes", "number"),
        Column("title"),
        Column("description"),
        Column("language"),
        Column("text"),
        Column("markdown"),
        Column("links", "value"),
        Column("metadata", "value"),
        Column("structured", "value"),
        Column("extract", "value"),
    ),
    lines=lines,
    count=count,
    filters=FILTERS,
)

FAILED_PAGES = Table(
    "errors",
    columns=(
        Column("domain"),
        Column("url", "url"),
        Column("failure_reason"),
        Column("http_status", "number"),
        Column("retry_count", "number"),
        Column("last_attempt_timestamp", "time"),
    ),
    lines=_failed_lines,
    count=_count_failed,
    file_name="failed_pages",
    noun="failed page",
)

TABLES = (SCRAPED, FAILED_PAGES, PAGES, COSTS)
