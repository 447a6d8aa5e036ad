"""The table `prospects`: one line per domain, the most promising first.

The matches come by, a domain after the other, and become numbers. Of each domain only its finished line is kept,
packed, with what it is ranked by: of 50,000 of them about 40 MB, however many matches they have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

import orjson

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.model.job import Job
from gossamer.recipes.base import AT_ONCE, Cell, Column, Line, Lines, SheetLooks, TableQuery
from gossamer.recipes.prospect import MATCH, matches
from gossamer.recipes.prospect.scoring import EVIDENCE, TENTHS, Evidence, points_of
from gossamer.recipes.prospect.verdicts import UNLINKED
from gossamer.store import counters, result_rows

NEW = "new"

COLUMNS = (
    Column("rank", "number", sheet=SheetLooks(width=7)),
    Column("domain", sheet=SheetLooks(width=28)),
    Column("score", "decimal", sheet=SheetLooks(bar_to=100)),
    Column("new", sheet=SheetLooks(width=7)),
    Column("best_page", "url"),
    Column("best_keyword", sheet=SheetLooks(width=20)),
    Column("best_snippet", sheet=SheetLooks(width=60)),
    Column("unlinked_pages", "number"),
    Column("navigation_pages", "number", sheet=SheetLooks(width=12)),
    Column("linked_pages", "number"),
    Column("nofollow_pages", "number"),
    Column("matching_pages", "number"),
    Column("keywords", "number"),
    Column("keyword_names", sheet=SheetLooks(width=34)),
    Column("newest_date", sheet=SheetLooks(width=12, is_day=True)),
    Column("linking_out_pages", "number"),
    Column("pages_read", "number"),
    Column("pages_failed", "number"),
    Column("points_unlinked", "decimal"),
    Column("points_keywords", "decimal"),
    Column("points_pages", "decimal"),
    Column("points_freshness", "decimal"),
    Column("points_outbound", "decimal"),
    Column("points_nofollow", "decimal"),
    Column("points_errors", "decimal"),
)

MOST_SHOWN = 25  # domains of a ranking that are looked at, where they are not all wanted

_DOMAINS = 200  # asked about in one read


class _Kept(NamedTuple):
    """A finished domain; domains are ranked by comparison."""

    missing: int  # to the best score there could be
    unlinked: int
    keywords: int
    domain: str
    line: bytes


class Ranking:
    """Takes the matches of a job in their order and gives its domains by rank."""

    def __init__(self, database: Database, job: Job, since: Job | None = None, only: str = "") -> None:
        self._database = database
        self._job = job
        self._since = since
        self._only = only
        self._domain: Evidence | None = None
        self._waiting: list[Evidence] = []
        self._kept: list[_Kept] = []
        self.domains_met = 0  # with matches, the client's own among them

    @property
    def domains(self) -> int:
        """The number of domains once all matches are added."""
        return len(self._kept)

    @property
    def unlinked(self) -> int:
        """The number of domains with a mention in their text that is not linked."""
        return sum(kept.unlinked < 0 for kept in self._kept)

    async def take(self, lines: Sequence[Line]) -> None:
        """Some matches, with the columns of `EVIDENCE`; those of a domain one after the other."""
        for line in lines:
            if self._domain is None or line[0] != self._domain.domain:
                self._turn(str(line[0]))
            if self._domain:
                self._domain.add(line)
        while len(self._waiting) >= _DOMAINS:
            await self._finish(self._waiting[:_DOMAINS])
            del self._waiting[:_DOMAINS]

    async def close(self) -> None:
        """Finish: all matches were added."""
        self._turn("")
        for start in range(0, len(self._waiting), _DOMAINS):
            await self._finish(self._waiting[start : start + _DOMAINS])
        self._waiting.clear()
        self._kept.sort()

    def best(self, most: int, columns: Sequence[Column] = COLUMNS) -> list[Line]:
        """Return the first domains by rank."""
        places = [COLUMNS.index(column) for column in columns]
        return [_picked(rank, kept, places) for rank, kept in enumerate(self._kept[:most], 1)]

    async def lines(self, columns: Sequence[Column] = COLUMNS) -> Lines:
        """Return all domains by rank."""
        places = [COLUMNS.index(column) for column in columns]
        for start in range(0, len(self._kept), AT_ONCE):
            some = self._kept[start : start + AT_ONCE]
            yield [_picked(rank, kept, places) for rank, kept in enumerate(some, start + 1)]

    def _turn(self, domain: str) -> None:
        self.domains_met += self._domain is not None
        # The client's own site is not to be contacted.
        if self._domain and not self._domain.is_own:
            self._waiting.append(self._domain)
        self._domain = Evidence(domain) if domain else None

    async def _finish(self, some: Sequence[Evidence]) -> None:
        since = self._since.id if self._since else None
        failed, before = await self._database.read(_besides, self._job.id, since, [one.domain for one in some])
        for one in some:
            kept = _kept(one, failed.get(one.domain, 0), before)
            if self._is_wanted(one, kept, before):
                self._kept.append(kept)

    def _is_wanted(self, one: Evidence, kept: _Kept, before: set[str] | None) -> bool:
        if self._only == UNLINKED:
            return kept.unlinked < 0
        return self._only != NEW or before is None or one.domain not in before


def _besides(
    tx: Tx, job_id: UUID, since: UUID | None, hosts: Sequence[str]
) -> tuple[Mapping[str, int], set[str] | None]:
    before = result_rows.with_records(tx, since, MATCH.name, hosts) if since else None
    return result_rows.pages_failed(tx, job_id, hosts), before


def _kept(one: Evidence, pages_failed: int, before: set[str] | None) -> _Kept:
    facts = one.facts(pages_failed)
    points = points_of(facts)
    url, keyword, snippet = one.best
    cells: list[Cell] = [
        0,
        one.domain,
        points.total / TENTHS,
        "" if before is None else "no" if one.domain in before else "yes",
        url,
        keyword,
        snippet,
        facts.unlinked_pages,
        facts.furniture_pages,
        one.linked_pages,
        one.nofollow_pages,
        one.matching_pages,
        facts.keywords,
        one.named_keywords(),
        facts.newest.isoformat() if facts.newest else "",
        facts.open_pages,
        facts.pages_read,
        facts.pages_failed,
        points.unlinked / TENTHS,
        points.keywords / TENTHS,
        points.pages / TENTHS,
        points.freshness / TENTHS,
        points.outbound / TENTHS,
        points.nofollow / TENTHS,
        points.errors / TENTHS,
    ]
    # A copy: what the encoder gives has room for several times as much, and holds on to it.
    line = bytes(memoryview(orjson.dumps(cells)))
    return _Kept(-points.total, -facts.unlinked_pages, -facts.keywords, one.domain, line)


def _picked(rank: int, kept: _Kept, places: Sequence[int]) -> Line:
    cells = orjson.loads(kept.line)
    cells[0] = rank
    return [cells[at] for at in places]


async def ranking_of(database: Database, asked: TableQuery) -> Ranking:
    """Read all matches of a job and rank its domains."""
    ranking = Ranking(database, asked.job, asked.since, asked.only)
    async for some in matches.lines(database, replace(asked, columns=EVIDENCE, only="", order=())):
        await ranking.take(some)
        if asked.told:
            asked.told(ranking.domains_met)
    await ranking.close()
    return ranking


async def lines(database: Database, asked: TableQuery) -> Lines:
    ranking = await ranking_of(database, asked)
    async for some in ranking.lines(asked.columns):
        yield some


async def count(database: Database, asked: TableQuery) -> int:
    """Return the largest possible number of lines."""
    return (await database.read(counters.progress, asked.job.id)).sites_total
