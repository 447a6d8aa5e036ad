"""`gossamer job history`: what happened to a job, and why."""

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
