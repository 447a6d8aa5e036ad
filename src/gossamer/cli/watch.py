"""`gossamer job watch`: the live display of a job somebody else works."""

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JOB

app = command_group()


@app.command(cls=StrictCommand)
def watch(
    job: str = JOB,
    as_json: bool = typer.Option(False, "--json", help="One line of JSON per change, for scripts."),
) -> None:
    """Watch a job that runs in another terminal or in the background, without ever working it.

    Ctrl-C leaves the display; the job goes on.

    Example:

    \b
        gossamer job watch 3f9a2c71
    """
    from gossamer.cli.onlooker import watch_job
    from gossamer.cli.session import run as run_command

    run_command(lambda home: watch_job(home, job, as_json=as_json))
