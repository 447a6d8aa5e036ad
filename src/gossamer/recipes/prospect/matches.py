"""The matches of a job for its tables: one line per page and keyword, by domain, then address, then keyword.

A site's lines are sorted in memory; of a site with very many only what they are sorted by.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any
from uuid import UUID

import orjson

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.model.url import is_covered
from gossamer.recipes.base import AT_ONCE, Line, Lines, TableQuery
from gossamer.recipes.prospect import MATCH
from gossamer.recipes.prospect.verdicts import MANY_ON_ONE_PAGE, NAVIGATION_ONLY, ON_EVERY_PAGE, ON_ONE_PAGE, UNLINKED
from gossamer.store import counters, records, result_rows
from gossamer.store.result_rows import SitePlace

_ORDER = ("url", "keyword")
_SITES = 10  # asked for in one read at least
ENOUGH = AT_ONCE // 2  # rows of one read, after which no further site is read
FEW = 250  # lines made at a time, and the rest of a site
LARGE = 10_000  # rows of a site, above which they are not all held at once

# A word on nine pages of ten, of at least so many, is part of the site's template rather than of what it writes about.
ENOUGH_PAGES = 10
NEARLY_EVERY = 0.9

# Columns that say something of the whole site.
WHOLE_SITE = frozenset({"flags", "keyword_pages", "site_pages"})

Row = dict[str, Any]


async def lines(database: Database, asked: TableQuery) -> Lines:
    """All lines of a job. Each step is a short read of its own."""
    places = await database.read(result_rows.site_places, asked.job.id)
    if asked.excluded:
        places = [place for place in places if not is_covered(place.host, asked.excluded)]
    if asked.domains:
        places = [place for place in places if is_covered(place.host, asked.domains)]
    async for some, found in _steps(database, asked, places):
        if found.written:
            for batch in _made(asked, some, found):
                yield batch
        else:
            async for batch in _large_site(database, asked, some[0]):
                yield batch


@dataclass(frozen=True, slots=True)
class _Found:
    """Rows of several sites as read from the database."""

    written: list[result_rows.Written]  # all of a site together; none at all: the first one is too large for that
    pages_read: Mapping[UUID, int]


def _read(tx: Tx, asked: TableQuery, wanted: Sequence[SitePlace]) -> _Found:
    found = result_rows.records_of_sites(tx, asked.job.id, MATCH.name, wanted, ENOUGH, LARGE)
    # After the rows, so that there is never a match on more pages than were read.
    pages_read = result_rows.pages_read(tx, wanted[: len(found)]) if _is_of_whole_site(asked) else {}
    return _Found(found, pages_read)


async def _steps(
    database: Database, asked: TableQuery, places: Sequence[SitePlace]
) -> AsyncIterator[tuple[Sequence[SitePlace], _Found]]:
    """Rows of some sites at a time, or of one too large for that. The next are read while lines are made of these."""
    at, several = 0, _SITES
    reading: asyncio.Task[_Found] | None = None
    try:
        while at < len(places):
            step = places[at : at + several]
            found = await (reading or database.read(_read, asked, step))
            reading = None
            done = len(found.written)
            at += max(1, done)
            several = done + done // 4 + _SITES  # about as many as there is room for, and some more to find out
            if done and at < len(places):
                reading = asyncio.create_task(database.read(_read, asked, places[at : at + several]))
                for _ in range(8):
                    await asyncio.sleep(0)  # so that it begins
            yield step, found
    finally:
        if reading:
            reading.cancel()
            await asyncio.wait([reading])


def _made(asked: TableQuery, some: Sequence[SitePlace], found: _Found) -> Iterator[list[Line]]:
    """Finished lines, a few at a time: made all at once and written after that, they would take twice as long, since
    the processor has them no longer at hand and the collector of garbage looks at them again and again."""
    order, pick = [itemgetter(name) for name in reversed(asked.order or _ORDER)], _picker(asked)
    made: list[Line] = []
    found.written.reverse()
    for place in some:
        if not found.written:
            break
        rows: list[Row] = orjson.loads(found.written.pop())
        for key in order:  # the last one first: plain texts are compared much faster than pairs of them
            rows.sort(key=key)
        made += pick(rows, found.pages_read.get(place.id, 0), None)
        if len(made) >= FEW:
            yield from _batches(made)
            made = []
    yield from _batches(made)


Pick = Callable[[Sequence[Row], int, Mapping[str, int] | None], list[Line]]


def _is_of_whole_site(asked: TableQuery) -> bool:
    return any(column.name in WHOLE_SITE for column in asked.columns)


def _picker(asked: TableQuery) -> Pick:
    """Return a function that turns rows of a site into the requested lines.

    It counts the pages per keyword if the counts are not given.
    """
    names = [column.name for column in asked.columns]
    cells = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)
    whole = _is_of_whole_site(asked)

    def pick(rows: Sequence[Row], pages_read: int, keyword_pages: Mapping[str, int] | None) -> list[Line]:
        if whole and keyword_pages is None:
            keyword_pages = Counter(map(itemgetter("keyword"), rows))
        if asked.only == UNLINKED:
            rows = [row for row in rows if row["verdict"] == UNLINKED]
        if whole and keyword_pages is not None:
            complete(rows, keyword_pages, pages_read)
        return list(map(cells, rows))

    return pick


async def _large_site(database: Database, asked: TableQuery, place: SitePlace) -> Lines:
    """First what the lines are sorted by, then the lines in that order, a batch at a time."""
    order = asked.order or _ORDER
    keyed: list[tuple[Any, ...]] = []
    keyword_pages: Counter[str] = Counter()
    shared: dict[str, str] = {}  # an address is there once for each keyword, and a keyword once for each page
    after = b""
    while True:
        some = await database.read(result_rows.records_named, asked.job.id, MATCH.name, place, order, after, AT_ONCE)
        keyword_pages.update(row[1 + order.index("keyword")] for row in some)
        keyed.extend((*(shared.setdefault(text, text) for text in row[1:]), row[0]) for row in some)
        if len(some) < AT_ONCE:
            break
        after = some[-1][0]
    pages_read = (await database.read(result_rows.pages_read, [place])).get(place.id, 0)
    del shared
    keyed.sort()
    keys: list[bytes] = [row[-1] for row in keyed]
    del keyed
    pick = _picker(asked)
    for start in range(0, len(keys), AT_ONCE):
        rows = await database.read(records.by_keys, asked.job.id, MATCH.name, keys[start : start + AT_ONCE])
        for batch in _batches(pick(rows, pages_read, keyword_pages)):
            yield batch


def _batches(found: list[Line]) -> Iterator[list[Line]]:
    rest = iter(found)
    while some := list(islice(rest, AT_ONCE)):
        yield some


async def count(database: Database, asked: TableQuery) -> int:
    return (await database.read(counters.progress, asked.job.id)).records


def completed(rows: Sequence[Mapping[str, Any]], pages_read: int) -> list[Mapping[str, Any]]:
    """All rows of a site with `flags`, `keyword_pages` and `site_pages`. There is one row per page and keyword."""
    whole = [{**row} for row in rows]
    complete(whole, Counter(row["keyword"] for row in rows), pages_read)
    return list(whole)


def complete(rows: Iterable[dict[str, Any]], keyword_pages: Mapping[str, int], pages_read: int) -> None:
    """Set `flags`, `keyword_pages` and `site_pages` in rows of a site. The argument counts the pages per keyword."""
    for row in rows:
        pages = keyword_pages[row["keyword"]]
        row["flags"] = ";".join(_flags(row, pages, pages_read))
        row["keyword_pages"] = pages
        row["site_pages"] = pages_read


def _flags(row: Mapping[str, Any], keyword_pages: int, pages_read: int) -> list[str]:
    flags = []
    if row["position"] == "navigation":
        flags.append(NAVIGATION_ONLY)
    if row["frequency"] >= MANY_ON_ONE_PAGE:
        flags.append(ON_ONE_PAGE)
    if pages_read >= ENOUGH_PAGES and keyword_pages >= NEARLY_EVERY * pages_read:
        flags.append(ON_EVERY_PAGE)
    return flags
