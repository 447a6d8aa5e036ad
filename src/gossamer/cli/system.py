"""`gossamer system`: what concerns all jobs."""

import typer

from gossamer.cli import accounts, alerts, dead_letters, provider_credits, retention, workers

app = typer.Typer(help="Look after the whole home.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(alerts.app)
app.add_typer(accounts.keys, name="keys")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(retention.system)
app.add_typer(workers.app)
app.add_typer(provider_credits.app)
