"""`gossamer system alerts`: what wants a person's attention."""

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
