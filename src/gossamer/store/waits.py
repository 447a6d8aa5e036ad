"""Waits that a wall clock has made too long: it was set back while nobody worked the home."""

from datetime import timedelta

from sqlalchemy import func, select, update

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
        waiting = (
            (visits, visits.c.due_at, (visits.c.job_id == job_id) & (visits.c.state == VisitState.READY)),
            (pages, pages.c.due_at, (pages.c.job_id == job_id) & (pages.c.state == PageState.PENDING)),
            (sites, sites.c.not_before, (sites.c.job_id == job_id) & (sites.c.state == SiteState.OPEN)),
        )
        for table, column, wanted in waiting:
            late = {row.at for row in tx.run(select(column.label("at")).where(wanted, column > tx.now).distinct())}
            for at in late:
                shifted = max(tx.now, at - back)
                tx.run(update(table).where(wanted, column == at).values({column.name: shifted}))
        ahead = (counters.c.job_id == job_id) & (counters.c.last_at > tx.now)
        tx.run(update(counters).where(ahead).values(last_at=tx.now))  # so that it is not done again
    return back
