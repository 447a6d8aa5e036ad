"""`gossamer system dead-letters`: visits that were given up."""

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
