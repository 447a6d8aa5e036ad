"""The settler of a process: collects steps of all visits and commits them together."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.errors import StorageAway
from gossamer.logging import get_logger
from gossamer.model.states import PageState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.commit import Close, Committed, commit
from gossamer.settle.step import Step
from gossamer.store import counters, reclaim

MOST_WAITING = 200
MOST_WAITED_FOR = 10_000  # far more than a process runs at once
# Limits of a write in the event loop's thread: new pages and records, and bytes of pages with records.
MOST_ROWS, MOST_BYTES = 2_000, 40_000_000
OLDEST = timedelta(seconds=2)

log = get_logger(__name__)


class Settler:
    """Commits when 200 steps wait, when the oldest is 2 s old, or at once when a visit ends.

    A result needs one of 200 places: while all are taken, visits wait. So they slow down with the database, and a crash
    loses little.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        shard: int,
        tell: Callable[[Committed], None],
        checkpoint_visits: int = counters.EVERY,
        close: Close | None = None,
    ) -> None:
        self._database = database
        self._checkpoint_visits = checkpoint_visits
        self._clock = clock
        self._shard = shard
        self._tell = tell
        self._close = close
        self._waited_for: dict[UUID, None] = {}  # leases of visits whose end a caller waits for, oldest first
        self._hurry = False
        self._proven: set[UUID] = set()  # suspects that have completed a page
        self._waiting: list[Step] = []
        self._oldest = 0.0
        self._committing: float | None = None  # time of the oldest step in the current batch
        self._places = MOST_WAITING  # free places
        self._freed = asyncio.Event()  # set while there are free places
        self._freed.set()
        self._results = 0  # places taken by waiting results
        self.endings: Counter[str] = Counter()  # ended visits that are not yet written, by lane
        self._wake = asyncio.Event()
        self._closing = False
        self._wrote: list[int] = []  # milliseconds each of the last writes took, not yet in the rows

    @property
    def has_room(self) -> bool:
        """True if a place is free: a cheap check before `room`."""
        return self._places > 0

    async def relief(self) -> None:
        """Wait until a place is free, before further requests are sent."""
        while not self._places:
            await self._freed.wait()

    async def room(self) -> None:
        """Take a place for a result. The caller puts a result, or gives the place back, before it awaits anything."""
        while not self._places:
            await self._freed.wait()
        self._places -= 1
        if not self._places:
            self._freed.clear()

    def give_back(self) -> None:
        self._free(1)

    def _free(self, places: int) -> None:
        self._places += places
        if places:
            self._freed.set()

    def put_result(self, step: Step) -> None:
        """Accept the result of a page, for which the caller has taken a place."""
        self._results += 1
        self.put(step)

    def put(self, step: Step) -> None:
        """Accept a step. Never waits, so that an outcome and its step cannot be separated."""
        if not self._waiting:
            self._oldest = self._clock.monotonic()
        self._waiting.append(step)
        # Steps of a suspect are written at once, because it may crash this process.
        suspect = step.visit.deaths > 0 and step.visit.lease not in self._proven
        if len(self._waiting) >= MOST_WAITING or step.ending is not None or suspect:
            self._wake.set()
        if step.ending is not None:
            self._hurry |= step.visit.lease in self._waited_for
            self.endings[step.visit.lane] += 1
            self._proven.discard(step.visit.lease)

    def hurry(self, lease: UUID) -> None:
        """Mark a visit whose end a caller waits for: its end and its job's are written without delay."""
        self._waited_for[lease] = None
        # Crawls that were aborted never put their end: the oldest entries are dropped.
        if len(self._waited_for) > MOST_WAITED_FOR:
            del self._waited_for[next(iter(self._waited_for))]

    @property
    def waited_for(self) -> frozenset[UUID]:
        """The leases of visits whose end a caller waits for, as far as this process has been informed."""
        return frozenset(self._waited_for)

    def lag(self) -> float:
        """Return how many seconds the oldest step has waited to be written."""
        since = self._committing if self._committing is not None else self._oldest if self._waiting else None
        return 0.0 if since is None else self._clock.monotonic() - since

    async def run(self) -> None:
        """Commit batches until `close`; steps put before are still committed."""
        while not (self._closing and not self._waiting):
            await self._until_due()
            batch, self._waiting = self._waiting, []
            self._wake.clear()
            self._hurry = False
            self._free(self._results)
            self._results = 0
            if batch:
                self._committing = self._oldest
                await self._commit(batch)
                self._committing = None
                self.endings.subtract(step.visit.lane for step in batch if step.ending is not None)

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
            if not self._hurry and len(self._waiting) < MOST_WAITING:
                # Visits often end together: a short wait lets them share the commit.
                await asyncio.sleep(0.01)
            if self._waiting:
                return
            self._wake.clear()

    async def _commit(self, batch: list[Step]) -> None:
        try:
            done = await self._write(batch)
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
                done = await self._write([step])
            except StorageAway:
                raise
            except Exception as error:  # noqa: BLE001 - the reason is kept with the page and in the log
                log.error("settle.page_refused", visit=str(step.visit.id), error=str(error))
                done = await self._without_data(step, error)
            self._tell(done)

    async def _without_data(self, step: Step, error: Exception) -> Committed:
        """Fail the page without its data; a step without a page counts as a death of its visit."""
        if step.page is None:
            why = f"what it found could not be written: {type(error).__name__}"
            await self._database.write(reclaim.take_back, {step.visit.id: step.visit.lease}, why)
            return Committed(lost={step.visit.lease})
        trouble = Trouble(Reason.INTERNAL, f"{type(error).__name__} while storing")
        page = step.page._replace(state=PageState.FAILED, trouble=trouble, records=())
        bare = replace(step, page=page, facts=None, chosen=(), handed=(), opened=())
        return await self._write([bare])

    async def _write(self, steps: list[Step]) -> Committed:
        hurried = frozenset(step.visit.lease for step in steps if step.ending) & self._waited_for.keys()
        closing = (hurried, self._close) if hurried and self._close else None
        apart = is_long(steps)
        write = self._database.write if apart else self._database.write_nosync
        wrote, since = tuple(self._wrote), self._clock.monotonic()
        done = await write(commit, steps, self._shard, self._checkpoint_visits, closing, wrote)
        if not apart:
            await self._database.flush()
        del self._wrote[: len(wrote)]
        took = self._clock.monotonic() - since
        # The duration of a write that waited for an unreachable database is not counted.
        if self._database.retries.reachable_for() >= took:
            self._wrote.append(round(took * 1000))
        self._proven |= done.proven
        for lease in hurried | done.lost:
            self._waited_for.pop(lease, None)
        return done


def is_long(steps: list[Step]) -> bool:
    """Return True if writing the steps would block the event loop for too long.

    Pages that were only chosen take no space, but a list of URLs can have many thousands at once. A page
    may have hundreds of records, or a record may be as long as the page.
    """
    rows = sum(len(step.chosen) + 3 * len(step.opened) for step in steps)
    size = 0
    for step in steps:
        if step.page and step.page.records:
            rows += len(step.page.records)
            size += step.page.bytes_in
    return rows > MOST_ROWS or size > MOST_BYTES
