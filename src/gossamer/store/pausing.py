"""Pausing a job without being asked to: the state, the reason and the alert in one transaction."""

from uuid import UUID

from gossamer.model.alert import AlertKind
from gossamer.model.states import JobState
from gossamer.store import alerts, jobs
from gossamer.store.tx import Tx


def pause_by_itself(tx: Tx, job_id: UUID, kind: AlertKind, why: str) -> bool:
    """False if the job does not run (any more): then there is nothing to pause and nothing to say."""
    if not jobs.move(tx, job_id, JobState.PAUSING, why, who=kind):
        return False
    alerts.fire(tx, kind, str(job_id), why, job_id=job_id)
    return True
