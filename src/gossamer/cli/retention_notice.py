"""How long a job's results are to be had, as people and scripts are told."""

from datetime import datetime, timedelta

import typer

from gossamer.questions.kept import date
from gossamer.retain.retainer import Outlook

__all__ = ["as_json", "date", "tell", "warn"]

_SOON = timedelta(days=14)


def tell(end: Outlook | None, now: datetime | None = None) -> None:
    """To somebody who has their file: nothing is left to hurry for. With `now`, only in the last two weeks."""
    if end and (now is None or end.deletes_at - now <= _SOON):
        said = f"The job keeps its results until {date(end.hides_at)}; they are deleted on {date(end.deletes_at)}."
        typer.echo(said, err=True)


def warn(end: Outlook | None, *, as_json: bool = False) -> None:
    """The last line of an answer about files. On the error stream: the results themselves may be on the other."""
    if end and not as_json:
        typer.echo(f"This job will be auto-deleted on {date(end.deletes_at)}. Download your results now.", err=True)


def as_json(end: Outlook | None) -> dict[str, str | None]:
    return {
        "hidden_on": date(end.hides_at) if end else None,
        "deleted_on": date(end.deletes_at) if end else None,
    }
