"""`gossamer serve`, `worker`, `login` and `logout`."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.lazy import lazy_module
from gossamer.cli.options import PROCESSES

if TYPE_CHECKING:
    from gossamer.cli import login, serve, worker
else:
    login = lazy_module("gossamer.cli.login")
    serve = lazy_module("gossamer.cli.serve")
    worker = lazy_module("gossamer.cli.worker")


@command("serve")
def run_server(
    host: str | None = typer.Option(
        None, "--host", help="Where to listen; GOSSAMER_API_HOST, else 127.0.0.1.", show_default=False
    ),
    port: int | None = typer.Option(
        None, "--port", min=0, max=65_535, help="GOSSAMER_API_PORT, else 8000; 0: any free one.", show_default=False
    ),
    api_only: bool = typer.Option(False, "--api-only", help="Work no jobs here: the workers of a cluster do."),
    processes: int | None = PROCESSES,
    dev: bool = typer.Option(
        False, "--dev", help="Development on this machine: no key is needed, pages of http://localhost:3000 may ask."
    ),
) -> None:
    """Listen for other programs: an HTTP interface to jobs and their results, with a page that describes it.

    At the first start a key is shown, once, that may do everything.

    Examples:

    \b
        gossamer serve

        gossamer serve --host 0.0.0.0 --port 8000 --api-only

        gossamer serve --dev
    """
    serve.run_server(host, port, api_only=api_only, processes=processes, dev=dev)


@command("worker")
def run_worker(
    lanes: str | None = typer.Option(
        None, metavar="LANES", help="What it does, and how much at a time: http,desk or http:95,desk:5. All it can."
    ),
    concurrency: int = typer.Option(
        100, min=1, max=10_000, help="Visits at a time of all its processes, where --lanes says no numbers."
    ),
    processes: int = typer.Option(4, min=1, max=256, help="Working processes."),
) -> None:
    """Work for a cluster until told to stop: Postgres, Redis and a broker carry what many machines share.

    Examples:

    \b
        gossamer worker

        gossamer worker --lanes http:190,desk:10 --processes 8

    Ctrl-C or SIGTERM lets it finish what is in flight and hand back the rest; other workers go on with that.
    """
    worker.run_worker(lanes, concurrency, processes)


@command("login")
def log_in(
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
    login.log_in(url, key_file)


@command("logout")
def log_out() -> None:
    """Forget the server and the key: commands are about this machine again. The key itself stays good.

    Example:

    \b
        gossamer logout
    """
    login.log_out()
