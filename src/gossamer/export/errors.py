"""The table `errors`: the domains that failed, and why. `failed_domains.csv` is this one."""

from gossamer.db.database import Database
from gossamer.export.moments import iso
from gossamer.model.states import SiteState
from gossamer.model.trouble import FOR_PEOPLE
from gossamer.model.url import is_covered
from gossamer.recipes.base import AT_ONCE, Asked, Column, Line, Lines, Table
from gossamer.store import counters, sites
from gossamer.store.sites import SiteSummary

BY_HAND = "by-hand"  # those that a person has to look at


async def lines(database: Database, asked: Asked) -> Lines:
    """By domain."""
    after = ""
    reasons = FOR_PEOPLE if asked.only == BY_HAND else ()
    while True:
        found = await database.read(
            sites.summaries, asked.job.id, SiteState.FAILED, reasons=reasons, after=after, limit=AT_ONCE
        )
        if found:
            yield [_line(site, asked) for site in found if not is_covered(site.host, asked.excluded)]
        if len(found) < AT_ONCE:
            return
        after = found[-1].host


def _line(site: SiteSummary, asked: Asked) -> Line:
    cells = {
        "domain": site.host,
        "failure_reason": site.trouble.sentence if site.trouble else "",
        "http_status": site.trouble.http_status if site.trouble else None,
        "retry_count": site.retries,
        "last_attempt_timestamp": iso(site.last_attempt_at),
    }
    return tuple(cells[column.name] for column in asked.columns)


async def count(database: Database, asked: Asked) -> int:
    return (await database.read(counters.progress, asked.job.id)).sites_failed


ERRORS = Table(
    "errors",
    columns=(
        Column("domain"),
        Column("failure_reason"),
        Column("http_status", "number"),
        Column("retry_count", "number"),
        Column("last_attempt_timestamp", "time"),
    ),
    lines=lines,
    count=count,
    filters=(BY_HAND,),
    file_name="failed_domains",
)
