"""Tables that every recipe can have: domains that failed, all pages, and costs by domain."""

from collections import Counter
from collections.abc import Mapping
from operator import itemgetter
from typing import Any
from uuid import UUID

from gossamer.clock import iso
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.model.money import MICROS, NOTHING, Amount
from gossamer.model.page import ASKED_AGAIN
from gossamer.model.record import SheetLooks
from gossamer.model.rungs import RequestKind, kind_of
from gossamer.model.states import SiteState
from gossamer.model.trouble import FOR_PEOPLE, Reason, Trouble
from gossamer.model.url import is_covered, site_of_url
from gossamer.recipes.base import AT_ONCE, Cell, Column, Line, Lines, RecordKind, Table, TableQuery
from gossamer.store import charges, counters, records, result_rows, sites
from gossamer.store.result_rows import SitePlace
from gossamer.store.sites import SiteSummary

BY_HAND = "by-hand"  # failed domains that a person has to look at

Sent = Counter[tuple[UUID, RequestKind]]


async def failed_domains(database: Database, asked: TableQuery) -> Lines:
    """Yield the domains that failed, by name."""
    after = ""
    reasons = FOR_PEOPLE if asked.only == BY_HAND else ()
    while True:
        found = await database.read(
            sites.summaries, asked.job.id, SiteState.FAILED, reasons=reasons, after=after, limit=AT_ONCE
        )
        if found:
            yield [_failed_domain(site, asked) for site in found if not is_covered(site.host, asked.excluded)]
        if len(found) < AT_ONCE:
            return
        after = found[-1].host


def _failed_domain(site: SiteSummary, asked: TableQuery) -> Line:
    cells = {
        "domain": site.host,
        "failure_reason": site.trouble.sentence if site.trouble else "",
        "http_status": site.trouble.http_status if site.trouble else None,
        "retry_count": site.retries,
        "last_attempt_timestamp": iso(site.last_attempt_at),
    }
    return tuple(cells[column.name] for column in asked.columns)


async def _count_failed_domains(database: Database, asked: TableQuery) -> int:
    return (await database.read(counters.progress, asked.job.id)).sites_failed


def table_of(kind: RecordKind, name: str) -> Table:
    """The table of the records of a kind that belongs to no pages, in the order of their keys."""

    async def lines(database: Database, asked: TableQuery) -> Lines:
        after = b""
        while some := await database.read(records.in_order, asked.job.id, kind.name, after, AT_ONCE):
            yield [[one.data.get(column.name) for column in asked.columns] for one in some]
            after = some[-1].key

    async def count(database: Database, asked: TableQuery) -> int:
        return await database.read(records.count_of_kind, asked.job.id, kind.name)

    return Table(name, kind.columns, lines, count)


ERRORS = Table(
    "errors",
    columns=(
        Column("domain", sheet=SheetLooks(width=28)),
        Column("failure_reason", sheet=SheetLooks(width=56)),
        Column("http_status", "number"),
        Column("retry_count", "number"),
        Column("last_attempt_timestamp", "time"),
    ),
    lines=failed_domains,
    count=_count_failed_domains,
    filters=(BY_HAND,),
    file_name="failed_domains",
    noun="failed domain",
)


async def pages(database: Database, asked: TableQuery) -> Lines:
    """Yield every address of a job and what became of it, the pages of a domain together.

    Their order is that of their keys: it means nothing to people, but never changes.
    """
    after: bytes | None = b""
    while after is not None:
        made, after = await database.read(_some_pages, asked, after)
        if made:
            yield made


def _some_pages(tx: Tx, asked: TableQuery, after: bytes) -> tuple[list[Line], bytes | None]:
    """Finished lines, and where to go on. Made here, in the reading thread, so that no loop waits."""
    found = result_rows.pages_after(tx, asked.job.id, after, AT_ONCE)
    at = [_PLACES[column.name] for column in asked.columns]
    pick = itemgetter(*at) if len(at) > 1 else lambda line: (line[at[0]],)
    made = [pick(line) for line in map(_page, found) if not (asked.excluded and is_covered(line[0], asked.excluded))]
    return made, bytes(found[-1][0]) if len(found) == AT_ONCE else None


