"""Notices about how long a job's results are kept, as text and JSON."""

from datetime import datetime, timedelta

import typer

from gossamer.questions.view import date
from gossamer.retention.service import PlannedStep

__all__ = ["as_json", "date", "print_deletion_date", "print_kept_until"]

_SOON = timedelta(days=14)


def print_kept_until(end: PlannedStep | None, now: datetime | None = None) -> None:
    """Print how long results are kept, for a user who has their file; with `now`, only in the last two weeks."""
    if end and (now is None or end.deletes_at - now <= _SOON):
        said = f"The job keeps its results until {date(end.hides_at)}; they are deleted on {date(end.deletes_at)}."
        typer.echo(said, err=True)


def print_deletion_date(end: PlannedStep | None, *, as_json: bool = False) -> None:
    """Print when the job will be deleted, on standard error because results may be on standard output."""
    if end and not as_json:
        typer.echo(f"This job will be auto-deleted on {date(end.deletes_at)}. Download your results now.", err=True)


def as_json(end: PlannedStep | None) -> dict[str, str | None]:
    return {
        "hidden_on": date(end.hides_at) if end else None,
        "deleted_on": date(end.deletes_at) if end else None,
    }
