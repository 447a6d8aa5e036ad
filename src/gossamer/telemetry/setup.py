"""At the door, once per process: where the log goes and in which form."""

import logging
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Literal, TextIO

from gossamer.telemetry.redact import redactor

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
            from gossamer.telemetry.pipeline import formatter

            self._inner = formatter(self._shape)
        return self._inner.format(record)


class _Quiet(logging.Handler):
    """A log that cannot be written, on a disk that is full, is no news for whoever looks at the screen."""

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
