"""`gossamer serve`: the HTTP server, which also works the jobs unless others do."""

import asyncio
import os

import typer
import uvloop

from gossamer.api.development import development_on, take_samples
from gossamer.api.serve import serve
from gossamer.app import open_app, start_log
from gossamer.cli.command_group import as_called
from gossamer.cli.runtime import say
from gossamer.settings import idle_variables, not_a_setting, read_settings


def run_server(host: str | None, port: int | None, *, api_only: bool, processes: int | None, dev: bool) -> None:
    token = take_samples(os.environ) if dev else ""  # before settings are read, which refuse samples as too short
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
            await serve(
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
