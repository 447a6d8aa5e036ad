"""Which lanes nobody walks."""

from datetime import timedelta
from uuid import UUID

from sqlalchemy import select

from gossamer.model.states import JobState, VisitState
from gossamer.store.tables import jobs, visits
from gossamer.store.tx import Tx

_IN_HAND = (VisitState.ISSUED, VisitState.RUNNING)


def deserted(tx: Tx, patience: timedelta) -> list[tuple[UUID, str]]:
    """Running jobs with the lane in which a visit has been due for so long while none at all is being walked."""
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
    return [(row.job_id, row.lane) for row in tx.run(query)]
