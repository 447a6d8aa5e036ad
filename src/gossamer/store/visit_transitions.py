"""State changes of visits: read before the change, logged as events after it, in the same transaction."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, bindparam, or_, select, update

from gossamer.db.bulk import BulkStatement
from gossamer.db.tables import visits
from gossamer.db.transactions import Tx
from gossamer.model.states import VISIT_MOVES, VisitState, origins
from gossamer.store import events
from gossamer.store.events import Event

FREED: Mapping[str, Any] = {"lease": None, "lease_until": None, "worker": None}
"""The lease columns of a visit without a worker."""
RESET_ON_RELEASE: Mapping[str, Any] = {"slices": 0}
"""Columns reset when a visit is released abnormally, so that the release and the next claim are logged as events."""


class Moving(NamedTuple):
    """A visit that is about to change its state."""

    id: UUID
    job_id: UUID
    site_id: UUID
    worker: str | None  # that held it
    slices: int = 0  # regular hand-backs since a claim was last logged

    @classmethod
    def read(cls, tx: Tx, statement: Select[Any], params: dict[str, Any] | None = None) -> "list[Moving]":
        return [cls(*row) for row in tx.rows(statement, params or {})]


def may_become(target: VisitState) -> ColumnElement[bool]:
    """Return the condition that a visit may change to this state; spelled out for statements on many rows."""
    return or_(*(visits.c.state == state for state in origins(VISIT_MOVES, target)))


def moving(*which: ColumnElement[bool]) -> Select[Any]:
    """Select visits by conditions, in the common lock order."""
    columns = (visits.c.id, visits.c.job_id, visits.c.site_id, visits.c.worker, visits.c.slices)
    return select(*columns).where(*which).order_by(visits.c.id)


def tell(tx: Tx, target: VisitState, moved: Sequence[Moving], why: str = "", *, who: str = "") -> None:
    """Write one event for each visit. Unless `who` is given, it names the worker that held the visit."""
    kind = f"visit.{target}"
    events.add_many(
        tx,
        [(one.job_id, Event(tx.now, kind, who or one.worker or "", why, one.site_id, one.id)) for one in moved],
    )


_SHORTEST_WAIT = timedelta(seconds=1)  # less may be a difference between the clocks


class Ending(NamedTuple):
    """New state of a leased visit: `ready` again at `due_at` (default: now), or over."""

    id: UUID
    lease: UUID
    state: VisitState
    why: str = ""
    due_at: datetime | None = None

    @property
    def in_order(self) -> bool:
        """True if only a slice is over: the visit continues after its time limit or a wait."""
        return self.state is VisitState.READY and not self.why


_COLUMNS = ("id", "job_id", "site_id", "worker", "lease", "open_pages", "slices")
_HELD = select(*(visits.c[name] for name in _COLUMNS)).where(
    visits.c.id.in_(bindparam("ids", expanding=True)), visits.c.state == VisitState.RUNNING
)
_END = BulkStatement(
    update(visits)
    .where(
        visits.c.id == bindparam("b_id"),
        visits.c.lease == bindparam("b_held", type_=visits.c.lease.type),
        visits.c.state == bindparam("b_running"),
    )
    .values(
        **{name: bindparam(f"b_{name}", type_=visits.c[name].type) for name in FREED},
        state=bindparam("b_state"),
        due_at=bindparam("b_due", type_=visits.c.due_at.type),
        slices=bindparam("b_slices"),
    )
)


def end(tx: Tx, endings: Sequence[Ending]) -> set[UUID]:
    """End visits still held under the given leases; return their ids.

    A visit with open pages is not over and stays unchanged.
    """
    if not endings:
        return set()
    held = {row.id: row for row in tx.run(tx.locked(_HELD), {"ids": sorted(ending.id for ending in endings)})}
    ended = [
        ending
        for ending in endings
        if (row := held.get(ending.id))
        and row.lease == ending.lease
        and VisitState.RUNNING in origins(VISIT_MOVES, ending.state)
        and (ending.state is VisitState.READY or row.open_pages == 0)
    ]
    freed = {f"b_{name}": value for name, value in FREED.items()}
    _END.run(
        tx,
        [
            {
                "b_id": ending.id,
                "b_held": ending.lease,
                "b_running": VisitState.RUNNING,
                "b_state": ending.state,
                "b_due": ending.due_at or tx.now,
                "b_slices": held[ending.id].slices + 1 if ending.in_order else 0,
                **freed,
            }
            for ending in sorted(ended)
        ],
    )
    told = [(row.job_id, _event(tx, ending, row)) for ending in ended if _is_told(ending, row := held[ending.id])]
    events.add_many(tx, told)
    return {ending.id for ending in ended}


def _is_told(ending: Ending, row: Row[Any]) -> bool:
    """Return True if an ending is logged: of regular slices only the 1st, 2nd, 4th, 8th and so on."""
    return not ending.in_order or row.slices & (row.slices + 1) == 0


def _event(tx: Tx, ending: Ending, row: Row[Any]) -> Event:
    return Event(tx.now, f"visit.{ending.state}", row.worker or "", _why(tx, ending, row), row.site_id, row.id)


def _why(tx: Tx, ending: Ending, row: Row[Any]) -> str:
    if not ending.in_order:
        return ending.why or (f"in {row.slices + 1:,} slices" if row.slices else "")
    which = f" (slice {row.slices + 1:,})" if row.slices else ""
    if ending.due_at is None or ending.due_at - tx.now < _SHORTEST_WAIT:
        return f"end of slice{which}"
    return f"waits until {ending.due_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}{which}"
