"""The table `pages`: every address of a job and what became of it, the pages of a domain together."""

from gossamer.export.moments import iso
from gossamer.export.table import AT_ONCE, Asked, Column, Line, Lines, Table
from gossamer.model.page import ASKED_AGAIN
from gossamer.model.url import is_covered, site_of_url
from gossamer.store import counters, history
from gossamer.store.database import Database
from gossamer.store.history import PageHistory


async def lines(database: Database, asked: Asked) -> Lines:
    """In the order of their keys, which is that of nothing people know, but always the same."""
    after = b""
    while True:
        found = await database.read(history.pages_by_key, asked.job.id, after, AT_ONCE)
        if found:
            yield [_line(page, asked) for page in found if not is_covered(site_of_url(page.url), asked.excluded)]
        if len(found) < AT_ONCE:
            return
        after = found[-1].key


def _line(page: PageHistory, asked: Asked) -> Line:
    tried = [attempt for attempt in page.attempts if attempt.rung != ASKED_AGAIN]
    cells = {
        "domain": site_of_url(page.url),
        "url": page.url,
        "state": str(page.state),
        "reason": page.trouble.sentence if page.trouble else "",
        "http_status": page.http_status,
        "crawl_method": tried[-1].rung if tried else "",
        "tries": len(tried),
        "depth": page.depth,
        "found_on": page.found_on,
        "bytes": page.bytes_in,
        "timestamp": iso(page.settled_at),
    }
    return tuple(cells[column.name] for column in asked.columns)


async def count(database: Database, asked: Asked) -> int:
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
    lines=lines,
    count=count,
)
