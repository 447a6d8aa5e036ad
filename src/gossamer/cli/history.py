"""`gossamer job history`: what happened to a job, and why."""

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JOB, JSON

app = command_group(no_args_is_help=True)


@app.command(cls=StrictCommand)
def history(
    job: str = JOB,
    site: str = typer.Option(
        "", "--site", metavar="HOST", help="Only what happened to this domain.", show_default=False
    ),
    limit: int = typer.Option(50, min=1, max=1_000_000, help="The last so many events of domains and their visits."),
    as_json: bool = JSON,
) -> None:
    """What happened to a job, its domains and their visits: when, who did it and why.

    Shows all events of the job itself and the last ones of its domains, oldest first.

    Examples:

    \b
        gossamer job history 3f9a2c71

        gossamer job history 3f9a2c71 --site shop.example --limit 1000
    """
    from gossamer.cli.chronicle import show_history
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_history(home, job, site, limit, as_json=as_json))
