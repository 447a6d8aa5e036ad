"""`gossamer worker`: this machine works for a cluster."""

import sys

import typer

from gossamer.cli.command_help import StrictCommand, as_called, command_group

app = command_group()


@app.command(cls=StrictCommand)
def worker(
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
    import asyncio

    from gossamer.assembly import lanes_here, start_log
    from gossamer.cluster import check, check_lanes, read_lanes
    from gossamer.settings import idle_variables, not_a_setting, read_settings

    settings, unknown = read_settings()
    for name in unknown:
        typer.echo(f"Warning: {not_a_setting(name)}", err=True)
    for sentence in idle_variables(settings):
        typer.echo(f"Note: {as_called(sentence)}", err=True)
    check(settings)
    dealt = read_lanes(lanes or ",".join((*lanes_here(settings), "desk")), concurrency)
    check_lanes(settings, dealt)
    start_log(settings, stream=sys.stderr)

    async def whole() -> None:
        import signal

        from gossamer.cluster import open_instance

        stop = asyncio.Event()
        async with open_instance(settings, dealt, processes) as instance:
            # Not before: what waits for its database has nothing to end in order.
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, stop.set)
            await instance.run(stop)

    asyncio.run(whole())
