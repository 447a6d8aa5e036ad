"""`gossamer job retry-failed`: once more what failed."""

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
