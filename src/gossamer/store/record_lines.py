"""Records for files: as JSON, whole sites together, never many more than asked for at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.util import await_only

from gossamer.model.url import url_key
from gossamer.store.lookup import Lookup
from gossamer.store.tables import records, sites
from gossamer.store.tx import Tx

Written: TypeAlias = str | bytes
"""All records of a site as one JSON list: put together by the database, it costs half of what single ones do."""

_UNTIL = b"\xff" * 16
_ASKED_AT_ONCE = 1_000
_PAGES_READ = select(sites.c.id, sites.c.pages_done)

# Asked of the driver: a job may have tens of thousands of sites, and the library's part would be the larger one.
_OF_SITE = """
    SELECT count(*), CAST('[' || coalesce(group_concat(data), '') || ']' AS BLOB)
    FROM (SELECT data FROM records
          WHERE job_id = ? AND kind = ? AND key >= ? AND key <= ? AND site_id = ? LIMIT ?)
"""
# How many each site has is counted first, by the index alone: a few too many, of another site whose keys begin alike,
# do no harm. Limit and offset keep the inner questions what they are: each about a single site.
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
    """Where a site's records lie."""

    host: str
    id: UUID
    pages_read: int

    @property
    def prefix(self) -> bytes:
        return url_key(f"http://{self.host}/")[:4]


def places(tx: Tx, job_id: UUID) -> list[SitePlace]:
    """All sites of a job by host, in the same order whatever the database thinks of letters."""
    query = select(sites.c.host, sites.c.id, sites.c.pages_done).where(sites.c.job_id == job_id)
    return sorted((SitePlace(row.host, row.id, row.pages_done) for row in tx.run(query)), key=lambda place: place.host)


def pages_read(tx: Tx, wanted: Sequence[SitePlace]) -> dict[UUID, int]:
    """How many pages of these sites are read by now: a job at work goes on while its files are made."""
    known: dict[UUID, int] = {}
    for start in range(0, len(wanted), _ASKED_AT_ONCE):
        ids = [place.id for place in wanted[start : start + _ASKED_AT_ONCE]]
        known.update((row.id, row.pages_done) for row in tx.run(_PAGES_READ.where(sites.c.id.in_(ids))))
    return known


def of_sites(tx: Tx, job_id: UUID, kind: str, wanted: Sequence[SitePlace], enough: int, large: int) -> list[Written]:
    """Records of the first of these sites, each in no particular order: sites until there are `enough`.

    A site with more than `large` ends it as well: nothing at all if that is the very first one.
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
    """Asked of the driver, in one go: a file of many sites mostly waits for the server."""
    lows = [place.prefix for place in wanted]
    highs = [low + _UNTIL for low in lows]
    ids = [place.id for place in wanted]
    driver: Any = tx.conn.connection.driver_connection
    rows = await_only(driver.fetch(_OF_SITES, job_id, kind, lows, highs, ids, enough, large))
    return [written for _, written in rows]


def named(
    tx: Tx, job_id: UUID, kind: str, place: SitePlace, names: Sequence[str], after: bytes, limit: int
) -> list[Any]:
    """Keys of a site's records with some of their values, by key, a step at a time: for a site with very many."""
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


_BY_KEY = Lookup(records, [records.c.key, records.c.data], ["job_id", "kind"])


def by_keys(tx: Tx, job_id: UUID, kind: str, keys: Sequence[bytes]) -> list[dict[str, Any]]:
    """The records of these keys, in their order; those that are gone are left out."""
    rows = {bytes(key): data for key, data in _BY_KEY.rows(tx, {"job_id": job_id, "kind": kind}, keys)}
    return [rows[key] for key in keys if key in rows]
