"""`gossamer serve`: the server, which works the jobs as well unless others do."""

import typer

from gossamer.cli.command_help import StrictCommand, as_called, command_group
from gossamer.cli.views import PROCESSES

app = command_group()


@app.command(cls=StrictCommand)
def serve(
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
    import asyncio
    import os

    import uvloop

    from gossamer.api.development import development_on, take_samples
    from gossamer.api.serve import serve as listen
    from gossamer.assembly import open_app, start_log
    from gossamer.cli.session import say
    from gossamer.settings import idle_variables, not_a_setting, read_settings

    token = take_samples(os.environ) if dev else ""  # first of all: samples are too short for settings
    settings, unknown = read_settings()
    development = development_on(host or settings.api_host, settings.api_cors, token) if dev else None
    if development:
        settings = settings.model_copy(update={"api_cors": development.origins})
    for name in unknown:
        typer.echo(f"Warning: {not_a_setting(name)}", err=True)
    for sentence in idle_variables(settings):
        typer.echo(f"Note: {as_called(sentence)}", err=True)

    async def whole() -> None:
        async with open_app(settings) as opened:
            await listen(
                opened,
                host or settings.api_host,
                settings.api_port if port is None else port,
                api_only=api_only,
                processes=processes,
                say=say,
                development=development,
            )

    start_log(settings)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(whole())
