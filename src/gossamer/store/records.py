"""Records: the result rows of jobs, unique by identity, and the pages and sites that failed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, delete, func, insert, select

from gossamer.db.bulk import BulkStatement, KeyQuery
from gossamer.db.tables import pages, records, sites
from gossamer.db.transactions import Tx
from gossamer.model.recipe import StoredRecord
from gossamer.model.record import Record
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import site_of_url


class NewRecord(NamedTuple):
    """A record with its key: its site as in the page's key, its subject, then the rest of its identity.

    So the records of one page are adjacent.
    """

    key: bytes
    page_key: bytes
    site_id: UUID
    record: Record


def place(record: Record, page_key: bytes, site_id: UUID) -> NewRecord:
    return NewRecord(key_of(record.identity, page_key), page_key, site_id, record)


def key_of(identity: tuple[str, ...], page_key: bytes) -> bytes:
    """Return the key that the page's record of this identity has or would have."""
    about, *rest = identity
    return page_key[:4] + _digest(about) + _digest("\x1f".join(rest))


def concluded_key(identity: tuple[str, ...]) -> bytes:
    """Return the key of a record without page, made from its identity."""
    return b"\0\0\0\0" + blake2b("\x1f".join(identity).encode("utf-8", "surrogatepass"), digest_size=12).digest()


@lru_cache(maxsize=4_096)
def _digest(text: str) -> bytes:
    # Records of a page share its address, and pages share their keywords.
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest()


_PRESENT = KeyQuery(records, [records.c.key], ["job_id", "kind"])
_ADD = BulkStatement(
    insert(records).values(
        {column.name: bindparam(column.name) for column in records.c if column.name != "generation"}
    ),
    " ON CONFLICT (job_id, kind, key) DO NOTHING",
    together=True,
)


_REPLACE = BulkStatement(
    insert(records).values({column.name: bindparam(column.name) for column in records.c}),
    " ON CONFLICT (job_id, kind, key) DO UPDATE SET"
    " data = excluded.data, created_at = excluded.created_at, generation = excluded.generation",
    together=True,
)
NO_SITE = UUID(int=0)
"""The site of records that belong to no page."""


def add(tx: Tx, job_id: UUID, new: Sequence[NewRecord]) -> int:
    """Add records that do not exist yet; return their number."""
    unique = {(one.record.kind, one.key): one for one in reversed(new)}
    # Only needed if the database does not report the number of inserted rows.
    present = set() if tx.dialect.counts_many else _present(tx, job_id, unique)
    rows = [
        {
            "job_id": job_id,
            "kind": kind,
            "key": key,
            "site_id": one.site_id,
            "page_key": one.page_key,
            "data": one.record.data,
            "created_at": tx.now,
        }
        for (kind, key), one in sorted(unique.items(), key=itemgetter(0))
        if (kind, key) not in present
    ]
    added = _ADD.run(tx, rows)
    return added if tx.dialect.counts_many else len(rows)


def conclude(tx: Tx, job_id: UUID, generation: int, concluded: Sequence[Record]) -> int:
    """Insert or replace records that belong to no page; return the number of new ones."""
    unique = {(one.kind, concluded_key(one.identity)): one for one in concluded}
    there = _present(tx, job_id, unique)
    _REPLACE.run(
        tx,
        [
            {
                "job_id": job_id,
                "kind": kind,
                "key": key,
                "site_id": NO_SITE,
                "page_key": b"",
                "data": one.data,
                "created_at": tx.now,
                "generation": generation,
            }
            for (kind, key), one in sorted(unique.items(), key=itemgetter(0))
        ],
    )
    return len(unique) - len(there)


def drop_former(tx: Tx, job_id: UUID, kind: str, generation: int, after: bytes, most: int) -> tuple[int, bytes]:
    """Delete up to `most` records of a kind that the current generation has not written again.

    Returns their number and the key at which the next call begins, empty after the last one.
    """
    mine = (records.c.job_id == job_id) & (records.c.kind == kind) & (records.c.key > after)
    query = select(records.c.key, records.c.generation).where(mine).order_by(records.c.key).limit(most)
    rows = tx.rows(query, {})
    former = [row.key for row in rows if row.generation is not None and row.generation < generation]
    if former:
        this = (records.c.job_id == job_id) & (records.c.kind == kind) & records.c.key.in_(former)
        tx.run(delete(records).where(this))
    return len(former), rows[-1].key if len(rows) == most else b""


