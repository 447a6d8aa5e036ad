"""`gossamer system dead-letters`: visits that were given up."""

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JSON

app = command_group(help="Visits that were given up.", no_args_is_help=True)

LETTER = typer.Argument(
    help="The letter's id, or some characters of its beginning or end.", metavar="ID", show_default=False
)


@app.command("list", cls=StrictCommand)
def list_letters(
    limit: int = typer.Option(50, min=1, max=10_000, help="Newest first, at most this many."), as_json: bool = JSON
) -> None:
    """Visits that ended their worker three times and wait for somebody to look after them.

    Example:

    \b
        gossamer system dead-letters list
    """
    from gossamer.cli.letters import show_list
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_list(home, limit, as_json=as_json))


@app.command(cls=StrictCommand)
def show(letter: str = LETTER, as_json: bool = JSON) -> None:
    """One of them: its job, its site, what happened last, and what you can do.

    Example:

    \b
        gossamer system dead-letters show 3f9a2c71
    """
    from gossamer.cli.letters import show_letter
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_letter(home, letter, as_json=as_json))


@app.command(cls=StrictCommand)
def retry(letter: str = LETTER, as_json: bool = JSON) -> None:
    """Let it be walked again, with three lives; its job runs again if it was at rest.

    Example:

    \b
        gossamer system dead-letters retry 3f9a2c71
    """
    from gossamer.cli.letters import retry_letter
    from gossamer.cli.session import run as run_command

    run_command(lambda home: retry_letter(home, letter, as_json=as_json))


@app.command(cls=StrictCommand)
def drop(letter: str = LETTER, as_json: bool = JSON) -> None:
    """Take it off the list. Its site stays failed.

    Example:

    \b
        gossamer system dead-letters drop 3f9a2c71
    """
    from gossamer.cli.letters import drop_letter
    from gossamer.cli.session import run as run_command

    run_command(lambda home: drop_letter(home, letter, as_json=as_json))