def _page(page: Any) -> tuple[Any, ...]:
    """Return the line of a page with all columns."""
    _, url, state, reason, detail, status, attempts, depth, found_on, size, settled_at = page
    rungs = [attempt[0] for attempt in attempts if attempt[0] != ASKED_AGAIN]
    return (
        site_of_url(url),
        url,
        str(state),
        Trouble(Reason[reason], detail, status).sentence if reason else "",
        status,
        rungs[-1] if rungs else "",
        len(rungs),
        depth,
        found_on,
        size,
        iso(settled_at),
    )


async def _count_pages(database: Database, asked: TableQuery) -> int:
    known = await database.read(counters.progress, asked.job.id)
    return known.pages_done + known.pages_failed + known.pages_skipped + known.pages_open


PAGES = Table(
    "pages",
    columns=(
        Column("domain"),
        Column("url", "url"),
        Column("state"),
        Column("reason"),
        Column("http_status", "number"),
        Column("crawl_method"),
        Column("tries", "number"),
        Column("depth", "number"),
        Column("found_on", "url"),
        Column("bytes", "number"),
        Column("timestamp", "time"),
    ),
    lines=pages,
    count=_count_pages,
)

_PLACES = {column.name: at for at, column in enumerate(PAGES.columns)}


async def costs(database: Database, asked: TableQuery) -> Lines:
    """Yield the costs of each domain and its requests, by name: also of those that cost nothing."""
    sent = await _sent(database, asked.job.id)
    spent = await database.read(charges.by_site, asked.job.id)
    places = await database.read(result_rows.site_places, asked.job.id)
    for start in range(0, len(places), AT_ONCE):
        some = [place for place in places[start : start + AT_ONCE] if not is_covered(place.host, asked.excluded)]
        yield [_cost(place, sent, spent.get(place.id, NOTHING), asked) for place in some]


async def _sent(database: Database, job_id: UUID) -> Sent:
    sent: Sent = Counter()
    after: bytes | None = b""
    while after is not None:
        found, after = await database.read(result_rows.requests_of_sites, job_id, after, AT_ONCE)
        for (site_id, rung), count in found.items():
            sent[site_id, kind_of(rung)] += count
    return sent


def _cost(place: SitePlace, sent: Sent, spent: Amount, asked: TableQuery) -> Line:
    cells: Mapping[str, Cell] = {
        "domain": place.host,
        "urls_crawled": place.pages_read,
        "direct_requests": sent[place.id, RequestKind.DIRECT],
        "scrapingbee_requests": sent[place.id, RequestKind.PROVIDER],
        "js_rendering_requests": sent[place.id, RequestKind.RENDERED],
        "total_credits": spent.credits,
        "estimated_cost_usd": spent.micros / MICROS,
    }
    return tuple(cells[column.name] for column in asked.columns)


def by_cost(line: Line) -> tuple[float, int, str]:
    """Orders whole lines: the most expensive first, then by domain."""
    return -float(line[-1] or 0), -int(line[-2] or 0), str(line[0])


async def _count_domains(database: Database, asked: TableQuery) -> int:
    return len(await database.read(result_rows.site_places, asked.job.id))


COSTS = Table(
    "costs",
    columns=(
        Column("domain", sheet=SheetLooks(width=28)),
        Column("urls_crawled", "number"),
        Column("direct_requests", "number"),
        Column("scrapingbee_requests", "number", sheet=SheetLooks(width=13)),
        Column("js_rendering_requests", "number", sheet=SheetLooks(width=13)),
        Column("total_credits", "number"),
        Column("estimated_cost_usd", "money", sheet=SheetLooks(width=14)),
    ),
    lines=costs,
    count=_count_domains,
    file_name="cost_report",
)

OF_ANY_JOB = (ERRORS, PAGES, COSTS)
"""The tables of a job whose recipe this program does not know."""
