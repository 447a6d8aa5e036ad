"""The table `results`: one line per page and keyword, by domain, then address, then keyword.

A site's lines are sorted in memory; of a site with very many only what they are sorted by.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import orjson

from gossamer.export.table import AT_ONCE, Asked, Column, Line, Lines, Table
from gossamer.export.whole_site import BEFORE, WHOLE_SITE, with_whole_site
from gossamer.store import counters, record_lines
from gossamer.store.database import Database
from gossamer.store.record_lines import SitePlace
from gossamer.store.tx import Tx

UNLINKED = "unlinked"

_KIND = "match"
_ORDER = ("url", "keyword")
_SITES = 200  # asked for in one read, however few rows they have

Row = Mapping[str, Any]


async def lines(database: Database, asked: Asked) -> Lines:
    """All lines of a job. Each step is a short read of its own."""
    places = await database.read(record_lines.places, asked.job.id)
    at = 0
    while at < len(places):
        step = places[at : at + _SITES]
        found, done = await database.read(_step, asked, step)
        for some in _batches(found):
            yield some
        if done == 0:
            async for some in _large_site(database, asked, step[0]):
                yield some
        at += max(1, done)


def _step(tx: Tx, asked: Asked, wanted: Sequence[SitePlace]) -> tuple[list[Line], int]:
    """Finished lines of the first sites, and of how many. Made here, in the reading thread, so that no loop waits."""
    found = record_lines.of_sites(tx, asked.job.id, _KIND, wanted, AT_ONCE)
    order = itemgetter(*(asked.order or _ORDER))
    pick = _picker(asked)
    made: list[Line] = []
    for place, some in zip(wanted, found, strict=False):
        rows: list[Row] = [orjson.loads(data) for data in some]
        rows.sort(key=order)
        made.extend(pick(rows, Counter(map(itemgetter("keyword"), rows)), place))
    return made, len(found)


Pick = Callable[[Sequence[Row], Mapping[str, int], SitePlace], Iterator[Line]]


def _picker(asked: Asked) -> Pick:
    """From rows of a site to lines of what was asked for."""
    names = [column.name for column in asked.columns]
    cells = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)
    whole = bool(WHOLE_SITE & set(names))

    def pick(rows: Sequence[Row], keyword_pages: Mapping[str, int], place: SitePlace) -> Iterator[Line]:
        if asked.only == UNLINKED:
            rows = [row for row in rows if row.get("verdict") == UNLINKED]
        if whole:
            rows = with_whole_site(rows, keyword_pages, place.pages_read)
        for row in rows:
            try:
                yield cells(row)
            except KeyError:  # from before there were verdicts
                yield cells({**BEFORE, **row})

    return pick


async def _large_site(database: Database, asked: Asked, place: SitePlace) -> Lines:
    """First what the lines are sorted by, then the lines in that order, a batch at a time."""
    order = asked.order or _ORDER
    keyed: list[tuple[Any, ...]] = []
    keyword_pages: Counter[str] = Counter()
    after = b""
    while True:
        some = await database.read(record_lines.named, asked.job.id, _KIND, place, order, after, AT_ONCE)
        keyword_pages.update(row[1 + order.index("keyword")] for row in some)
        keyed.extend((*row[1:], row[0]) for row in some)
        if len(some) < AT_ONCE:
            break
        after = some[-1][0]
    keyed.sort()
    keys: list[bytes] = [row[-1] for row in keyed]
    del keyed
    pick = _picker(asked)
    for start in range(0, len(keys), AT_ONCE):
        rows = await database.read(record_lines.by_keys, asked.job.id, _KIND, keys[start : start + AT_ONCE])
        for batch in _batches(list(pick(rows, keyword_pages, place))):
            yield batch


def _batches(found: list[Line]) -> Iterator[list[Line]]:
    rest = iter(found)
    while some := list(islice(rest, AT_ONCE)):
        yield some


async def count(database: Database, asked: Asked) -> int:
    return (await database.read(counters.progress, asked.job.id)).records


RESULTS = Table(
    "results",
    columns=(
        Column("domain"),
        Column("url", "url"),
        Column("keyword"),
        Column("frequency", "number"),
        Column("context_snippet"),
        Column("crawl_method"),
        Column("timestamp", "time"),
        Column("http_status", "number"),
        Column("verdict"),
        Column("link_url", "url"),
        Column("anchor_text"),
        Column("position"),
        Column("flags"),
        Column("keyword_pages", "number"),
        Column("site_pages", "number"),
    ),
    lines=lines,
    count=count,
    # What integrations were promised. The rest is there for those who ask for it.
    usual=(
        "domain",
        "url",
        "keyword",
        "frequency",
        "context_snippet",
        "crawl_method",
        "timestamp",
        "http_status",
    ),
    nested=("domain", "keyword"),
    renamed={"context_snippet": "context"},
    filters=(UNLINKED,),
)
