"""What is to be known before anything is reserved: the budgets first, and then what stands against a request.

In this order: whoever changes a lease or closes a rung may be just about to, and we may have to wait for the budgets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import bindparam, select

from gossamer.model.money import Amount, Budget, BudgetKey, Cap, Price, Reservation, Scope, keys_for
from gossamer.model.page import Visit
from gossamer.store import budgets, visits
from gossamer.store.ledger_tables import closed_rungs, reservations
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that somebody wants to make. Its id is made outside: the transaction may be made twice."""

    id: UUID
    visit: Visit
    page: bytes | None
    price: Price
    worst: Amount

    def granted(self, day: date, at: datetime) -> Reservation:
        visit = self.visit
        where = (visit.job_id, visit.site_id, visit.id, visit.lease)
        return Reservation(self.id, *where, self.page, self.price, self.worst, day, at)


@dataclass(frozen=True, slots=True)
class Outlook:
    day: date
    budgets: Mapping[BudgetKey, Budget]  # which nobody else changes until commit
    lost: frozenset[UUID]  # leases that are gone
    closed: Mapping[str, int]  # rungs, and the most they took for one request
    known: frozenset[UUID]  # reserved before: the answer to the commit was not heard


def look(tx: Tx, asked: Sequence[Asked], caps: Mapping[Scope, Cap]) -> Outlook:
    """The budgets these requests are to be paid from, held; and whether anything stands against any of them."""
    day = tx.now.date()
    held = budgets.hold(tx, {key for one in asked for key in keys_for(one.visit.job_id, day, one.visit.account)}, caps)
    return Outlook(day, held, _lost(tx, asked), _closed(tx), _known(tx, asked))


def _lost(tx: Tx, asked: Sequence[Asked]) -> frozenset[UUID]:
    held = visits.leases(tx, [one.visit.id for one in asked])
    return frozenset(one.visit.lease for one in asked if held.get(one.visit.id) != one.visit.lease)


_CLOSED = select(closed_rungs.c.rung, closed_rungs.c.charged)
_KNOWN = select(reservations.c.id).where(reservations.c.id.in_(bindparam("ids", expanding=True)))


def _closed(tx: Tx) -> dict[str, int]:
    return {row.rung: row.charged for row in tx.run(_CLOSED)}


def _known(tx: Tx, asked: Sequence[Asked]) -> frozenset[UUID]:
    return frozenset(tx.run(_KNOWN, {"ids": [one.id for one in asked]}).scalars())