def in_order(
    tx: Tx, job_id: UUID, kind: str, after: bytes, limit: int, *, generation: int | None = None
) -> list[StoredRecord]:
    """Return records of a kind ordered by key; of concluded ones optionally only one generation."""
    mine = (records.c.job_id == job_id) & (records.c.kind == kind) & (records.c.key > after)
    if generation is not None:
        mine &= records.c.generation.is_(None) | (records.c.generation == generation)
    query = select(records.c.key, records.c.data).where(mine).order_by(records.c.key).limit(limit)
    return [StoredRecord(bytes(row.key), row.data) for row in tx.rows(query, {})]


def count_of_kind(tx: Tx, job_id: UUID, kind: str) -> int:
    mine = (records.c.job_id == job_id) & (records.c.kind == kind)
    return int(tx.run(select(func.count()).select_from(records).where(mine)).scalar_one())


def _present(tx: Tx, job_id: UUID, places: Collection[tuple[str, bytes]]) -> set[tuple[str, bytes]]:
    return {
        (kind, bytes(key))
        for kind in sorted({kind for kind, _ in places})
        for (key,) in _PRESENT.rows(tx, {"job_id": job_id, "kind": kind}, [key for of, key in places if of == kind])
    }


@dataclass(frozen=True, slots=True)
class KeyedRecord:
    """A record with its key."""

    kind: str
    key: bytes
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """A site or a page that failed."""

    key: bytes  # its position in the list
    host: str
    url: str  # "": the whole site failed
    trouble: Trouble | None


@dataclass(frozen=True, slots=True)
class Failures:
    """Some failures, and the position after which the next ones follow; empty after the last."""

    items: list[Failure]
    next: bytes = b""

    @classmethod
    def of(cls, found: list[Failure], limit: int) -> "Failures":
        """Make a page of `limit` from a list that has one more if there are further ones."""
        return cls(found[:limit], found[limit - 1].key if len(found) > limit else b"")


def found(tx: Tx, job_id: UUID, kind: str, after: bytes, limit: int) -> list[KeyedRecord]:
    """Return records of a kind after a key, ordered by key and so by site."""
    wanted = (records.c.job_id == job_id) & (records.c.kind == kind) & (records.c.key > after)
    query = select(records.c.kind, records.c.key, records.c.data).where(wanted).order_by(records.c.key).limit(limit)
    return [KeyedRecord(row.kind, bytes(row.key), row.data) for row in tx.run(query)]


def failed_pages(tx: Tx, job_id: UUID, after: bytes, limit: int) -> Failures:
    """Return failed pages, ordered by key. For given pages, `given_pages.failed_after` has more details."""
    wanted = (pages.c.job_id == job_id) & (pages.c.state == PageState.FAILED) & (pages.c.key > after)
    columns = (pages.c.key, pages.c.url, pages.c.reason, pages.c.detail, pages.c.http_status)
    rows = tx.run(select(*columns).where(wanted).order_by(pages.c.key).limit(limit + 1))
    return Failures.of([Failure(bytes(row.key), site_of_url(row.url), row.url, _trouble(row)) for row in rows], limit)


def failed_sites(tx: Tx, job_id: UUID, after: bytes, limit: int) -> Failures:
    """Return failed sites, ordered by host."""
    wanted = (sites.c.job_id == job_id) & (sites.c.state == SiteState.FAILED) & (sites.c.host > after.decode())
    columns = (sites.c.host, sites.c.reason, sites.c.detail, sites.c.http_status)
    rows = tx.run(select(*columns).where(wanted).order_by(sites.c.host).limit(limit + 1))
    return Failures.of([Failure(row.host.encode(), row.host, "", _trouble(row)) for row in rows], limit)


def _trouble(row: Any) -> Trouble | None:
    return Trouble(Reason[row.reason], row.detail, row.http_status) if row.reason else None


_BY_KEY = KeyQuery(records, [records.c.key, records.c.data], ["job_id", "kind"])


def by_keys(tx: Tx, job_id: UUID, kind: str, keys: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the records of these keys in their order; missing ones are left out."""
    rows = {bytes(key): data for key, data in _BY_KEY.rows(tx, {"job_id": job_id, "kind": kind}, keys)}
    return [rows[key] for key in keys if key in rows]
