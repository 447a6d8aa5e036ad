"""At every stop of the path: how code says what happened. Cheap to import and, where nobody listens, to call.

The library behind it takes longer to load than a short command to run, so it is loaded with the first event that is
really written.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_context: ContextVar[Mapping[str, object]] = ContextVar("gossamer_log_context", default=MappingProxyType({}))
# Who this process is: as true in its threads, which start without a context, as in its tasks.
_process: dict[str, object] = {}


class Log:
    """A named log with fields it adds to every event. Events are short and in the past tense, facts go into fields."""

    __slots__ = ("_fields", "_logger")

    def __init__(self, logger: logging.Logger, fields: Mapping[str, object]) -> None:
        self._logger = logger
        self._fields = fields

    def bind(self, **fields: object) -> "Log":
        """The same log with more fields."""
        return Log(self._logger, {**self._fields, **fields})

    def debug(self, event: str, /, **fields: object) -> None:
        self._write(logging.DEBUG, event, fields)

    def info(self, event: str, /, **fields: object) -> None:
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        self._write(logging.WARNING, event, fields)

    def error(self, event: str, /, **fields: object) -> None:
        self._write(logging.ERROR, event, fields)

    def exception(self, event: str, /, **fields: object) -> None:
        """An error with the exception being handled and its traceback."""
        self._write(logging.ERROR, event, {"exc_info": True, **fields})

    def _write(self, level: int, event: str, fields: Mapping[str, object]) -> None:
        if self._logger.isEnabledFor(level):
            from gossamer.telemetry.pipeline import write

            write(self._logger, level, event, {**_process, **_context.get(), **self._fields, **fields})


def get_logger(name: str) -> Log:
    """The log of a module: `get_logger(__name__)`."""
    return Log(logging.getLogger(name), {})


def bind(**fields: object) -> None:
    """Add fields to every event this process writes from now on."""
    _process.update(fields)


@contextmanager
def bound(**fields: object) -> Iterator[None]:
    """Add fields to every event written inside, also by tasks started inside and by code that knows nothing of them."""
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)
