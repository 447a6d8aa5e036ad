"""`gossamer worker`: run the processes by which this machine works for a cluster."""

import asyncio
import signal
import sys

import typer

from gossamer.app import lanes_here, start_log
from gossamer.cli.command_group import as_called
from gossamer.model.rungs import Lane
from gossamer.settings import idle_variables, not_a_setting, read_settings
from gossamer.worker.cluster import check, check_lanes, open_cluster_host, read_lanes


def run_worker(lanes: str | None, concurrency: int, processes: int) -> None:
    settings, unknown = read_settings()
    for name in unknown:
        typer.echo(f"Warning: {not_a_setting(name)}", err=True)
    for sentence in idle_variables(settings):
        typer.echo(f"Note: {as_called(sentence)}", err=True)
    check(settings)
    dealt = read_lanes(lanes or ",".join((*lanes_here(settings), Lane.DESK)), concurrency)
    check_lanes(settings, dealt)
    start_log(settings, stream=sys.stderr)

    async def whole() -> None:
        stop = asyncio.Event()
        async with open_cluster_host(settings, dealt, processes) as instance:
            # Not before: while the process waits for its database, there is nothing to shut down in order.
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, stop.set)
            await instance.run(stop)

    asyncio.run(whole())
