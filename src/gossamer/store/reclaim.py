"""Taking visits back from workers that are gone."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, case, exists, select, update

from gossamer.model.states import VisitState
from gossamer.store import dead_letters, sites
from gossamer.store.moves import FREED, TOLD_ANEW, Moving, moving, tell
from gossamer.store.tables import visits
from gossamer.store.tx import Tx

MOST_DEATHS = 3


def take_back(tx: Tx, leases: Mapping[UUID, UUID], why: str = "", *, expired: bool = False) -> int:
    """Return visits to the queue under the tokens they were seen with; each costs the visit one life.

    `expired`: only if they still are, since a renewal may have been quicker.
    """
    # No two visits ever have the same token.
    held = visits.c.id.in_(leases) & visits.c.lease.in_(leases.values())
    if expired:
        held &= visits.c.lease_until < tx.now
    return _void(tx, held, why or ("its lease ran out" if expired else "its walk crashed"), deadly=True)


def let_go(tx: Tx, leases: Mapping[UUID, UUID], why: str) -> int:
    """Nobody has begun to walk them under these tokens, and nobody will: ready again, and nobody is to blame."""
    return _void(tx, visits.c.id.in_(leases) & visits.c.lease.in_(leases.values()), why)


def void_worker(tx: Tx, worker: str, why: str, *, deadly: bool) -> int:
    """A process of ours has ended: whatever it was walking is ready again, one death more if that was deadly."""
    return _void(tx, visits.c.worker == worker, why, deadly=deadly)


def void_home(tx: Tx, home: str) -> int:
    """The caller holds the home, so none of its former workers lives: their leases and nudges are void.

    Nobody is to blame: a worker that dies on its own is seen by its runner, and only that costs a life.
    """
    return _void(tx, visits.c.worker.startswith(f"{home}/", autoescape=True), "its worker is gone")


_ANY_LOST = select(
    exists().where(
        visits.c.state == VisitState.ISSUED, visits.c.due_at < bindparam("before", type_=visits.c.due_at.type)
    )
)


def any_lost(tx: Tx, after: timedelta) -> bool:
    """Prepared once: whoever works a home asks every second."""
    return bool(tx.run(_ANY_LOST, {"before": tx.now - after}).scalar())


def lost_nudges(tx: Tx, after: timedelta) -> int:
    """Issued long ago and never claimed: ready again."""
    return _void(tx, _lost(tx, after), "nobody answered its nudge")


def _lost(tx: Tx, after: timedelta) -> ColumnElement[bool]:
    return (visits.c.state == VisitState.ISSUED) & (visits.c.due_at < tx.now - after)


def _void(tx: Tx, which: ColumnElement[bool], why: str, *, deadly: bool = False) -> int:
    """Whatever of these is in somebody's hands is ready again. Where that is deadly, it costs what was walked a life.

    A visit that was only issued has harmed nobody.
    """
    in_hand = visits.c.state.in_((VisitState.RUNNING, VisitState.ISSUED)) & which
    on_its_last = (visits.c.state == VisitState.RUNNING) & (visits.c.deaths >= MOST_DEATHS - 1)
    # Sites are locked before visits; nearly always there is none to lock.
    doomed = _lock_sites(tx, in_hand & on_its_last) if deadly else set()
    dying = Moving.read(tx, tx.locked(moving(in_hand, on_its_last, visits.c.site_id.in_(doomed)))) if doomed else []
    back = Moving.read(tx, tx.locked(moving(in_hand, visits.c.id.not_in([one.id for one in dying]))))
    # Whoever was settling them when we came has written until now: they are taken back after that, not before.
    tx.look_again()
    values: dict[str, Any] = {**FREED, **TOLD_ANEW, "state": VisitState.READY, "due_at": tx.now}
    if deadly:
        values["deaths"] = visits.c.deaths + case((visits.c.state == VisitState.RUNNING, 1), else_=0)
        values["last_error"] = why
    if back:
        tx.run(update(visits).where(in_hand, visits.c.id.in_([one.id for one in back])).values(**values))
        tell(tx, VisitState.READY, back, why)
    for one in dying:
        dead_letters.bury(tx, one, why)
    return len(back) + len(dying)


def _lock_sites(tx: Tx, which: ColumnElement[bool]) -> set[UUID]:
    return set(sites.lock(tx, list(tx.run(select(visits.c.site_id).where(which)).scalars())))
