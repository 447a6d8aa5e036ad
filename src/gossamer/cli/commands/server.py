"""`gossamer serve`, `worker`, `login` and `logout`."""

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.group import lazy_module
from gossamer.cli.options import PROCESSES
from gossamer.model.rungs import Lane

if TYPE_CHECKING:
    import asyncio

    import uvloop

    from gossamer import app as application
    from gossamer.api import development, serve
    from gossamer.cli import login, runtime
    from gossamer.worker import cluster
else:
    application = lazy_module("gossamer.app")
    asyncio = lazy_module("asyncio")
    cluster = lazy_module("gossamer.worker.cluster")
    development = lazy_module("gossamer.api.development")
    login = lazy_module("gossamer.cli.login")
    runtime = lazy_module("gossamer.cli.runtime")
    serve = lazy_module("gossamer.api.serve")
    uvloop = lazy_module("uvloop")


@command("serve")
def run_server(
    host: str | None = typer.Option(
        None, "--host", help="Address to listen on (default: GOSSAMER_API_HOST, else 127.0.0.1)."
    ),
    port: int | None = typer.Option(
        None,
        "--port",
        min=0,
        max=65_535,
        help="Port to listen on; 0 takes any free one (default: GOSSAMER_API_PORT, else 8000).",
    ),
    api_only: bool = typer.Option(False, "--api-only", help="Run no jobs in this process; workers of a cluster do."),
    processes: int | None = PROCESSES,
    dev: bool = typer.Option(
        False,
        "--dev",
        help="For development on this machine: require no key, and accept requests from pages of http://localhost:3000.",
    ),
) -> None:
    """Start the HTTP API server, which also runs its jobs.

    The first start prints an admin API key, which is not shown again. The server's start page describes the API.

    Examples:

        gossamer serve

        gossamer serve --host 0.0.0.0 --port 8000 --api-only

        gossamer serve --dev
    """
    token = development.take_samples(os.environ) if dev else ""  # before settings are read: samples are too short
    settings = runtime.read_with_warnings()
    listed = development.development_on(host or settings.api_host, settings.api_cors, token) if dev else None
    if listed:
        settings = settings.model_copy(update={"api_cors": listed.origins})
    runtime.note_idle_variables(settings)

    async def whole() -> None:
        async with application.open_app(settings) as opened:
            await serve.serve(
                opened,
                host or settings.api_host,
                settings.api_port if port is None else port,
                api_only=api_only,
                processes=processes,
                say=runtime.say,
                development=listed,
            )

    application.start_log(settings)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(whole())


@command("worker")
def run_worker(
    lanes: str | None = typer.Option(
        None,
        metavar="LANES",
        help="Kinds of work to do, and how much of each at a time: http,desk or http:95,desk:5 (default: all).",
    ),
    concurrency: int = typer.Option(
        100, min=1, max=10_000, help="Sites crawled at a time by all its processes, where --lanes gives no numbers."
    ),
    processes: int = typer.Option(4, min=1, max=256, help="Number of processes."),
) -> None:
    """Run a worker of a cluster until it is stopped. Clusters need Postgres and Redis.

    Examples:

        gossamer worker

        gossamer worker --lanes http:190,desk:10 --processes 8

    Ctrl-C or SIGTERM lets it finish the requests in flight and hand back the rest to other workers.
    """
    settings = runtime.read_with_warnings()
    runtime.note_idle_variables(settings)
    cluster.check(settings)
    dealt = cluster.read_lanes(lanes or ",".join((*application.lanes_here(settings), Lane.DESK)), concurrency)
    cluster.check_lanes(settings, dealt)
    application.start_log(settings, stream=sys.stderr)

    async def whole() -> None:
        stop = asyncio.Event()
        async with cluster.open_cluster_host(settings, dealt, processes) as cluster_host:
            # Not before: while the process waits for its database, there is nothing to shut down in order.
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, stop.set)
            await cluster_host.run(stop)

    asyncio.run(whole())


@command("login")
def log_in(
    url: str = typer.Argument(help="The server's address.", metavar="URL"),
    key_file: Path | None = typer.Option(
        None, "--key-file", help="File that contains the API key (default: GOSSAMER_API_KEY, else the command asks)."
    ),
) -> None:
    """Log in to a server, which 'job', 'system', 'scrape', 'webhook' and 'explain' use from then on.

    The key is tested first, and kept in a file that only you can read. 'gossamer --local ...' still runs a command on
    this machine.

    Examples:

        gossamer login https://crawl.example.com

        gossamer login http://127.0.0.1:8000 --key-file key.txt
    """
    login.log_in(url, key_file)


@command("logout")
def log_out() -> None:
    """Log out of the server, so that commands use this machine again. The API key stays valid.

    Example:

        gossamer logout
    """
    login.log_out()
