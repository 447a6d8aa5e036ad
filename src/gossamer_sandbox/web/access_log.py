"""The access log: one JSON object per request, with its time and path, written in batches.

A web that generates its sites on demand, on a busy machine, may not read requests for seconds. A request found then
arrived some time during the gap; `late` is the length of that gap at most.
"""

import asyncio
import os
from pathlib import Path

import orjson

from gossamer.model.url import domain_of

FLUSH_SECONDS = 0.2
_FLUSH_LINES = 2_000
_BEAT = 0.02  # seconds
_LATE = 0.1  # seconds without a look that are worth saying


class AccessLog:
    """Lines wait at most a fifth of a second, so a killed server loses little. Several processes may share a file."""

    def __init__(self, path: Path | None) -> None:
        # Appending whole batches in one write keeps the lines of several processes apart.
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if path else -1
        self._lines: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._pulse: asyncio.TimerHandle | None = None
        self._looked = 0.0  # when the event loop last turned

    def watch(self) -> None:
        """Start measuring gaps in which no requests are read."""
        loop = asyncio.get_running_loop()
        self._looked = loop.time()
        self._pulse = loop.call_later(_BEAT, self.watch)

    def add(self, at: float, host: str, path: str, status: int, agent: str) -> None:
        if self._file < 0:
            return
        entry = {"t": at, "host": host, "path": path, "status": status, "ua": agent, "domain": domain_of(host)}
        late = asyncio.get_running_loop().time() - self._looked if self._pulse else 0.0
        if late > _LATE:
            entry["late"] = late
        self._lines.append(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE))
        if len(self._lines) >= _FLUSH_LINES:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting = b"".join(self._lines)
        self._lines.clear()
        while waiting:
            waiting = waiting[os.write(self._file, waiting) :]

    def close(self) -> None:
        if self._pulse is not None:
            self._pulse.cancel()
            self._pulse = None
        self.flush()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
