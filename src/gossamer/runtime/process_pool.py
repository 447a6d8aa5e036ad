"""A group of worker processes: dead ones are replaced, and blocked ones terminated."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import IO

from gossamer.clock import Clock
from gossamer.crawl.express import Express
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import GossamerError
from gossamer.logging import get_logger
from gossamer.model.alert import ALERTS, AlertKind
from gossamer.runtime.home_lock import HomeLock
from gossamer.store import alerts, reclaim, workers

NO_DATABASE = 75  # exit code of a worker that lost its database
_ALIVE = 10.0  # seconds after which a child counts as started
_STILLBORN = 6  # failed starts in a row until the pool gives up
_PATIENCE = 20.0  # seconds for a child to settle and hand back its visits
_STANDSTILL = 30.0  # minimum seconds without a heartbeat until a child is killed; longer for longer leases
_LARGE = 0.8  # share of the memory limit above which a child is replaced in an orderly way

log = get_logger(__name__)


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
        express: bool = False,
    ) -> None:
        """Without an `output` it shares ours. `express`: it gets a socket to us, for express visits."""
        self.number = number
        self.is_retired = False
        self.since = monotonic()
        self.connection: socket.socket | None = None
        other_end: socket.socket | None = None
        if express:
            self.connection, other_end = socket.socketpair()
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self._pulse: int | None = ours
        self._beat_at = self.since
        passed = [theirs, *([lock.fileno()] if lock else ()), *([other_end.fileno()] if other_end else ())]
        connection = ("--line", str(other_end.fileno())) if other_end else ()
        try:
            with sink(output) as said:
                self._process = subprocess.Popen(  # noqa: S603 - our own program
                    [*command, "--shard", f"{number}/{of}", "--home-name", home, "--pulse", str(theirs), *connection],
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
        """Return the seconds since its last heartbeat."""
        with suppress(BlockingIOError):
            while self._pulse is not None and os.read(self._pulse, 4096):
                self._beat_at = monotonic()
        return monotonic() - self._beat_at

    def resident(self) -> int:
        """Return its resident memory in bytes; 0 if unknown, or if it has ended."""
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def retire(self) -> None:
        """Ask it, once, to hand back its visits and end."""
        if not self.is_retired:
            self.is_retired = True
            self.send(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def wait(self, seconds: float) -> bool:
        """Wait for its end; True if it has ended in time."""
        try:
            await asyncio.to_thread(self._process.wait, seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """Close our pipes to it; may be called twice."""
        if self._pulse is not None:
            os.close(self._pulse)
            self._pulse = None
        if self._process.stdin:
            self._process.stdin.close()


def sink(output: Path | None) -> AbstractContextManager[IO[bytes] | None]:
    """Open the output file of a process; None, which means our own output, if no path is given."""
    if output is None:
        return nullcontext()
    output.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return output.open("ab")


class ProcessPool:
    """Worker processes of a runner or an instance.

    `home` begins the names of their leases; each of `commands` starts one child.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        home: str,
        commands: Sequence[Sequence[str]],
        lease: timedelta,
        *,
        memory: int = 0,
        lock: HomeLock | None = None,
        output: Path | None = None,
        express: Express | None = None,
    ) -> None:
        """`memory` is the most bytes a child process may use; 0 means no limit.

        `express` gets every child and its socket.
        """
        self._database = database
        self._clock = clock
        self._home = home
        self._commands = commands
        self._memory = memory
        self._lock = lock
        self._output = output
        self._express = express
        self._allowed = max(_STANDSTILL, 3 * lease.total_seconds())
        self._children: list[Child] = []
        self._stillborn = 0
        self._looked = clock.monotonic()

    def start(self) -> None:
        self._looked = self._clock.monotonic()
        self._children = [self._spawn(number) for number in range(len(self._commands))]

    def _spawn(self, number: int) -> Child:
        of, express = len(self._commands), self._express is not None
        child = Child(self._commands[number], self._lock, self._home, number, of, self._output, express=express)
        if self._express and child.connection:
            self._express.connect(child.worker, number, of, child.connection)
        return child

    async def look(self) -> None:
        """Check all children: kill hanging ones, retire large ones, replace dead ones."""
        self._end_standing()
        self._end_large()
        await self._replace_dead()

    def _end_standing(self) -> None:
        """Kill child processes whose event loop hangs; they would never return to their visits."""
        now = self._clock.monotonic()
        we_stood, self._looked = now - self._looked > self._allowed / 2, now
        for child in self._children:
            silent = child.silent_for()
            if silent > self._allowed and not we_stood:
                log.error("worker.standing", worker=child.worker, seconds=round(silent))
                child.send(signal.SIGKILL)

    def _end_large(self) -> None:
        """Replace child processes that are too large, before the system kills any process for lack of memory."""
        for child in self._children if self._memory else ():
            has = child.resident()
            if has > self._memory:
                log.error("worker.too_large", worker=child.worker, megabytes=has >> 20, most=self._memory >> 20)
                child.send(signal.SIGKILL)
            elif has > self._memory * _LARGE:
                child.retire()

    async def _replace_dead(self) -> None:
        for place, child in enumerate(self._children):
            code = child.exit_code
            if code is None:
                continue
            if child.is_retired and code == 0:
                log.info("worker.retired", worker=child.worker)
            else:
                log.error("worker.died", worker=child.worker, exit_code=code)
            why = f"worker ended with {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"
            # A worker that lost its database ends too, but its visits did not cause that.
            if freed := await self._database.write(_bury, child.worker, why, deadly=code != NO_DATABASE):
                log.warning("visits.reclaimed", visits=freed, workers=child.worker, why=why)
            child.close()
            self._stillborn = self._stillborn + 1 if monotonic() - child.since < _ALIVE else 0
            if self._stillborn >= _STILLBORN:
                why = ALERTS[AlertKind.WORKERS].format(log=self._output or "the log")
                await self._database.write(alerts.fire, AlertKind.WORKERS, self._home, why)
                raise GossamerError(why)
            await asyncio.sleep(0.5)  # avoids a fast loop of failing starts
            self._children[place] = self._spawn(child.number)

    async def stop(self, *, now: bool = False) -> None:
        """Let the children settle and hand back their visits, or kill them `now`."""
        for child in self._children:
            child.send(signal.SIGKILL if now else signal.SIGTERM)
        for child in self._children:
            if not await child.wait(_PATIENCE):
                child.send(signal.SIGKILL)
                await child.wait(_PATIENCE)
            child.close()
        self._children = []


def _bury(tx: Tx, worker: str, why: str, *, deadly: bool) -> int:
    """Remove a worker; return the number of its visits, which are ready again."""
    freed = reclaim.void_worker(tx, worker, why, deadly=deadly)
    workers.leave(tx, worker)
    return freed
