"""Structured logging: loggers of modules, and where a process writes its log.

Imported everywhere, so it loads no library: structlog is loaded with the first event that is written.
"""

import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TextIO

from gossamer.logging.redact import redactor

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
            from gossamer.logging.pipeline import write  # heavy, and most commands never log

            write(self._logger, level, event, {**_process, **_context.get(), **self._fields, **fields})


def get_logger(name: str) -> Log:
    """The log of a module: `get_logger(__name__)`."""
    return Log(logging.getLogger(name), {})


def bind(**fields: object) -> None:
    """Add fields to every event this process writes from now on."""
    _process.update(fields)


@contextmanager
def bound(**fields: object) -> Iterator[None]:
    """Add fields to every event logged inside the block, including tasks and library code that it runs."""
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


_OURS = "gossamer"


def configure(
    format: Literal["line", "json"] = "line",  # noqa: A002 - the word of the setting and of the command line
    level: str = "INFO",
    *,
    stream: TextIO | None = None,
    file: Path | None = None,
    secrets: Iterable[str] = (),
) -> None:
    """Write the log to a stream (standard error if none is named) or a file, and forget where it went before.

    Our own events are written from `level` on, those of libraries from WARNING on. `secrets` are hidden wherever they
    appear. A file is appended to, private, and opened anew when something rotates it away; OSError if that fails.
    """
    if format not in ("line", "json"):
        raise ValueError(f"Unknown log format {format!r}; use 'line' or 'json'")
    if stream is not None and file is not None:
        raise ValueError("The log goes to a stream or to a file, not to both")
    threshold = logging.getLevelNamesMapping().get(level.upper())
    if threshold is None:
        raise ValueError(f"Unknown log level {level!r}; use DEBUG, INFO, WARNING or ERROR")
    redactor.learn(secrets)
    handler: logging.Handler = _PrivateFile(file) if file is not None else _Stream(stream)
    handler.setFormatter(_LateFormatter(format))
    root = logging.getLogger()
    for former in [former for former in root.handlers if isinstance(former, (_PrivateFile, _Stream))]:
        root.removeHandler(former)
        with suppress(OSError):  # its last lines do not fit on the disk
            former.close()
    root.addHandler(handler)
    root.setLevel(max(threshold, logging.WARNING))
    logging.getLogger(_OURS).setLevel(threshold)


class _LateFormatter(logging.Formatter):
    """Loads the chain with the first event: most commands never write one."""

    def __init__(self, shape: str) -> None:
        super().__init__()
        self._shape = shape
        self._inner: logging.Formatter | None = None

    def format(self, record: logging.LogRecord) -> str:
        if self._inner is None:
            from gossamer.logging.pipeline import formatter  # heavy, and most commands never log

            self._inner = formatter(self._shape)
        return self._inner.format(record)


class _Quiet(logging.Handler):
    """Handler that hides failures to write the log, for example on a full disk, from the user's screen."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


class _Stream(_Quiet):
    """A stream, or whatever standard error is at the moment: live displays put something of their own in its place."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        try:
            stream = self._stream or sys.stderr
            encoding = getattr(stream, "encoding", None) or "utf-8"
            # A terminal that cannot show a letter shall show its number, not lose the line.
            line = self.format(record).encode(encoding, "backslashreplace").decode(encoding)
            stream.write(line + "\n")
            stream.flush()
        except Exception:  # noqa: BLE001 - as every handler of logging: a log that fails must not stop the work
            self.handleError(record)


class _PrivateFile(_Quiet, WatchedFileHandler):
    """A file only its owner may read."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(path, encoding="utf-8", errors="backslashreplace")

    def _open(self) -> TextIOWrapper:
        def opener(name: str, flags: int) -> int:
            return os.open(name, flags, 0o600)

        return open(self.baseFilename, "a", encoding=self.encoding, errors=self.errors, opener=opener)
