"""`gossamer job watch`: the live display of a job somebody else works."""

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
