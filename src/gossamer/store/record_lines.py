"""Records for files: as text, whole sites together, never many more than asked for at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, LargeBinary, Uuid, bindparam, select, text

from gossamer.model.url import url_key
from gossamer.store.lookup import Lookup
from gossamer.store.tables import records, sites
from gossamer.store.tx import Tx

_UNTIL = b"\xff" * 16

# Asked of the driver: a job may have tens of thousands of sites, and the library's part would be the larger one.
_OF_SITE = "SELECT data FROM records WHERE job_id = ? AND kind = ? AND key >= ? AND key <= ? AND site_id = ? LIMIT ?"
_TYPED = (
    bindparam("lows", type_=ARRAY(LargeBinary)),
    bindparam("highs", type_=ARRAY(LargeBinary)),
    bindparam("sites", type_=ARRAY(Uuid)),
    bindparam("job", type_=Uuid),
)
# The limit and the offset keep the inner question what it is: one about a single site.
_COUNT_EACH = text(
    """
    SELECT w.n, c.rows
    FROM unnest(:lows, :highs, :sites) WITH ORDINALITY AS w(low, high, site, n)
    CROSS JOIN LATERAL (
        SELECT count(*) AS rows FROM (
            SELECT 1 FROM records r
            WHERE r.job_id = :job AND r.kind = :kind AND r.key >= w.low AND r.key <= w.high AND r.site_id = w.site
            LIMIT :most
        ) AS few
    ) AS c
    """
).bindparams(*_TYPED)
_READ_EACH = text(
    """
    SELECT w.n, d.data
    FROM unnest(:lows, :highs, :sites) WITH ORDINALITY AS w(low, high, site, n)
    CROSS JOIN LATERAL (
        SELECT CAST(r.data AS text) AS data FROM records r
        WHERE r.job_id = :job AND r.kind = :kind AND r.key >= w.low AND r.key <= w.high AND r.site_id = w.site
        OFFSET 0
    ) AS d
    """
).bindparams(*_TYPED)


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


def of_sites(tx: Tx, job_id: UUID, kind: str, wanted: Sequence[SitePlace], most: int) -> list[list[str]]:
    """Records of the first of these sites, a list for each, in no particular order: as many sites as fit.

    Up to twice `most` rows. Nothing if the very first site alone has more than `most`.
    """
    if tx.dialect.row_locks:
        return _many_asked_at_once(tx, job_id, kind, wanted, most)
    return _one_after_the_other(tx, job_id, kind, wanted, most)


def _one_after_the_other(tx: Tx, job_id: UUID, kind: str, wanted: Sequence[SitePlace], most: int) -> list[list[str]]:
    cursor: Any = tx.conn.connection.cursor()
    found: list[list[str]] = []
    rows = 0
    for place in wanted:
        prefix = place.prefix
        values = (job_id.bytes, kind, prefix, prefix + _UNTIL, place.id.bytes, most + 1)
        some = [data for (data,) in cursor.execute(_OF_SITE, values)]
        if len(some) > most:
            break
        found.append(some)
        rows += len(some)
        if rows >= most:
            break
    cursor.close()
    return found


def _many_asked_at_once(tx: Tx, job_id: UUID, kind: str, wanted: Sequence[SitePlace], most: int) -> list[list[str]]:
    lows = [place.prefix for place in wanted]
    ranges = {
        "lows": lows,
        "highs": [low + _UNTIL for low in lows],
        "sites": [place.id for place in wanted],
        "job": job_id,
        "kind": kind,
    }
    counts = dict(tx.rows(_COUNT_EACH, {**ranges, "most": most + 1}))
    fit, rows = 0, 0
    while fit < len(wanted) and rows < most and counts[fit + 1] <= most:
        rows += counts[fit + 1]
        fit += 1
    found: list[list[str]] = [[] for _ in range(fit)]
    if rows:
        some = {name: value[:fit] if isinstance(value, list) else value for name, value in ranges.items()}
        for number, data in tx.rows(_READ_EACH, some):
            found[number - 1].append(data)
    return found


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
