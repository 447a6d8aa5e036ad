"""Availability of a job's results."""

from datetime import datetime

from gossamer.db.database import Database
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import OVER, JobState
from gossamer.questions.view import View
from gossamer.retention import queries as retention_queries
from gossamer.retention.service import NextStep, Outlook, look_ahead


def date(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d}"


async def refuse_gone(view: View, database: Database, job: Job) -> None:
    """Results that are hidden or deleted are not shown, saying since when."""
    identifier = short(job.id)
    if job.state is JobState.ARCHIVED:
        at = await database.read(retention_queries.deleted_at, job.id)
        raise UserError(
            "results.deleted",
            f"The results of job {identifier} were deleted{f' on {date(at)}' if at else ''}.",
            hint="To have them again, run the job anew with 'gossamer job run'.",
        )
    kept = await database.read(retention_queries.kept_job, job.id)
    if kept is None or kept.hidden_at is None:
        return
    ahead = look_ahead(kept, view.terms, view.now)
    if ahead.step is NextStep.SHOW:
        return
    back = f"'gossamer job resume {identifier}' brings them back."
    if job.state is JobState.COMPLETED:
        back = "To have them back, raise GOSSAMER_RETENTION and run 'gossamer system retention --run'."
    raise UserError(
        "results.hidden",
        f"The results of job {identifier} are hidden since {date(kept.hidden_at)} "
        f"and will be deleted on {date(ahead.deletes_at)}.",
        hint=back,
    )


async def outlook(view: View, database: Database, job: Job) -> Outlook | None:
    """Return the schedule for deleting the job's results; None while it may find more."""
    if job.state not in OVER:
        return None
    kept = await database.read(retention_queries.kept_job, job.id)
    return look_ahead(kept, view.terms, view.now) if kept else None


async def end(view: View, database: Database, job: Job) -> Outlook | None:
    """When a completed job's results are hidden, and when they are deleted."""
    return await outlook(view, database, job) if job.state is JobState.COMPLETED else None
