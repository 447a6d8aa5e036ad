"""Questions to the user at the terminal. Ctrl-C and Ctrl-D end the command with a sentence and exit code 130."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import typer

INTERRUPTED = 130  # exit code
T = TypeVar("T")


def confirm(question: str, ended: str = "Nothing was changed.", *, err: bool = False) -> bool:
    """Ask a yes-or-no question; True for yes."""
    return _asked(lambda: typer.confirm(question, err=err), ended)


def secret(question: str, ended: str = "Nothing was changed.", *, twice: bool = False) -> str:
    """Ask for a secret without echoing it."""
    return str(_asked(lambda: typer.prompt(question, hide_input=True, confirmation_prompt=twice), ended))


def _asked(ask: Callable[[], T], ended: str) -> T:
    try:
        with _interruptible():
            return ask()
    except typer.Abort:
        typer.echo(f"\n{ended}")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _interruptible() -> Iterator[None]:
    """Restore the default Ctrl-C during a question, because the event loop is blocked and could not handle it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
