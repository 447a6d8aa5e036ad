"""Questions to the person at the terminal. Ctrl-C and Ctrl-D end the command: with a sentence, and exit code 130."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import typer

INTERRUPTED = 130  # exit code

T = TypeVar("T")


def confirm(question: str, ended: str = "Nothing was changed.", *, err: bool = False) -> bool:
    """Whether the answer is yes."""
    return _asked(lambda: typer.confirm(question, err=err), ended)


def secret(question: str, ended: str = "Nothing was changed.", *, twice: bool = False) -> str:
    """What is typed, without showing it."""
    return str(_asked(lambda: typer.prompt(question, hide_input=True, confirmation_prompt=twice), ended))


def _asked(ask: Callable[[], T], ended: str) -> T:
    try:
        with _ctrl_c_ends_it():
            return ask()
    except typer.Abort:
        typer.echo(f"\n{ended}")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _ctrl_c_ends_it() -> Iterator[None]:
    """While somebody is asked, the event loop stands still: all it would do with Ctrl-C is to note it for later."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
