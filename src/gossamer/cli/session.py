"""What each command does before and after its own work: settings, a home to look at, an exit code."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import typer

from gossamer.cli import words
from gossamer.cli.command_help import as_called
from gossamer.settings import Settings, not_a_setting, read_settings

if TYPE_CHECKING:
    from gossamer.assembly import App
    from gossamer.cli.home import Home
    from gossamer.cli.servers import Login


def run(work: Callable[["Home"], Coroutine[Any, Any, int | None]], *, may_be_older: bool = False) -> None:
    """Open the home that is meant, here or behind a server, do the work, leave with its exit code.

    `may_be_older`: the database of this home may be one that is yet to be upgraded.
    """
    from gossamer.cli.servers import chosen

    settings = _settings()
    login = chosen(settings)
    _leave(asyncio.run(_there(settings, login, work)) if login else _here(settings, work, may_be_older=may_be_older))


def run_here(work: Callable[["App"], Coroutine[Any, Any, int | None]]) -> None:
    """For what is about this machine and no other."""
    settings = _settings()

    async def whole(app: "App") -> int:
        return await work(app) or 0

    _leave(_open(settings, whole))


def _here(settings: Settings, work: Callable[["Home"], Coroutine[Any, Any, int | None]], *, may_be_older: bool) -> int:
    async def whole(app: "App") -> int:
        from gossamer.cli.here import LocalHome

        return await work(LocalHome(app)) or 0

    return _open(settings, whole, may_be_older=may_be_older)


def _open(settings: Settings, work: Callable[["App"], Coroutine[Any, Any, int]], *, may_be_older: bool = False) -> int:
    from gossamer.assembly import open_app, start_log

    async def whole() -> int:
        async with open_app(settings, may_be_older=may_be_older) as app:
            return await work(app)

    start_log(settings)
    return asyncio.run(whole())


async def _there(settings: Settings, login: "Login", work: Callable[["Home"], Coroutine[Any, Any, int | None]]) -> int:
    from gossamer.cli.servers import open_client, tell, told
    from gossamer.cli.there import RemoteHome
    from gossamer.client import ClientError

    tell(login)
    async with open_client(login, settings) as client:
        try:
            return await work(RemoteHome(client)) or 0
        except ClientError as error:
            raise told(error, login) from error


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
        typer.echo(as_called(words.printable(text)))


def say_json(value: Any) -> None:
    typer.echo(words.json_text(value, indent=True))
