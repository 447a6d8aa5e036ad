"""The table `pages`: every address of a job and what became of it, the pages of a domain together."""

from operator import itemgetter
from typing import Any

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.export.moments import iso
from gossamer.model.page import ASKED_AGAIN
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import is_covered, site_of_url
from gossamer.recipes.base import AT_ONCE, Asked, Column, Line, Lines, Table
from gossamer.store import counters, result_rows


async def lines(database: Database, asked: Asked) -> Lines:
    """In the order of their keys, which is that of nothing people know, but always the same."""
    after: bytes | None = b""
    while after is not None:
        made, after = await database.read(_step, asked, after)
        if made:
            yield made


def _step(tx: Tx, asked: Asked, after: bytes) -> tuple[list[Line], bytes | None]:
    """Finished lines, and where to go on. Made here, in the reading thread, so that no loop waits."""
    found = result_rows.pages_after(tx, asked.job.id, after, AT_ONCE)
    at = [_PLACES[column.name] for column in asked.columns]
    pick = itemgetter(*at) if len(at) > 1 else lambda line: (line[at[0]],)
    made = [pick(line) for line in map(_line, found) if not (asked.excluded and is_covered(line[0], asked.excluded))]
    return made, bytes(found[-1][0]) if len(found) == AT_ONCE else None


def _line(page: Any) -> tuple[Any, ...]:
    """With all columns."""
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

_PLACES = {column.name: at for at, column in enumerate(PAGES.columns)}
