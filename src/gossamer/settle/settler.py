"""One per process: collects steps of all visits and commits them together."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from gossamer.clock import Clock
from gossamer.errors import StorageAway
from gossamer.model.states import PageState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.commit import Committed, commit
from gossamer.settle.step import Step
from gossamer.store.database import Database
from gossamer.telemetry import get_logger

MOST_WAITING = 100
OLDEST = timedelta(seconds=2)

log = get_logger(__name__)


class Settler:
    """Commits when 100 pages wait, when the oldest is 2 s old, or at once when somebody waits for it.

    At most 100 steps wait while another 100 are being committed: `put` blocks then, and so the visits slow down with
    the database instead of piling up work that a crash would lose.
    """

    def __init__(self, database: Database, clock: Clock, shard: int, lost: Callable[[UUID], None]) -> None:
        self._database = database
        self._clock = clock
        self._shard = shard
        self._lost = lost
        self._waiting: list[Step] = []
        self._oldest = 0.0
        self._room = asyncio.Condition()
        self._wake = asyncio.Event()
        self._settled = asyncio.Condition()
        self._put_count = 0
        self._settled_count = 0
        self._closing = False
        self.closed_jobs: set[UUID] = set()

    async def put(self, step: Step) -> None:
        """Accept a step; waits while the buffer is full."""
        async with self._room:
            await self._room.wait_for(lambda: len(self._waiting) < MOST_WAITING)
            if not self._waiting:
                self._oldest = self._clock.monotonic()
            self._waiting.append(step)
            self._put_count += 1
        urgent = step.ending is not None or step.visit.deaths > 0
        if urgent or len(self._waiting) >= MOST_WAITING:
            self._wake.set()

    async def flush(self) -> None:
        """Everything put so far is in the database when this returns."""
        goal = self._put_count
        self._wake.set()
        async with self._settled:
            await self._settled.wait_for(lambda: self._settled_count >= goal)

    async def run(self) -> None:
        """Until `close`; what was put before is still committed."""
        while not (self._closing and not self._waiting):
            await self._until_due()
            batch = await self._take()
            if batch:
                await self._commit(batch)
                async with self._settled:
                    self._settled_count += len(batch)
                    self._settled.notify_all()

    def close(self) -> None:
        self._closing = True
        self._wake.set()

    async def _until_due(self) -> None:
        while not self._closing:
            remaining = OLDEST.total_seconds()
            if self._waiting:
                remaining -= self._clock.monotonic() - self._oldest
                if remaining <= 0 or self._wake.is_set():
                    return
            try:
                await asyncio.wait_for(self._wake.wait(), remaining)
            except TimeoutError:
                continue
            # Endings come in crowds: a breath lets the others of this moment share the commit.
            await asyncio.sleep(0.01)
            if self._waiting:
                return
            self._wake.clear()

    async def _take(self) -> list[Step]:
        async with self._room:
            batch, self._waiting = self._waiting, []
            self._wake.clear()
            self._room.notify_all()
        return batch

    async def _commit(self, batch: list[Step]) -> None:
        try:
            done = await self._database.write(commit, batch, self._shard)
        except StorageAway:
            raise
        except Exception as error:  # noqa: BLE001 - one bad page must not take the whole batch with it
            log.warning("settle.batch_refused", error=str(error), steps=len(batch))
            await self._commit_apart(batch)
            return
        self._tell(done)

    async def _commit_apart(self, batch: list[Step]) -> None:
        """Settle a refused batch step by step: only the page whose data the database cannot take fails."""
        for step in batch:
            try:
                done = await self._database.write(commit, [step], self._shard)
            except StorageAway:
                raise
            except Exception as error:  # noqa: BLE001 - the reason is kept with the page and in the log
                log.error("settle.page_refused", visit=str(step.visit.id), error=str(error))
                done = await self._database.write(commit, [_without_data(step, error)], self._shard)
            self._tell(done)

    def _tell(self, done: Committed) -> None:
        for lease in done.lost:
            self._lost(lease)
        self.closed_jobs.update(done.closed)


def _without_data(step: Step, error: Exception) -> Step:
    if step.page is None:
        raise error
    trouble = Trouble(Reason.INTERNAL, f"{type(error).__name__} while storing")
    return replace(step, page=replace(step.page, state=PageState.FAILED, trouble=trouble, records=()))
