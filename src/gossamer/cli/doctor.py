"""`gossamer doctor`: is everything as it should be?"""

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
