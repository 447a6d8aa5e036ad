"""`gossamer job audit`: the proof that nothing is missing."""

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
