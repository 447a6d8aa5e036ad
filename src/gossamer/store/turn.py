"""Whose turn it is to write to a SQLite file, over all processes that have it open.

SQLite lets whoever finds the file locked try again every now and then. Beside a process that writes one batch after the
other that can take longer than anybody waits. Here they stand in a row: the system wakes the next as soon as one is
done, and lets go of the turn of a process that has died.
"""

import fcntl
import os
from pathlib import Path
from types import TracebackType


class Turn:
    """Entered around every write transaction, by one thread at a time. Threads of one process have one each."""

    def __init__(self, database: Path) -> None:
        self._file = os.open(f"{database}-turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take_if_free(self) -> bool:
        """Whether it is ours now; then it must be left."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def leave(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def close(self) -> None:
        os.close(self._file)
