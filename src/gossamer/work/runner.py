"""The runner of an embedded home: starts one process per shard, looks after them and after the rows."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from time import monotonic

from gossamer.clock import Clock
from gossamer.errors import GossamerError
from gossamer.store import reclaim, robots
from gossamer.store.database import PostgresDatabase, SqliteDatabase
from gossamer.store.places import StoredPlaces
from gossamer.telemetry import get_logger
from gossamer.work.home import HomeLock
from gossamer.work.sweep import Sweeper

_EVERY = 0.5  # seconds between looks
_CHECKPOINT = 5.0
_PLACE, _PLACE_KEPT = "runner", timedelta(seconds=30)
_ALIVE = 10.0  # seconds after which a child counts as having started
_STILLBORN = 6  # so many that did not, one after the other, and it is no accident
NO_DATABASE = 75  # exit code of a worker that lost its database
_PATIENCE = 20.0  # seconds a child gets to settle and hand back

log = get_logger(__name__)


class Child:
    """One working process. It ends with us: its standard input closes when we are gone, however we went."""

    def __init__(self, command: Sequence[str], lock: HomeLock, home: str, number: int, of: int, output: Path) -> None:
        self.number = number
        self.since = monotonic()
        output.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with output.open("ab") as sink:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [*command, "--shard", f"{number}/{of}", "--home-name", home],
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=sink,
                pass_fds=(lock.fileno(),),
                # Ctrl-C in the terminal is ours to answer, not theirs.
                start_new_session=True,
            )
        self.worker = f"{home}/{number}-{self._process.pid}"

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

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
        if self._process.stdin:
            self._process.stdin.close()


class Runner:
    """Works every running job of a home until stopped."""

    def __init__(
        self,
        database: SqliteDatabase | PostgresDatabase,
        clock: Clock,
        lock: HomeLock,
        home: str,
        command: Sequence[str],
        processes: int,
        output: Path,
    ) -> None:
        self._database = database
        self._clock = clock
        self._lock = lock
        self._home = home
        self._command = command
        self._processes = processes
        self._output = output
        self._children: list[Child] = []
        self._stillborn = 0
        self._places = StoredPlaces(database)
        self._sweeper = Sweeper(database, clock)
        self._checkpointed = clock.monotonic()

    async def start(self) -> bool:
        """Begin to work, unless another home works this database: two could not space their requests.

        Call only with the lock held: whatever leases the home has are left over from somebody who is gone.
        """
        if not await self._places.enter(_PLACE, self._home, 1, _PLACE_KEPT):
            return False
        await self._database.write(reclaim.void_home, self._home)
        await self._database.write(robots.forget_old)
        self._children = [self._spawn(number) for number in range(self._processes)]
        log.info("runner.started", processes=self._processes, pid=os.getpid())
        return True

    def _spawn(self, number: int) -> Child:
        return Child(self._command, self._lock, self._home, number, self._processes, self._output)

    async def look_after(self) -> None:
        """For ever: replace dead children, sweep, keep the log file of SQLite small."""
        while True:
            await self._replace_dead()
            await self._sweeper.sweep()
            if self._clock.monotonic() - self._checkpointed > _CHECKPOINT:
                self._checkpointed = self._clock.monotonic()
                if not await self._places.enter(_PLACE, self._home, 1, _PLACE_KEPT):
                    raise GossamerError("Another home has begun to work this database while we could not reach it.")
                await self._database.tidy()
            await asyncio.sleep(_EVERY)

    async def _replace_dead(self) -> None:
        for place, child in enumerate(self._children):
            code = child.exit_code
            if code is None:
                continue
            log.error("worker.died", worker=child.worker, exit_code=code)
            why = f"worker ended with {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"
            # Without its database a worker ends too, but no visit is to blame for that.
            await self._database.write(reclaim.void_worker, child.worker, why, deadly=code != NO_DATABASE)
            child.close()
            self._stillborn = self._stillborn + 1 if monotonic() - child.since < _ALIVE else 0
            if self._stillborn >= _STILLBORN:
                raise GossamerError(f"The working processes end as soon as they start. The reason is in {self._output}")
            await asyncio.sleep(0.5)  # a child that cannot start must not become a storm
            self._children[place] = self._spawn(child.number)

    async def stop(self, *, now: bool = False) -> None:
        """Let the children settle and hand back, or kill them; their visits are ready again either way."""
        for child in self._children:
            child.send(signal.SIGKILL if now else signal.SIGTERM)
        for child in self._children:
            if not await child.wait(_PATIENCE):
                child.send(signal.SIGKILL)
                await child.wait(_PATIENCE)
            child.close()
        self._children = []
        await self._database.write(reclaim.void_home, self._home)
        await self._places.leave(_PLACE, self._home)
        await self._sweeper.sweep()
        await self._database.tidy()
        log.info("runner.stopped", pid=os.getpid())
