"""Rows of a job's results for tables and files: pages, records and sites, in steps."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import bindparam, func, select
from sqlalchemy.util import await_only

from gossamer.db.tables import pages, records, sites
from gossamer.db.transactions import Tx
from gossamer.model.page import ASKED_AGAIN, Attempt
from gossamer.model.rungs import RUNGS
from gossamer.model.states import PageState
from gossamer.model.url import url_key
from gossamer.store import sites as site_store

_STEP = (
    select(
        pages.c.key,
        pages.c.url,
        pages.c.state,
        pages.c.reason,
        pages.c.detail,
        pages.c.http_status,
        pages.c.attempts,
        pages.c.depth,
        pages.c.found_on,
        pages.c.bytes_in,
        pages.c.settled_at,
    )
    .where(pages.c.job_id == bindparam("job"), pages.c.key > bindparam("after"))
    .order_by(pages.c.key)
    .limit(bindparam("most"))
)


def pages_after(tx: Tx, job_id: UUID, after: bytes, limit: int) -> Sequence[Any]:
    """Return the next pages of a job, ordered by key, so that pages of a site are adjacent."""
    return tx.rows(_STEP, {"job": job_id, "after": after, "most": limit})


Written: TypeAlias = str | bytes
"""All records of a site as one JSON list, which takes half the time of single rows."""

_UNTIL = b"\xff" * 16
_ASKED_AT_ONCE = 1_000
_PAGES_READ = select(sites.c.id, sites.c.pages_done)

# Run by the driver directly: a job may have tens of thousands of sites, and SQLAlchemy would take most of the time.
_OF_SITE = """
    SELECT count(*), CAST('[' || coalesce(group_concat(data), '') || ']' AS BLOB)
    FROM (SELECT data FROM records
          WHERE job_id = ? AND kind = ? AND key >= ? AND key <= ? AND site_id = ? LIMIT ?)
"""
# The records of each site are counted first by the index; a few of another site with the same key prefix do no harm.
# LIMIT and OFFSET keep the planner from merging the subqueries, each of which is about a single site.
_OF_SITES = """
    SELECT f.n, '[' || coalesce(d.data, '') || ']'
    FROM (
        SELECT w.*, sum(c.found) OVER until - c.found AS before, max(c.found) OVER until AS most
        FROM unnest($3::bytea[], $4::bytea[], $5::uuid[]) WITH ORDINALITY AS w(low, high, site, n)
        CROSS JOIN LATERAL (
            SELECT count(*) AS found FROM (
                SELECT 1 FROM records r
                WHERE r.job_id = $1 AND r.kind = $2 AND r.key >= w.low AND r.key <= w.high
                LIMIT $7 + 1
            ) AS few
        ) AS c
        WINDOW until AS (ORDER BY w.n)
    ) AS f
    CROSS JOIN LATERAL (
        SELECT string_agg(r.data::text, ',') AS data FROM records r
        WHERE r.job_id = $1 AND r.kind = $2 AND r.key >= f.low AND r.key <= f.high AND r.site_id = f.site
        OFFSET 0
    ) AS d
    WHERE f.before < $6 AND f.most <= $7
    ORDER BY f.n
"""


@dataclass(frozen=True, slots=True)
class SitePlace:
    """Location of a site's records."""

    host: str
    id: UUID
    pages_read: int

    @property
    def prefix(self) -> bytes:
        return url_key(f"http://{self.host}/")[:4]


def site_places(tx: Tx, job_id: UUID) -> list[SitePlace]:
    """Return all sites of a job, sorted by host in the same order on both databases."""
    query = select(sites.c.host, sites.c.id, sites.c.pages_done).where(sites.c.job_id == job_id)
    return sorted((SitePlace(row.host, row.id, row.pages_done) for row in tx.run(query)), key=lambda place: place.host)


def pages_read(tx: Tx, wanted: Sequence[SitePlace]) -> dict[UUID, int]:
    """Count the pages of these sites read by now, because a running job continues while its files are made."""
    known: dict[UUID, int] = {}
    for start in range(0, len(wanted), _ASKED_AT_ONCE):
        ids = [place.id for place in wanted[start : start + _ASKED_AT_ONCE]]
        known.update((row.id, row.pages_done) for row in tx.run(_PAGES_READ.where(sites.c.id.in_(ids))))
    return known


