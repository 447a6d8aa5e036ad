"""What each command does before and after its own work: settings, an open home, an exit code."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import typer

from gossamer.assembly import App, open_app, start_log
from gossamer.cli import words
from gossamer.settings import read_settings


def run(work: Callable[[App], Coroutine[Any, Any, int | None]]) -> None:
    """Open the home, do the work, leave with its exit code."""
    settings, unknown = read_settings()
    for name in unknown:
        typer.echo(f"Warning: {name} is not a setting of gossamer.", err=True)

    async def whole() -> int:
        async with open_app(settings) as app:
            return await work(app) or 0

    start_log(settings)
    code = asyncio.run(whole())
    if code:
        raise typer.Exit(code)


def say(text: str, *, quiet: bool = False) -> None:
    if not quiet:
        typer.echo(words.printable(text))


def say_json(value: Any) -> None:
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
