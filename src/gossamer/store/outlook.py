"""What is to be known before anything is reserved, in one statement: every paid request waits for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, Select, bindparam, func, literal_column, select

from gossamer.model.money import Amount, Budget, BudgetKey, Cap, Price, Scope, keys_for
from gossamer.model.page import Visit
from gossamer.store import budgets, visits
from gossamer.store.ledger_tables import closed_rungs, reservations
from gossamer.store.tables import visits as visit_rows
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that somebody wants to make. Its id is made outside: the transaction may be made twice."""

    id: UUID
    visit: Visit
    page: bytes | None
    price: Price
    worst: Amount


@dataclass(frozen=True, slots=True)
class Outlook:
    day: date
    budgets: Mapping[BudgetKey, Budget]  # which nobody else changes until commit
    lost: frozenset[UUID] = frozenset()  # leases that are gone
    closed: Mapping[str, int] = field(default_factory=dict)  # rungs, and the most they took for one request
    known: frozenset[UUID] = frozenset()  # reserved before: the answer to the commit was not heard


def _some(name: str) -> Any:
    return bindparam(name, expanding=True)


_LEASED = (
    select(func.count())
    .where(visit_rows.c.id.in_(_some("visits")), visit_rows.c.lease.in_(_some("leases")))
    .scalar_subquery()
)
_CLOSED = select(func.count()).select_from(closed_rungs).scalar_subquery()
_KNOWN = select(func.count()).where(reservations.c.id.in_(_some("ids"))).scalar_subquery()
_LOOK = budgets.HOLD.add_columns(_LEASED.label("leased"), _CLOSED.label("closed"), _KNOWN.label("known"))
_NOW = literal_column("date_trunc('milliseconds', clock_timestamp())", DateTime(timezone=True))
_LOOK_AND_CLOCK = _LOOK.add_columns(_NOW.label("now")).with_for_update(of=budgets.ROWS)


def look(tx: Tx, asked: Sequence[Asked], caps: Mapping[Scope, Cap], today: date | None) -> Outlook:
    """The budgets these requests are to be paid from, held; and whether anything stands against any of them.

    `today` is what the caller thinks, by a clock that goes with the database's. If that is past by now, or a budget is
    the first of its kind, it takes a few statements more.
    """
    day = today if today is not None and tx.dialect.own_clock else tx.now.date()
    keys = {key for one in asked for key in keys_for(one.visit.job_id, day)}
    rows = tx.rows(_statement(tx), _parameters(asked, keys))
    first = rows[0] if rows else None
    if first is not None and tx.dialect.own_clock:
        tx.agree(first.now)
    held = {budget.key: budget for budget in map(budgets.budget_of, rows)}
    if tx.now.date() != day or len(held) < len(keys):
        day = tx.now.date()
        held = budgets.hold(tx, {key for one in asked for key in keys_for(one.visit.job_id, day)}, caps)
    leases = {one.visit.lease for one in asked}
    return Outlook(
        day,
        held,
        frozenset() if first is not None and first.leased == len(leases) else _lost(tx, asked),
        {} if first is not None and not first.closed else _closed(tx),
        frozenset() if first is not None and not first.known else _known(tx, asked),
    )


def _statement(tx: Tx) -> Select[Any]:
    return _LOOK_AND_CLOCK if tx.dialect.own_clock else tx.locked(_LOOK)


def _parameters(asked: Sequence[Asked], keys: set[BudgetKey]) -> dict[str, Any]:
    return {
        "keys": [(key.scope, key.subject, key.period) for key in keys],
        "visits": _padded([one.visit.id for one in asked]),
        "leases": _padded([one.visit.lease for one in asked]),
        "ids": _padded([one.id for one in asked]),
    }


def _padded(ids: list[UUID]) -> list[UUID]:
    """To the next power of two: a server prepares a statement anew for every number of values it has not met."""
    return ids + ids[-1:] * ((1 << (len(ids) - 1).bit_length()) - len(ids))


def _lost(tx: Tx, asked: Sequence[Asked]) -> frozenset[UUID]:
    held = visits.leases(tx, [one.visit.id for one in asked])
    return frozenset(one.visit.lease for one in asked if held.get(one.visit.id) != one.visit.lease)


def _closed(tx: Tx) -> dict[str, int]:
    return {row.rung: row.charged for row in tx.run(select(closed_rungs))}


def _known(tx: Tx, asked: Sequence[Asked]) -> frozenset[UUID]:
    mine = reservations.c.id.in_([one.id for one in asked])
    return frozenset(tx.run(select(reservations.c.id).where(mine)).scalars())