def records_of_sites(
    tx: Tx, job_id: UUID, kind: str, wanted: Sequence[SitePlace], enough: int, large: int
) -> list[Written]:
    """Return the records of the first of these sites, until there are `enough`.

    It also stops before a site with more than `large` records; the result is empty if that is the first one.
    """
    if tx.dialect.row_locks:
        return _many_asked_at_once(tx, job_id, kind, wanted, enough, large)
    return _one_after_the_other(tx, job_id, kind, wanted, enough, large)


def _one_after_the_other(
    tx: Tx, job_id: UUID, kind: str, wanted: Sequence[SitePlace], enough: int, large: int
) -> list[Written]:
    cursor: Any = tx.conn.connection.cursor()
    found: list[Written] = []
    rows = 0
    for place in wanted:
        prefix = place.prefix
        values = (job_id.bytes, kind, prefix, prefix + _UNTIL, place.id.bytes, large + 1)
        count, written = cursor.execute(_OF_SITE, values).fetchone()
        if count > large:
            break
        found.append(written)
        rows += count
        if rows >= enough:
            break
    cursor.close()
    return found


def _many_asked_at_once(
    tx: Tx, job_id: UUID, kind: str, wanted: Sequence[SitePlace], enough: int, large: int
) -> list[Written]:
    """Read many sites in one query of the driver, because round trips would take most of the time."""
    lows = [place.prefix for place in wanted]
    highs = [low + _UNTIL for low in lows]
    ids = [place.id for place in wanted]
    driver: Any = tx.conn.connection.driver_connection
    rows = await_only(driver.fetch(_OF_SITES, job_id, kind, lows, highs, ids, enough, large))
    return [written for _, written in rows]


def records_named(
    tx: Tx, job_id: UUID, kind: str, place: SitePlace, names: Sequence[str], after: bytes, limit: int
) -> list[Any]:
    """Return keys and some values of a site's records, ordered by key, in steps: for sites with very many."""
    values = [records.c.data[name].as_string() for name in names]
    query = (
        select(records.c.key, *values)
        .where(
            records.c.job_id == job_id,
            records.c.kind == kind,
            records.c.key >= place.prefix,
            records.c.key <= place.prefix + _UNTIL,
            records.c.key > after,
            records.c.site_id == place.id,
        )
        .order_by(records.c.key)
        .limit(limit)
    )
    return [(bytes(row[0]), *row[1:]) for row in tx.run(query)]


_HOSTS = 1_000  # per query

# By ranges of the primary key, a site at a time: neither table has an index by site.
_FAILED = select(func.count()).where(
    pages.c.job_id == bindparam("job", type_=pages.c.job_id.type),
    pages.c.key >= bindparam("low"),
    pages.c.key <= bindparam("high"),
    pages.c.site_id == bindparam("site", type_=pages.c.site_id.type),
    pages.c.state == PageState.FAILED,
)
_BY_STATE = (
    select(pages.c.state, func.count().label("found"), func.sum(pages.c.bytes_in).label("size"))
    .where(
        pages.c.job_id == bindparam("job", type_=pages.c.job_id.type),
        pages.c.key >= bindparam("low"),
        pages.c.key <= bindparam("high"),
        pages.c.site_id == bindparam("site", type_=pages.c.site_id.type),
    )
    .group_by(pages.c.state)
)
_ANY_RECORD = (
    select(records.c.key)
    .where(
        records.c.job_id == bindparam("job", type_=records.c.job_id.type),
        records.c.kind == bindparam("kind"),
        records.c.key >= bindparam("low"),
        records.c.key <= bindparam("high"),
        records.c.site_id == bindparam("site", type_=records.c.site_id.type),
    )
    .limit(1)
)


def pages_failed(tx: Tx, job_id: UUID, hosts: Sequence[str]) -> dict[str, int]:
    """Count the failed pages of each of these sites."""
    found = site_store.by_host(tx, job_id, hosts)
    return {
        host: int(tx.run(_FAILED, {"job": job_id, "site": site_id, **_range(host)}).scalar_one())
        for host, site_id in found.items()
    }


