"""Which lanes nobody walks."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import select

from gossamer.model.states import JobState, VisitState
from gossamer.store.tables import events, jobs, visits
from gossamer.store.tx import Tx

_IN_HAND = (VisitState.ISSUED, VisitState.RUNNING)


def deserted(tx: Tx, patience: timedelta) -> list[tuple[UUID, str]]:
    """Running jobs with the lane in which a visit has been due for so long while none at all is being walked.

    A job that was at rest in the meantime has not waited: for it the time counts from when it last began to run.
    """
    others = visits.alias()
    walked = select(others.c.id).where(others.c.lane == visits.c.lane, others.c.state.in_(_IN_HAND)).exists()
    query = (
        select(visits.c.job_id, visits.c.lane)
        .join(jobs, jobs.c.id == visits.c.job_id)
        .where(
            jobs.c.state == JobState.RUNNING,
            visits.c.state == VisitState.READY,
            visits.c.due_at < tx.now - patience,
            ~walked,
        )
        .distinct()
    )
    long_ago = tx.now - patience
    return [(row.job_id, row.lane) for row in tx.run(query).all() if not _began_after(tx, row.job_id, long_ago)]


def _began_after(tx: Tx, job_id: UUID, moment: datetime) -> bool:
    began = (events.c.job_id == job_id) & (events.c.kind == f"job.{JobState.RUNNING}")
    latest = tx.run(select(events.c.at).where(began).order_by(events.c.id.desc()).limit(1)).scalar()
    return latest is not None and latest > moment
