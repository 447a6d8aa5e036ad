"""Deleting a job's results because a person wants it: at once, and if interrupted by the next pass."""

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.retain import queries
from gossamer.retain.retainer import AT_ONCE, delete_rows
from gossamer.store import events, jobs


def refuse_at_work(job: Job, what: str) -> None:
    """Somebody may be writing its rows this very moment."""
    if job.state in (JobState.RUNNING, JobState.PAUSING):
        identifier = short(job.id)
        raise UserError(
            "job.state",
            f"Job {identifier} is {job.state}: {what}.",
            hint=f"First stop it: 'gossamer job pause {identifier}' or 'gossamer job cancel {identifier}'.",
        )


async def delete_job(database: Database, job: Job) -> int:
    """Delete everything a job has found; how many rows. What it was asked, and how it ended, is kept."""
    refuse_at_work(job, "it cannot be deleted")
    if job.state is not JobState.ARCHIVED and not await database.write(_begin, job):
        # It was resumed in this very moment.
        now = await database.read(jobs.get, job.id)
        refuse_at_work(now or job, "it cannot be deleted")
    rows, is_over = 0, False
    while not is_over:
        gone, is_over = await delete_rows(database, job.id, AT_ONCE)
        rows += gone
    return rows


def _begin(tx: Tx, job: Job) -> bool:
    if not queries.archive(tx, job.id, tx.now, "Its results were deleted by hand.", "user"):
        return False
    events.add(tx, job.id, "job.deleted", who="user")
    return True
