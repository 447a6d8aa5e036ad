"""A group of worker processes: dead ones are replaced, and blocked ones terminated."""

import asyncio
import signal
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from time import monotonic

from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import GossamerError
from gossamer.logging import get_logger
from gossamer.model.alert import AlertKind
from gossamer.model.messages import ALERTS
from gossamer.store import alerts, reclaim, workers
from gossamer.work.child import Child
from gossamer.work.express import Express
from gossamer.work.home import HomeLock

NO_DATABASE = 75  # exit code of a worker that lost its database
_ALIVE = 10.0  # seconds after which a child counts as having started
_STILLBORN = 6  # so many that did not, one after the other, and it is no accident
_PATIENCE = 20.0  # seconds a child gets to settle and hand back
_STANDSTILL = 30.0  # seconds without a sign of life, at least, before a child is ended; longer for longer leases
_LARGE = 0.8  # of the memory it may have: one with more than that is replaced while there is time to do so in order

log = get_logger(__name__)


class Crew:
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
