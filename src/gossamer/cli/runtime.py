"""Shared parts of all commands: settings, the home they work with, output and exit codes."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import typer

from gossamer.cli import formatting
from gossamer.cli.command_group import as_called
from gossamer.cli.home import Home
from gossamer.cli.lazy import lazy_module
from gossamer.cli.servers import Login, chosen_login
from gossamer.settings import Settings, not_a_setting, read_settings

if TYPE_CHECKING:
    from gossamer import app as application
    from gossamer.app import App
    from gossamer.cli import here, there
else:
    # A command needs either those for this machine or those for a server.
    application = lazy_module("gossamer.app")
    here = lazy_module("gossamer.cli.here")
    there = lazy_module("gossamer.cli.there")


def run(work: Callable[[Home], Coroutine[Any, Any, int | None]], *, may_be_older: bool = False) -> None:
    """Open the home on this machine or behind a server, run `work` with it, exit with its code.

    `may_be_older` allows a local database that has not been upgraded yet.
    """
    settings = _settings()
    login = chosen_login(settings)
    _leave(asyncio.run(_there(settings, login, work)) if login else _here(settings, work, may_be_older=may_be_older))


def run_here(work: Callable[["App"], Coroutine[Any, Any, int | None]]) -> None:
    """Run work that is about this machine only."""
    settings = _settings()

    async def whole(app: "App") -> int:
        return await work(app) or 0

    _leave(_open(settings, whole))


def _here(settings: Settings, work: Callable[[Home], Coroutine[Any, Any, int | None]], *, may_be_older: bool) -> int:
    async def whole(app: "App") -> int:
        return await work(here.LocalHome(app)) or 0

    return _open(settings, whole, may_be_older=may_be_older)


def _open(settings: Settings, work: Callable[["App"], Coroutine[Any, Any, int]], *, may_be_older: bool = False) -> int:
    async def whole() -> int:
        async with application.open_app(settings, may_be_older=may_be_older) as app:
            return await work(app)

    application.start_log(settings)
    return asyncio.run(whole())


async def _there(settings: Settings, login: Login, work: Callable[[Home], Coroutine[Any, Any, int | None]]) -> int:
    async with there.open_home(login, settings) as home:
        return await work(home) or 0


def _settings() -> Settings:
    settings, unknown = read_settings()
    for name in unknown:
        typer.echo(f"Warning: {not_a_setting(name)}", err=True)
    return settings


def _leave(code: int) -> None:
    if code:
        raise typer.Exit(code)


def say(text: str, *, quiet: bool = False) -> None:
    if not quiet:
        typer.echo(as_called(formatting.printable(text)))


def say_json(value: Any) -> None:
    typer.echo(formatting.json_text(value, indent=True))
