"""The results of a scrape job on the screen: which pages were read, and why others were not."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from gossamer.assembly import App
from gossamer.cli import tables, words
from gossamer.cli.session import say, say_json
from gossamer.export.scraped import FAILED_PAGES, SCRAPED
from gossamer.export.table import Asked, Line
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.store import counters

_SHOWN = ("url", "status", "http_status", "title", "error")


async def show_scraped(app: App, job: Job, domain: str, page: int, limit: int, *, as_json: bool) -> int:
    wanted = frozenset({domain}) if domain else frozenset[str]()
    columns = SCRAPED.columns if as_json else SCRAPED.choose(_SHOWN)
    asked = Asked(job, columns, domains=wanted)
    found = await _some(SCRAPED.lines(app.database, asked), (page - 1) * limit, limit + 1)
    rows, more = found[:limit], len(found) > limit
    if as_json:
        say_json([dict(zip([column.name for column in columns], line, strict=True)) for line in rows])
        return 0
    if not rows:
        say("No such pages." if page == 1 else f"There is no page {page:,}.")
        return 0
    titles = ["Page", "State", "HTTP", "Title or reason"]
    cells = [[url, state, str(status or ""), error or title or ""] for url, state, status, title, error in rows]
    widths = tables.fit(titles, cells, [100, 7, 4, 80], [20, 7, 4, 12], tables.width())
    tables.show(tables.table(titles, cells, widths, right=("HTTP",)))
    first = (page - 1) * limit + 1
    total = words.pages_listed(await app.database.read(counters.progress, job.id))
    of_all = "" if domain else f" of {total:,}"
    say(f"Pages {first:,} to {first + len(rows) - 1:,}{of_all}.")
    if more:
        say(f"Next:\n  gossamer job results {short(job.id)} --limit {limit} --page {page + 1}")
    say(f"What was read of them, in a file:\n  gossamer job export {short(job.id)} --output pages.jsonl")
    return 0


async def show_failed_pages(app: App, job: Job, limit: int, *, as_json: bool) -> int:
    names = [column.name for column in FAILED_PAGES.columns]
    rows = await _some(FAILED_PAGES.lines(app.database, Asked(job, FAILED_PAGES.columns)), 0, limit)
    if as_json:
        say_json([dict(zip(names, line, strict=True)) for line in rows])
        return 0
    if not rows:
        say("No page failed.")
        return 0
    titles = ["Page", "Reason", "HTTP", "Retries"]
    cells = [[url, reason, str(status or ""), f"{retries:,}"] for _, url, reason, status, retries, _ in rows]
    widths = tables.fit(titles, cells, [100, 80, 4, 7], [20, 12, 4, 7], tables.width())
    tables.show(tables.table(titles, cells, widths, right=("HTTP", "Retries")))
    more = " There may be more: --limit." if len(rows) == limit else ""
    say(f"{words.several(len(rows), 'failed page')}.{more}")
    say(f"As a file:\n  gossamer job errors {short(job.id)} --output failed_pages.csv")
    return 0


async def _some(lines: AsyncIterator[list[Line]], before: int, most: int) -> list[Line]:
    """So many lines after the first ones. No more is read than leads there."""
    found: list[Line] = []
    async with aclosing(lines) as batches:  # type: ignore[type-var]
        async for some in batches:
            found += some[before : before + most - len(found)]
            before = max(0, before - len(some))
            if len(found) >= most:
                break
    return found
