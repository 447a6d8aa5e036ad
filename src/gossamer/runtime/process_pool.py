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
_ALIVE = 10.0  # seconds after which a child counts as having started
_STILLBORN = 6  # so many that did not, one after the other, and it is no accident
_PATIENCE = 20.0  # seconds a child gets to settle and hand back
_STANDSTILL = 30.0  # seconds without a sign of life, at least, before a child is ended; longer for longer leases
_LARGE = 0.8  # of the memory it may have: one with more than that is replaced while there is time to do so in order

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


class ProcessPool:
    """`home` is what the names of its leases begin with; `commands` start the children, one each."""

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

        `express` is given every child and its line.
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
        of, talks = len(self._commands), self._express is not None
        child = Child(self._commands[number], self._lock, self._home, number, of, self._output, talks=talks)
        if self._express and child.line:
            self._express.connect(child.worker, number, of, child.line)
        return child

    async def look(self) -> None:
        """Now and then."""
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
        """Before the machine runs out of memory and ends whomever it likes."""
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
            # Without its database a worker ends too, but no visit is to blame for that.
            if freed := await self._database.write(_bury, child.worker, why, deadly=code != NO_DATABASE):
                log.warning("visits.reclaimed", visits=freed, workers=child.worker, why=why)
            child.close()
            self._stillborn = self._stillborn + 1 if monotonic() - child.since < _ALIVE else 0
            if self._stillborn >= _STILLBORN:
                why = ALERTS[AlertKind.WORKERS].format(log=self._output or "the log")
                await self._database.write(alerts.fire, AlertKind.WORKERS, self._home, why)
                raise GossamerError(why)
            await asyncio.sleep(0.5)  # a child that cannot start must not become a storm
            self._children[place] = self._spawn(child.number)

    async def stop(self, *, now: bool = False) -> None:
        """Let them settle and hand back, or kill them."""
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