def pages_of(tx: Tx, job_id: UUID, hosts: Sequence[str]) -> tuple[Counter[PageState], int]:
    """Count the pages of these sites together by state, and their bytes."""
    counted: Counter[PageState] = Counter()
    size = 0
    for start in range(0, len(hosts), _HOSTS):
        for host, site_id in site_store.by_host(tx, job_id, hosts[start : start + _HOSTS]).items():
            for row in tx.run(_BY_STATE, {"job": job_id, "site": site_id, **_range(host)}):
                counted[PageState(row.state)] += int(row.found)
                size += int(row.size)
    return counted, size


def with_records(tx: Tx, job_id: UUID, kind: str, hosts: Sequence[str]) -> set[str]:
    """Return which of these sites have a record."""
    found = site_store.by_host(tx, job_id, hosts)
    return {
        host
        for host, site_id in found.items()
        if tx.run(_ANY_RECORD, {"job": job_id, "kind": kind, "site": site_id, **_range(host)}).first()
    }


def _range(host: str) -> dict[str, bytes]:
    prefix = url_key(f"http://{host}/")[:4]
    return {"low": prefix, "high": prefix + _UNTIL}


Requests = Counter[tuple[UUID, str]]
"""Number of requests by site and rung."""

_ATTEMPTS = (
    select(pages.c.key, pages.c.site_id, pages.c.attempts)
    .where(pages.c.job_id == bindparam("job", type_=pages.c.job_id.type), pages.c.key > bindparam("after"))
    .order_by(pages.c.key)
    .limit(bindparam("most"))
)


def requests_of_sites(tx: Tx, job_id: UUID, after: bytes, limit: int) -> tuple[Requests, bytes | None]:
    """Count the requests of the next pages; also return the key to continue after, None after the last.

    Every request that was sent counts, including redirects.
    """
    rows = tx.rows(_ATTEMPTS, {"job": job_id, "after": after, "most": limit})
    found: Requests = Counter()
    for row in rows:
        for attempt in (Attempt(*one) for one in row.attempts):
            if attempt.rung != ASKED_AGAIN:
                found[row.site_id, attempt.rung] += len(attempt.sent)
    return found, bytes(rows[-1].key) if len(rows) == limit else None


_AT_ONCE = 1_000  # sites


@dataclass(frozen=True, slots=True)
class Rendered:
    """A site with pages that were read by running their scripts."""

    host: str
    rendered: int
    read: int


def pages_by_rung(tx: Tx, job_id: UUID, without: Sequence[UUID] = ()) -> dict[str, int]:
    """Return the number of pages read by each rung; pages of the sites in `without` are left out."""
    done = (pages.c.job_id == job_id) & (pages.c.state == PageState.DONE)
    query = select(pages.c.rung, func.count().label("pages")).where(done).group_by(pages.c.rung)
    found = Counter({row.rung: int(row.pages) for row in tx.run(query)})
    some = query.where(pages.c.site_id.in_(bindparam("ids", expanding=True)))
    for start in range(0, len(without), _AT_ONCE):
        found -= Counter({row.rung: int(row.pages) for row in tx.run(some, {"ids": without[start : start + _AT_ONCE]})})
    return {name: found[name] for name in (*RUNGS, *sorted(found.keys() - RUNGS.keys())) if found[name]}


def rendered_pages(tx: Tx, job_id: UUID, limit: int) -> list[Rendered]:
    """Return sites with rendered pages, those with most first."""
    rendering = [rung.name for rung in RUNGS.values() if rung.renders]
    done = (pages.c.job_id == job_id) & (pages.c.state == PageState.DONE) & pages.c.rung.in_(rendering)
    counted = select(pages.c.site_id, func.count().label("pages")).where(done).group_by(pages.c.site_id).subquery()
    query = (
        select(sites.c.host, counted.c.pages, sites.c.pages_done)
        .join(counted, counted.c.site_id == sites.c.id)
        .order_by(counted.c.pages.desc(), sites.c.host)
        .limit(limit)
    )
    return [Rendered(row.host, int(row.pages), row.pages_done) for row in tx.run(query)]
