"""One runner per home: who holds the lock works, everybody else writes rows and watches."""

import fcntl
import os
from pathlib import Path
from secrets import token_hex


class HomeLock:
    """The lock of a home folder. Handed to child processes, so that it is free only when the last of them is gone."""

    def __init__(self, home: Path) -> None:
        self._path = home / "runner.lock"
        self._file: int | None = None
        self.clock = 0.0  # the offset of the clock by which we would work; others take it over while we do

    @property
    def held(self) -> bool:
        return self._file is not None

    def fileno(self) -> int:
        if self._file is None:
            raise RuntimeError("the home is not ours")
        return self._file

    def take(self) -> bool:
        """Become the runner if there is none."""
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
        """The process id of the runner, if there is one."""
        written = self._written()
        return None if written is None else int(written[0]) if written and written[0].isdigit() else 0

    def holders_clock(self) -> float | None:
        """The offset of the clock the runner works by, if there is a runner."""
        written = self._written()
        return float(written[1]) if written and len(written) > 1 else None

    def _written(self) -> list[str] | None:
        """Return the runner's entries in the lock file; None if there is no runner."""
        if not self._path.exists():
            return None
        file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # Shared: those who only look do not keep each other from looking.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return os.pread(file, 60, 0).decode().split()
        else:
            return None
        finally:
            os.close(file)


def home_name(home: Path) -> str:
    """A name for this home that no other has: leases are marked with it."""
    path = home / "name"
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = home / f"name.{os.getpid()}"
        fresh.write_text(f"home-{token_hex(4)}\n")
        try:
            os.link(fresh, path)  # whoever comes first names it
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
        return path.read_text().strip()
