"""`gossamer login` and `gossamer logout`: commands are about a server from now on, or about this machine again."""

from pathlib import Path

import typer

from gossamer.cli.command_help import StrictCommand, command_group

app = command_group()


@app.command(cls=StrictCommand)
def login(
    url: str = typer.Argument(help="The server's address.", metavar="URL", show_default=False),
    key_file: Path | None = typer.Option(
        None, "--key-file", help="A file with the key; else GOSSAMER_API_KEY, or it is asked for.", show_default=False
    ),
) -> None:
    """Log in to a server: from now on 'job', 'system', 'scrape' and 'explain' are about it.

    The key is tried first, and kept where only you can read it. 'gossamer --local ...' is about this machine all the
    same.

    Examples:

    \b
        gossamer login https://crawl.example.com

        gossamer login http://127.0.0.1:8000 --key-file key.txt
    """
    from gossamer.cli.logging_in import log_in

    log_in(url, key_file)


@app.command(cls=StrictCommand)
def logout() -> None:
    """Forget the server and the key: commands are about this machine again. The key itself stays good.

    Example:

    \b
        gossamer logout
    """
    from gossamer.cli.logging_in import log_out

    log_out()
