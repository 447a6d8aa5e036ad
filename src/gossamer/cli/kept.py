"""How long a job's results are to be had, as people are told."""

from datetime import datetime

import typer

from gossamer.questions.kept import date

__all__ = ["date", "tell", "warn"]


def tell(at: datetime | None) -> None:
    """To somebody who has their file: nothing is left to hurry for."""
    if at:
        typer.echo(f"The job keeps its results until {date(at)}.", err=True)


def warn(at: datetime | None) -> None:
    """On the error stream: the results themselves may be on the other."""
    if at:
        typer.echo(f"This job will be auto-deleted on {date(at)}. Download your results now.", err=True)
