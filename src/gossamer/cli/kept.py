"""How long a job's results are to be had, for the commands that show them."""

from datetime import datetime

import typer

from gossamer.assembly import App
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.retain.retainer import NextStep, look_ahead
from gossamer.store import retention


def date(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d}"


async def refuse_gone(app: App, job: Job) -> None:
    """Results that are hidden or deleted are not shown, saying since when."""
    identifier = short(job.id)
    if job.state is JobState.ARCHIVED:
        at = await app.database.read(retention.deleted_at, job.id)
        raise UserError(
            "results.deleted",
            f"The results of job {identifier} were deleted{f' on {date(at)}' if at else ''}.",
            hint="To have them again, run the job anew with 'gossamer job run'.",
        )
    kept = await app.database.read(retention.kept_job, job.id)
    if kept is None or kept.hidden_at is None:
        return
    ahead = look_ahead(kept, app.terms, app.clock.now())
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


async def deletion_date(app: App, job: Job) -> datetime | None:
    """When a completed job's results are hidden."""
    if job.state is not JobState.COMPLETED:
        return None
    kept = await app.database.read(retention.kept_job, job.id)
    if kept is None:
        return None
    return look_ahead(kept, app.terms, app.clock.now()).hides_at


def tell(at: datetime | None) -> None:
    """To somebody who has their file: nothing is left to hurry for."""
    if at:
        typer.echo(f"The job keeps its results until {date(at)}.", err=True)


def warn(at: datetime | None) -> None:
    """On the error stream: the results themselves may be on the other."""
    if at:
        typer.echo(f"This job will be auto-deleted on {date(at)}. Download your results now.", err=True)
