"""Waits that a wall clock has made too long: it was set back while nobody worked the home."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Column, ColumnElement, bindparam, func, select, update

from gossamer.model.states import JobState, PageState, SiteState, VisitState
from gossamer.store.tables import counters, jobs, pages, sites, visits
from gossamer.store.tx import Tx

_A_LITTLE = timedelta(seconds=2)


def mend(tx: Tx) -> timedelta:
    """Shift what is due to the clock as it is now. By how much is seen from the time of the last thing written.

    Only with nobody at work: what workers hold in memory would be written over it.
    """
    ongoing = select(jobs.c.id).where(jobs.c.state.in_((JobState.RUNNING, JobState.PAUSING)))
    last = tx.run(select(func.max(counters.c.last_at)).where(counters.c.job_id.in_(ongoing))).scalar()
    if last is None or last <= tx.now + _A_LITTLE:
        return timedelta()
    back: timedelta = last - tx.now
    for job_id in list(tx.run(ongoing).scalars()):
        _shift(tx, back, visits.c.due_at, visits.c.job_id == job_id, visits.c.state == VisitState.READY)
        _shift(tx, back, pages.c.due_at, pages.c.job_id == job_id, pages.c.state == PageState.PENDING)
        _shift(tx, back, sites.c.not_before, sites.c.job_id == job_id, sites.c.state == SiteState.OPEN)
        ahead = (counters.c.job_id == job_id) & (counters.c.last_at > tx.now)
        tx.run(update(counters).where(ahead).values(last_at=tx.now))  # so that it is not done again
    return back


def _shift(tx: Tx, back: timedelta, column: Column[Any], *which: ColumnElement[bool]) -> None:
    """Row by row under its own key: the two databases reckon with time in different ways."""
    keys = list(column.table.primary_key)
    late = tx.run(select(*keys, column.label("at")).where(*which, column > tx.now)).all()
    here = [key == bindparam(f"b_{key.name}", type_=key.type) for key in keys]
    shifted = update(column.table).where(*here).values({column.name: bindparam("b_at", type_=column.type)})
    rows = [{f"b_{key.name}": value for key, value in zip(keys, row, strict=False)} for row in late]
    tx.run_many(shifted, [{**row, "b_at": max(tx.now, one.at - back)} for row, one in zip(rows, late, strict=True)])
