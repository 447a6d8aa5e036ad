"""`gossamer system`: what concerns all jobs."""

from gossamer.cli import accounts, alerts, dead_letters, provider_credits, retention, workers
from gossamer.cli.command_help import command_group

app = command_group(help="Maintenance and administration.", no_args_is_help=True)
app.add_typer(alerts.app)
app.add_typer(accounts.keys, name="keys")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(retention.system)
app.add_typer(workers.app)
app.add_typer(provider_credits.app)
