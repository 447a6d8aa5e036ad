"""How long a job's results are to be had, as people and scripts are told."""

import typer

from gossamer.questions.kept import date
from gossamer.retain.retainer import Outlook

__all__ = ["as_json", "date", "tell", "warn"]


def tell(end: Outlook | None) -> None:
    """To somebody who has their file: nothing is left to hurry for."""
    if end:
        said = f"The job keeps its results until {date(end.hides_at)}; they are deleted on {date(end.deletes_at)}."
        typer.echo(said, err=True)


def warn(end: Outlook | None) -> None:
    """On the error stream: the results themselves may be on the other."""
    if end:
        said = f"This job will be auto-deleted on {date(end.deletes_at)}. Download your results now."
        typer.echo(f"{said} They are shown until {date(end.hides_at)}.", err=True)


def as_json(end: Outlook | None) -> dict[str, str | None]:
    return {
        "hidden_on": date(end.hides_at) if end else None,
        "deleted_on": date(end.deletes_at) if end else None,
    }
