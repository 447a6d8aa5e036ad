"""`gossamer system credits`: what providers have cost, today, this month, by provider and by job."""

from typing import TYPE_CHECKING

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JSON

if TYPE_CHECKING:
    from gossamer.cli.home import Home

app = command_group()


@app.command("credits", cls=StrictCommand)
def show_credits(
    limit: int = typer.Option(20, min=1, max=10_000, help="Jobs shown at most, the dearest first."),
    offline: bool = typer.Option(False, "--offline", help="Do not ask the providers what is left there."),
    as_json: bool = JSON,
) -> None:
    """Provider credits and dollars: spent today and this month, by provider and by job, and what is left of the limits.

    Providers that are set up here and keep an account are asked what is left there, for 12 seconds at the most.
    Days and months are those of UTC.

    Example:

    \b
        gossamer system credits
    """
    from gossamer.cli.session import run as run_command

    async def work(home: "Home") -> int:
        from gossamer.cli.spending import show_spending

        return await show_spending(home, limit, as_json=as_json, ask=not offline)

    run_command(work)
