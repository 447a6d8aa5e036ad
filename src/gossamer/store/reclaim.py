"""Return visits to their queue: from workers that are gone, after a restore, and after the clock was set back."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, bindparam, case, exists, func, select, update

from gossamer.db.tables import counters, jobs, pages, visits
from gossamer.db.tables import sites as site_rows
from gossamer.db.transactions import Tx
from gossamer.model.states import JobState, PageState, SiteState, VisitState
from gossamer.store import dead_letters, sites
from gossamer.store.visit_transitions import FREED, RESET_ON_RELEASE, Moving, moving, tell

MOST_DEATHS = 3


def take_back(tx: Tx, leases: Mapping[UUID, UUID], why: str = "", *, expired: bool = False) -> int:
    """Return visits to the queue under the tokens they were seen with; it counts as a death.

    `expired`: only if the lease is still expired, since it may have been renewed meanwhile.
    """
    # Tokens are unique to a visit.
    held = visits.c.id.in_(leases) & visits.c.lease.in_(leases.values())
    if expired:
        held &= visits.c.lease_until < tx.now
    return _void(tx, held, why or ("its lease ran out" if expired else "its walk crashed"), deadly=True)


def let_go(tx: Tx, leases: Mapping[UUID, UUID], why: str) -> int:
    """Return visits that were leased but never started to the queue; their `deaths` counter is unchanged."""
    return _void(tx, visits.c.id.in_(leases) & visits.c.lease.in_(leases.values()), why)


def void_worker(tx: Tx, worker: str, why: str, *, deadly: bool) -> int:
    """Return the visits of an ended worker to the queue; with `deadly`, it counts as a death."""
    return _void(tx, visits.c.worker == worker, why, deadly=deadly)


def void_home(tx: Tx, home: str) -> int:
    """Release the leases and nudges of a data folder's former workers; the caller holds its lock.

    So none of them is running. The `deaths` counters are unchanged: only a worker's death that its runner
    has observed counts.
    """
    return _void(tx, visits.c.worker.startswith(f"{home}/", autoescape=True), "its worker is gone")


_ANY_LOST = select(
    exists().where(
        visits.c.state == VisitState.ISSUED, visits.c.due_at < bindparam("before", type_=visits.c.due_at.type)
    )
)


def any_lost(tx: Tx, after: timedelta) -> bool:
    """Return True if any visits are lost. The statement is prepared once, because it runs every second."""
    return bool(tx.run(_ANY_LOST, {"before": tx.now - after}).scalar())


def lost_nudges(tx: Tx, after: timedelta) -> int:
    """Return visits to the queue that were issued long ago and never claimed."""
    return _void(tx, _lost(tx, after), "no worker took it in time")


def _lost(tx: Tx, after: timedelta) -> ColumnElement[bool]:
    return (visits.c.state == VisitState.ISSUED) & (visits.c.due_at < tx.now - after)


def _void(tx: Tx, which: ColumnElement[bool], why: str, *, deadly: bool = False) -> int:
    """Return these leased visits to the queue. With `deadly`, it counts as a death for those that were running.

    A visit that was only issued cannot have caused a crash.
    """
    in_hand = visits.c.state.in_((VisitState.RUNNING, VisitState.ISSUED)) & which
    on_its_last = (visits.c.state == VisitState.RUNNING) & (visits.c.deaths >= MOST_DEATHS - 1)
    # Sites are locked before visits; nearly always there is none to lock.
    doomed = _lock_sites(tx, in_hand & on_its_last) if deadly else set()
    dying = Moving.read(tx, tx.locked(moving(in_hand, on_its_last, visits.c.site_id.in_(doomed)))) if doomed else []
    back = Moving.read(tx, tx.locked(moving(in_hand, visits.c.id.not_in([one.id for one in dying]))))
    # A settle may have written until we got the locks: the time of the change is after it.
    tx.look_again()
    values: dict[str, Any] = {**FREED, **RESET_ON_RELEASE, "state": VisitState.READY, "due_at": tx.now}
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


_A_LITTLE = timedelta(seconds=2)


def shorten_waits(tx: Tx) -> timedelta:
    """Shift due times to the current clock after it was set back, measured from the time of the last write.

    Only without running workers: their memory would overwrite it.
    """
    ongoing = select(jobs.c.id).where(jobs.c.state.in_((JobState.RUNNING, JobState.PAUSING)))
    last = tx.run(select(func.max(counters.c.last_at)).where(counters.c.job_id.in_(ongoing))).scalar()
    if last is None or last <= tx.now + _A_LITTLE:
        return timedelta()
    back: timedelta = last - tx.now
    for job_id in list(tx.run(ongoing).scalars()):
        _shift(tx, back, visits.c.due_at, visits.c.job_id == job_id, visits.c.state == VisitState.READY)
        _shift(tx, back, pages.c.due_at, pages.c.job_id == job_id, pages.c.state == PageState.PENDING)
        _shift(tx, back, site_rows.c.not_before, site_rows.c.job_id == job_id, site_rows.c.state == SiteState.OPEN)
        ahead = (counters.c.job_id == job_id) & (counters.c.last_at > tx.now)
        tx.run(update(counters).where(ahead).values(last_at=tx.now))  # so that it is not repeated
    return back


def _shift(tx: Tx, back: timedelta, column: Column[Any], *which: ColumnElement[bool]) -> None:
    """Shift single rows by key, because the two databases have different time arithmetic."""
    keys = list(column.table.primary_key)
    late = tx.run(select(*keys, column.label("at")).where(*which, column > tx.now)).all()
    here = [key == bindparam(f"b_{key.name}", type_=key.type) for key in keys]
    shifted = update(column.table).where(*here).values({column.name: bindparam("b_at", type_=column.type)})
    rows = [{f"b_{key.name}": value for key, value in zip(keys, row, strict=False)} for row in late]
    tx.run_many(shifted, [{**row, "b_at": max(tx.now, one.at - back)} for row, one in zip(rows, late, strict=True)])


def void_all(tx: Tx) -> int:
    """Release all leases in a restored backup, whose holders are gone; return the number of requeued visits."""
    held = visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING))
    workers = tx.run(select(visits.c.worker).where(held, visits.c.worker.is_not(None)).distinct()).scalars().all()
    return sum(void_worker(tx, worker, "restored from a backup", deadly=False) for worker in workers)
