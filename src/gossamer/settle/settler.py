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
from gossamer.store import reclaim
from gossamer.store.database import Database
from gossamer.telemetry import get_logger

MOST_WAITING = 100
OLDEST = timedelta(seconds=2)

log = get_logger(__name__)


class Settler:
    """Commits when 100 steps wait, when the oldest is 2 s old, or at once when a visit ends.

    While 100 steps wait, `room` holds the visits back: they slow down with the database instead of piling up work that
    a crash would lose. Visits already past it still add a step each, so the number is 100 plus the walks in flight.
    """

    def __init__(self, database: Database, clock: Clock, shard: int, lost: Callable[[UUID], None]) -> None:
        self._database = database
        self._clock = clock
        self._shard = shard
        self._lost = lost
        self._waiting: list[Step] = []
        self._oldest = 0.0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._wake = asyncio.Event()
        self._closing = False

    @property
    def has_room(self) -> bool:
        """Asked before every page: waiting for what is there already would still cost something."""
        return self._has_room.is_set()

    async def room(self) -> None:
        """Wait here before doing anything that will have to be written."""
        await self._has_room.wait()

    def put(self, step: Step) -> None:
        """Accept a step. Never waits, so that nothing can come between what a visit did and its being written."""
        if not self._waiting:
            self._oldest = self._clock.monotonic()
        self._waiting.append(step)
        full = len(self._waiting) >= MOST_WAITING
        if full:
            self._has_room.clear()
        if full or step.ending is not None or step.visit.deaths > 0:
            self._wake.set()

    async def run(self) -> None:
        """Until `close`; what was put before is still committed."""
        while not (self._closing and not self._waiting):
            await self._until_due()
            batch, self._waiting = self._waiting, []
            self._wake.clear()
            self._has_room.set()
            if batch:
                await self._commit(batch)

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
                async with asyncio.timeout(remaining):
                    await self._wake.wait()
            except TimeoutError:
                continue
            # Endings come in crowds: a breath lets the others of this moment share the commit.
            await asyncio.sleep(0.01)
            if self._waiting:
                return
            self._wake.clear()

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
                done = await self._without_data(step, error)
            self._tell(done)

    async def _without_data(self, step: Step, error: Exception) -> Committed:
        """The page fails, whatever it brought is dropped; a step without a page costs its visit a life."""
        if step.page is None:
            await self._database.write(reclaim.take_back, {step.visit.id: step.visit.lease})
            return Committed(lost={step.visit.lease})
        trouble = Trouble(Reason.INTERNAL, f"{type(error).__name__} while storing")
        page = replace(step.page, state=PageState.FAILED, trouble=trouble, records=())
        bare = replace(step, page=page, facts=None, chosen=(), handed=())
        return await self._database.write(commit, [bare], self._shard)

    def _tell(self, done: Committed) -> None:
        for lease in done.lost:
            self._lost(lease)
