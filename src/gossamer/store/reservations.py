"""Reservations: the worst price of requests that may be under way, each held by the lease of its visit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, delete, func, insert, or_, select

from gossamer.model.money import Amount, Reservation
from gossamer.store.ledger_tables import PARTS, reservations
from gossamer.store.many import Many
from gossamer.store.tables import visits
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Taken:
    """A reservation that is no more: whoever took it out says what became of it."""

    id: UUID
    job_id: UUID
    site_id: UUID
    page: bytes | None
    rung: str
    provider: str
    worst: Amount
    day: str


_ADD = Many(insert(reservations))


def add(tx: Tx, fresh: Sequence[Reservation]) -> None:
    _ADD.run(
        tx,
        [
            {
                "id": one.id,
                "job_id": one.job_id,
                "site_id": one.site_id,
                "visit_id": one.visit_id,
                "lease": one.lease,
                "page_key": one.page,
                "rung": one.price.rung,
                "provider": one.price.provider,
                **{part: getattr(one.worst, part) for part in PARTS},
                "day": one.day.isoformat(),
                "at": one.at,
            }
            for one in fresh
        ],
    )


_TAKE = delete(reservations).where(reservations.c.id.in_(bindparam("ids", expanding=True))).returning(reservations)


def take(tx: Tx, ids: Sequence[UUID]) -> list[Taken]:
    """Take these out; those that were still there. Asked twice for the same one, only the first gets it."""
    return [_taken(row) for row in tx.rows(_TAKE, {"ids": list(ids)})]


_GONE = (
    select(reservations.c.id)
    .outerjoin(visits, visits.c.id == reservations.c.visit_id)
    .where(or_(visits.c.lease.is_(None), visits.c.lease != reservations.c.lease))
    .order_by(reservations.c.id)
)


def orphans(tx: Tx) -> list[UUID]:
    """Those whose lease is gone, and with it whoever knew what became of the request. A lease never comes back."""
    return list(tx.run(_GONE).scalars())


def under_way(tx: Tx, job_id: UUID) -> int:
    """Requests of a job that may cost something and are not booked yet."""
    return int(tx.run(select(func.count()).where(reservations.c.job_id == job_id)).scalar_one())


def any_left(tx: Tx) -> bool:
    return tx.run(select(reservations.c.id).limit(1)).first() is not None


def _taken(row: Any) -> Taken:
    return Taken(
        row.id,
        row.job_id,
        row.site_id,
        bytes(row.page_key) if row.page_key is not None else None,
        row.rung,
        row.provider,
        Amount(*(int(getattr(row, part)) for part in PARTS)),
        row.day,
    )
