"""Visits that change their state: read before it, told as events after it, in the same transaction."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, or_, select

from gossamer.model.states import VISIT_MOVES, VisitState, origins
from gossamer.store import events
from gossamer.store.events import Event
from gossamer.store.tables import visits
from gossamer.store.tx import Tx

FREED: Mapping[str, Any] = {"lease": None, "lease_until": None, "worker": None}
"""The columns of a visit that is in nobody's hands."""
TOLD_ANEW: Mapping[str, Any] = {"slices": 0}
"""Of one that did not come back in the order of things: that, and its next claim, are told."""


class Moving(NamedTuple):
    """A visit that is about to change its state."""

    id: UUID
    job_id: UUID
    site_id: UUID
    worker: str | None  # in whose hands it was
    slices: int = 0  # handed back in order since a claim of it was last told

    @classmethod
    def read(cls, tx: Tx, statement: Select[Any], params: dict[str, Any] | None = None) -> "list[Moving]":
        return [cls(*row) for row in tx.rows(statement, params or {})]


def may_become(target: VisitState) -> ColumnElement[bool]:
    """That the table of moves allows it. Written out, since a list has no place in a statement for many rows."""
    return or_(*(visits.c.state == state for state in origins(VISIT_MOVES, target)))


def moving(*which: ColumnElement[bool]) -> Select[Any]:
    """The visits of which something holds, in the order every transaction takes them."""
    columns = (visits.c.id, visits.c.job_id, visits.c.site_id, visits.c.worker, visits.c.slices)
    return select(*columns).where(*which).order_by(visits.c.id)


def tell(tx: Tx, target: VisitState, moved: Sequence[Moving], why: str = "", *, who: str = "") -> None:
    """One event each. Unless somebody else is named, it was the worker in whose hands the visit was."""
    kind = f"visit.{target}"
    events.add_many(
        tx,
        [(one.job_id, Event(tx.now, kind, who or one.worker or "", why, one.site_id, one.id)) for one in moved],
    )
