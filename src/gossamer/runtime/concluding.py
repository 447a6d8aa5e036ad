"""Conclusions of jobs: looked for in the rows, each worked on by a process of its own that is spawned for it."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway
from gossamer.logging import get_logger
from gossamer.model.ids import short
from gossamer.model.worker import DeskKind
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.runtime.job_completion import fail_conclusion
from gossamer.runtime.process_pool import NO_DATABASE, sink
from gossamer.store import conclusions
from gossamer.store.conclusions import MOST_TRIES, Conclusion

_LOOK = 0.5  # seconds between looks for new ones
_TAKE_BACK = 5.0  # seconds between looks for those whose processes are gone
_PATIENCE = 20.0  # seconds a process gets to end after its batch

log = get_logger(__name__)


class Died(Exception):
    """A process that worked on a conclusion has ended before its time, again and again."""


class Concluder:
    """One per runner or instance. `command` starts a process; `output` is where it says what it has to say."""

    def __init__(
        self,
        database: Database,
        desk: BackgroundSlots,
        worker: str,
        command: Sequence[str],
        lease: timedelta,
        output: Path | None = None,
    ) -> None:
        self._database = database
        self._desk = desk
        self._worker = worker
        self._command = command
        self._lease = lease
        self._output = output
        self._asking = 0  # turns that have not become a process yet

    async def run(self) -> None:
        """For ever. When this is cancelled, processes end after the batch they are at."""
        clock = asyncio.get_running_loop().time
        looks_at = clock()
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                if clock() >= looks_at:
                    looks_at = clock() + _TAKE_BACK
                    if await self._database.read(conclusions.any_lost):
                        await self._database.write(conclusions.take_back)
                waiting = await self._database.read(conclusions.waiting)
                for _ in range(min(waiting - self._asking, self._desk.seats - len(tasks))):
                    tasks.add(asyncio.create_task(self._next()))
                await asyncio.sleep(_LOOK)
                for task in [task for task in tasks if task.done()]:
                    tasks.discard(task)
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _next(self) -> None:
        self._asking += 1
        asking = True
        try:
            async with self._desk.turn(DeskKind.CONCLUDE):
                token = uuid4()  # made here and not in the transaction, which may have to be made twice
                found = await self._database.write(conclusions.claim, self._worker, token, self._lease)
                self._asking -= 1
                asking = False
                if found is None:
                    return
                if found.tries > MOST_TRIES:
                    await self._database.write(_give_up, found, token)
                else:
                    await self._work(found.job_id, token)
        finally:
            self._asking -= asking

    async def _work(self, job_id: UUID, token: UUID) -> None:
        with sink(self._output) as output:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                *("--conclude", job_id.hex, "--token", token.hex),
                stdin=asyncio.subprocess.PIPE,  # it ends when this closes
                stdout=output or sys.stderr,
                stderr=output or sys.stderr,
                start_new_session=True,
            )
        log.info("conclusion.begun", job=short(job_id), pid=process.pid)
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await asyncio.shield(_end(process))
            raise
        if code:
            log.error("conclusion.died", job=short(job_id), pid=process.pid, exit_code=code)
            with suppress(StorageAway):  # then its lease runs out
                blameless = code == NO_DATABASE
                await self._database.write(conclusions.hand_back if blameless else conclusions.void, job_id, token)


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(_PATIENCE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def _give_up(tx: Tx, found: Conclusion, token: UUID) -> None:
    fail_conclusion(
        tx, found.job_id, Died(f"its process ended {MOST_TRIES} times at {found.cursor or 'its beginning'}")
    )
    conclusions.hand_back(tx, found.job_id, token)
