"""Shared parts of all commands: settings, the data folder they work with, output and exit codes."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from gossamer.cli import formatting
from gossamer.cli.group import as_called, lazy_module
from gossamer.cli.home import Home
from gossamer.cli.servers import ServerLogin, chosen_login
from gossamer.settings import Settings, idle_variables, not_a_setting, read_settings

if TYPE_CHECKING:
    from gossamer import app as application
    from gossamer.app import App
    from gossamer.cli import here, there
else:
    # A command needs either those for this machine or those for a server.
    application = lazy_module("gossamer.app")
    here = lazy_module("gossamer.cli.here")
    there = lazy_module("gossamer.cli.there")

Work: TypeAlias = Callable[[Home], Coroutine[Any, Any, int | None]]
"""The work of a command on the data folder; its result is the exit code, None for 0."""


def run(work: Work, *, may_be_older: bool = False) -> None:
    """Open the data folder on this machine or behind a server, run `work` with it, exit with its code.

    `may_be_older` allows a local database that has not been upgraded yet.
    """
    settings = read_with_warnings()
    if login := chosen_login(settings):
        _leave(asyncio.run(_there(settings, login, work)))
    else:
        _run_locally(settings, lambda app: work(here.LocalHome(app)), may_be_older=may_be_older)


def run_here(work: Callable[["App"], Coroutine[Any, Any, int | None]]) -> None:
    """Run work that is about this machine only."""
    _run_locally(read_with_warnings(), work)


def _run_locally(
    settings: Settings, work: Callable[["App"], Coroutine[Any, Any, int | None]], *, may_be_older: bool = False
) -> None:
    async def whole() -> int | None:
        async with application.open_app(settings, may_be_older=may_be_older) as app:
            return await work(app)

    application.start_log(settings)
    _leave(asyncio.run(whole()))


async def _there(settings: Settings, login: ServerLogin, work: Work) -> int | None:
    async with there.open_home(login, settings) as home:
        return await work(home)


def read_with_warnings() -> Settings:
    """Read the settings, with a warning for each name that is not one of them."""
    settings, unknown = read_settings()
    for name in unknown:
        typer.echo(f"Warning: {not_a_setting(name)}", err=True)
    return settings


def note_idle_variables(settings: Settings) -> None:
    """Print which variables of the environment have no effect here, although other deployments use them."""
    for sentence in idle_variables(settings):
        typer.echo(f"Note: {as_called(sentence)}", err=True)


def _leave(code: int | None) -> None:
    if code:
        raise typer.Exit(code)


def say(text: str, *, quiet: bool = False) -> None:
    if not quiet:
        typer.echo(as_called(formatting.printable(text)))


def say_json(value: Any) -> None:
    typer.echo(formatting.json_text(value, indent=True))
