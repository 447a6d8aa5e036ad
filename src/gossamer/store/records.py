"""Records: the rows users came for. Never two for the same identity."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, insert

from gossamer.model.record import Record
from gossamer.store.lookup import Lookup
from gossamer.store.many import Many
from gossamer.store.tables import records
from gossamer.store.tx import Tx


class NewRecord(NamedTuple):
    """A record with its place: first its site, as its page's key has it, then what it is about, then the rest of what
    makes it unique. So the records of one page are written, and read, together."""

    key: bytes
    page_key: bytes
    site_id: UUID
    record: Record


def place(record: Record, page_key: bytes, site_id: UUID) -> NewRecord:
    return NewRecord(key_of(record.identity, page_key), page_key, site_id, record)


def key_of(identity: tuple[str, ...], page_key: bytes) -> bytes:
    """Where the record of this identity lies that the page has, or would have."""
    about, *rest = identity
    return page_key[:4] + _digest(about) + _digest("\x1f".join(rest))


@lru_cache(maxsize=4_096)
def _digest(text: str) -> bytes:
    # Records of a page share its address, and pages share their keywords.
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest()


_PRESENT = Lookup(records, [records.c.key], ["job_id", "kind"])
_ADD = Many(
    insert(records).values({column.name: bindparam(column.name) for column in records.c}),
    " ON CONFLICT (job_id, kind, key) DO NOTHING",
    together=True,
)


def add(tx: Tx, job_id: UUID, new: Sequence[NewRecord]) -> int:
    """Add those that are not there yet; how many that was."""
    unique = {(one.record.kind, one.key): one for one in reversed(new)}
    # Asked for only where the database would not say how many of them it has taken.
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


def _present(tx: Tx, job_id: UUID, places: Collection[tuple[str, bytes]]) -> set[tuple[str, bytes]]:
    return {
        (kind, bytes(key))
        for kind in sorted({kind for kind, _ in places})
        for (key,) in _PRESENT.rows(tx, {"job_id": job_id, "kind": kind}, [key for of, key in places if of == kind])
    }
