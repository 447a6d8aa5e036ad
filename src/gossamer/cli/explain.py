"""`gossamer explain`: what a job did about one address, and why."""

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JSON

app = command_group()


@app.command(cls=StrictCommand)
def explain(
    url: str = typer.Argument(help="The address, with or without https:// and www.", metavar="URL", show_default=False),
    job: str = typer.Option(
        "",
        "--job",
        help="The job's id, its name, or 'last' (default: the newest job that knows the address).",
        metavar="ID",
        show_default=False,
    ),
    as_json: bool = JSON,
) -> None:
    """Tell the story of one address in a job: where it was found, what robots.txt said, every try, what came of it.

    Examples:

    \b
        gossamer explain https://shop.example/about

        gossamer explain shop.example/about --job 3f9a2c71 --json
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.timeline import show_explanation

    run_command(lambda home: show_explanation(home, url, job, as_json=as_json))
