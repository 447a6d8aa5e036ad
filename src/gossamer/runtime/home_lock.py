"""The right to run jobs: one process per data folder, by a file lock, and one runner per database, by a slot there.

All other processes only write rows and watch.
"""

import fcntl
import os
from datetime import timedelta
from pathlib import Path
from secrets import token_hex

RUNNER, RUNNER_KEPT = "runner", timedelta(seconds=30)
"""The slot in the database, and how long it is kept without a sign of life."""

CLUSTER = "cluster"
"""Holder of that slot if a cluster uses the database; otherwise it is the name of a data folder."""


class HomeLock:
    """The lock of a data folder. Child processes inherit it, so it is free only when all have ended."""

    def __init__(self, home: Path) -> None:
        self._path = home / "runner.lock"
        self._file: int | None = None
        self.clock = 0.0  # the offset of our clock, which other processes adopt while we hold the lock

    @property
    def held(self) -> bool:
        return self._file is not None

    def fileno(self) -> int:
        if self._file is None:
            raise RuntimeError("the lock is not held")
        return self._file

    def take(self) -> bool:
        """Take the lock; False if another process holds it."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()} {self.clock!r}\n".encode(), 0)
        self._file = file
        return True

    def release(self) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None

    def holder(self) -> int | None:
        """Return the process id of the runner; None if there is none."""
        written = self._written()
        return None if written is None else int(written[0]) if written and written[0].isdigit() else 0

    def holders_clock(self) -> float | None:
        """Return the clock offset of the runner; None if there is none."""
        written = self._written()
        return float(written[1]) if written and len(written) > 1 else None

    def _written(self) -> list[str] | None:
        """Return the runner's entries in the lock file; None if there is no runner."""
        if not self._path.exists():
            return None
        file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # Shared, so that readers do not block each other.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return os.pread(file, 60, 0).decode().split()
        else:
            return None
        finally:
            os.close(file)


def home_name(home: Path) -> str:
    """Return the unique name of this data folder, which marks its leases."""
    path = home / "name"
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = home / f"name.{os.getpid()}"
        fresh.write_text(f"home-{token_hex(4)}\n")
        try:
            os.link(fresh, path)  # the first process wins
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
        return path.read_text().strip()


def worker_name(home: str, who: str | int) -> str:
    """Return the name of a lease's holder: its data folder, then its process."""
    return f"{home}/{who}-{os.getpid()}"
