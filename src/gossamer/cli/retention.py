"""Deleting what is no longer wanted: `gossamer job delete`, `job forget`, `system retention`."""

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
system = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
