"""One working process, as its runner sees it."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from time import monotonic
from typing import IO

from gossamer.work.home import HomeLock


class Child:
    """A worker process that ends together with its parent and reports that it is alive.

    Its standard input closes when the parent is gone, however the parent ended.
    """

    def __init__(
        self,
        command: Sequence[str],
        lock: HomeLock | None,
        home: str,
        number: int,
        of: int,
        output: Path | None,
        *,
        talks: bool = False,
    ) -> None:
        """Without an `output` it says what it has to say where we do. `talks`: it has a line to us."""
        self.number = number
        self.is_retired = False
        self.since = monotonic()
        self.line: socket.socket | None = None
        other_end: socket.socket | None = None
        if talks:
            self.line, other_end = socket.socketpair()
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self._pulse: int | None = ours
        self._beat_at = self.since
        passed = [theirs, *([lock.fileno()] if lock else ()), *([other_end.fileno()] if other_end else ())]
        line = ("--line", str(other_end.fileno())) if other_end else ()
        try:
            with sink(output) as said:
                self._process = subprocess.Popen(  # noqa: S603 - our own program
                    [*command, "--shard", f"{number}/{of}", "--home-name", home, "--pulse", str(theirs), *line],
                    stdin=subprocess.PIPE,
                    stdout=said,
                    stderr=said,
                    pass_fds=passed,
                    # Ctrl-C in the terminal is ours to answer, not theirs.
                    start_new_session=True,
                )
        finally:
            os.close(theirs)
            if other_end:
                other_end.close()
        self.worker = f"{home}/{number}-{self._process.pid}"

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def silent_for(self) -> float:
        """Seconds since its event loop was last seen to turn."""
        with suppress(BlockingIOError):
            while self._pulse is not None and os.read(self._pulse, 4096):
                self._beat_at = monotonic()
        return monotonic() - self._beat_at

    def resident(self) -> int:
        """Bytes of memory it has now; 0 where this system does not say, or when it has ended."""
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def retire(self) -> None:
        """Ask it, once, to hand back what it has and end."""
        if not self.is_retired:
            self.is_retired = True
            self.send(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def wait(self, seconds: float) -> bool:
        """True if it has ended by then."""
        try:
            await asyncio.to_thread(self._process.wait, seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """Let go of it; once more does no harm."""
        if self._pulse is not None:
            os.close(self._pulse)
            self._pulse = None
        if self._process.stdin:
            self._process.stdin.close()


def sink(output: Path | None) -> AbstractContextManager[IO[bytes] | None]:
    """Where a process says what it has to say, opened; where we do, if nothing is named."""
    if output is None:
        return nullcontext()
    output.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return output.open("ab")
