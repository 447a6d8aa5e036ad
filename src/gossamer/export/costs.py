"""The table `costs`: what each domain has cost, and by which requests. `cost_report.csv` is this one."""

from collections import Counter
from collections.abc import Mapping
from uuid import UUID

from gossamer.db.database import Database
from gossamer.model.money import MICROS, NOTHING, Amount
from gossamer.model.rungs import RequestKind, kind_of
from gossamer.model.url import is_covered
from gossamer.recipes.base import AT_ONCE, Asked, Cell, Column, Line, Lines, Table
from gossamer.store import charges, result_rows
from gossamer.store.result_rows import SitePlace

Sent = Counter[tuple[UUID, RequestKind]]


async def lines(database: Database, asked: Asked) -> Lines:
    """By domain: all of them, since also what was free is worth knowing."""
    sent = await _sent(database, asked.job.id)
    spent = await database.read(charges.by_site, asked.job.id)
    places = await database.read(result_rows.site_places, asked.job.id)
    for start in range(0, len(places), AT_ONCE):
        some = [place for place in places[start : start + AT_ONCE] if not is_covered(place.host, asked.excluded)]
        yield [_line(place, sent, spent.get(place.id, NOTHING), asked) for place in some]


async def _sent(database: Database, job_id: UUID) -> Sent:
    sent: Sent = Counter()
    after: bytes | None = b""
    while after is not None:
        found, after = await database.read(result_rows.requests_of_sites, job_id, after, AT_ONCE)
        for (site_id, rung), count in found.items():
            sent[site_id, kind_of(rung)] += count
    return sent


def _line(place: SitePlace, sent: Sent, spent: Amount, asked: Asked) -> Line:
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
    """Orders whole lines: the dearest first, then by domain."""
    return -float(line[-1] or 0), -int(line[-2] or 0), str(line[0])


async def count(database: Database, asked: Asked) -> int:
    return len(await database.read(result_rows.site_places, asked.job.id))


COSTS = Table(
    "costs",
    columns=(
        Column("domain"),
        Column("urls_crawled", "number"),
        Column("direct_requests", "number"),
        Column("scrapingbee_requests", "number"),
        Column("js_rendering_requests", "number"),
        Column("total_credits", "number"),
        Column("estimated_cost_usd", "money"),
    ),
    lines=lines,
    count=count,
    file_name="cost_report",
)
