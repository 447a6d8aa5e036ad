"""What a running job has to say beside its state: the last remark stands until it is withdrawn or the state changes."""

from uuid import UUID

from sqlalchemy import exists, select, update

from gossamer.model.states import JobState
from gossamer.store.tables import jobs
from gossamer.store.tx import Tx

# A job that begins to run has no reason, so whatever a running one has was remarked later.
_REMARKED = (jobs.c.state == JobState.RUNNING) & (jobs.c.reason != "")


def make(tx: Tx, job_id: UUID, remark: str) -> bool:
    """Say it, unless the job has ceased to run."""
    running = (jobs.c.id == job_id) & (jobs.c.state == JobState.RUNNING)
    return bool(tx.run(update(jobs).where(running).values(reason=remark)).rowcount)


def withdraw(tx: Tx, job_id: UUID, remark: str) -> None:
    """Take it back, unless another process has said something since."""
    mine = (jobs.c.id == job_id) & _REMARKED & (jobs.c.reason == remark)
    tx.run(update(jobs).where(mine).values(reason=""))


def any_made(tx: Tx) -> bool:
    return bool(tx.run(select(exists().where(_REMARKED))).scalar())


def clear(tx: Tx) -> None:
    """Take back the remarks of all running jobs."""
    tx.run(update(jobs).where(_REMARKED).values(reason=""))
