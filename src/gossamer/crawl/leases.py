"""The leases of this process: held, renewed from a thread of their own, lost."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from uuid import UUID

from gossamer.clock import Clock
from gossamer.db.database import PostgresDatabase, SqliteDatabase
from gossamer.logging import get_logger
from gossamer.model.page import Visit
from gossamer.store import visits

log = get_logger(__name__)


class HeldLease:
    """One visit in our hands. `stop` is set when the walk should end; the deadline, when no request may start."""

    __slots__ = ("answered", "deadline", "lost", "paying", "stop", "suspect", "told", "visit", "walk")

    def __init__(self, visit: Visit, deadline: float) -> None:
        self.visit = visit
        self.deadline = deadline
        self.lost = False
        self.answered = False  # its page has come and waits for its turn: it is not thrown away
        self.paying = False  # a request that costs something is in flight: it is waited for
        self.suspect = visit.deaths > 0
        self.stop = asyncio.Event()
        self.told = 0.0  # when `stop` was set
        self.walk: asyncio.Task[None] | None = None


class HeldLeases:
    """All visits this process has leased."""

    def __init__(self, clock: Clock, lease: timedelta) -> None:
        self._clock = clock
        # No request starts in the last moments of a lease: it could end after somebody else has begun.
        self._usable = (lease - min(timedelta(seconds=5), lease / 6)).total_seconds()
        self._held: dict[UUID, HeldLease] = {}

    def take(self, visit: Visit, since: float) -> HeldLease:
        hold = self._held[visit.lease] = HeldLease(visit, since + self._usable)
        return hold

    def drop(self, hold: HeldLease) -> None:
        self._held.pop(hold.visit.lease, None)

    def renewed(self, tokens: set[UUID], since: float) -> None:
        for lease, hold in self._held.items():
            if lease in tokens:
                hold.deadline = since + self._usable

    def lose(self, lease: UUID) -> None:
        """End the crawl of a visit that another worker has taken over, at once and without writing anything."""
        hold = self._held.get(lease)
        if hold:
            hold.lost = True
            self._tell(hold)
            if hold.walk:
                hold.walk.cancel()

    def trust(self, lease: UUID) -> None:
        """A page of this visit was settled: whatever killed its worker, walking it can be survived."""
        hold = self._held.get(lease)
        if hold:
            hold.suspect = False

    def stop(self, jobs: Iterable[UUID] | None = None) -> None:
        """End the walks of these jobs, or all."""
        wanted = None if jobs is None else set(jobs)
        for hold in self._held.values():
            if wanted is None or hold.visit.job_id in wanted:
                self._tell(hold)

    def _tell(self, hold: HeldLease) -> None:
        if not hold.stop.is_set():
            hold.told = self._clock.monotonic()
            hold.stop.set()

    def cut_off(self, grace: float) -> None:
        """Cancel crawls that were asked to stop over `grace` seconds ago and are still waiting for a response.

        A crawl with a paid request in flight, or with a page that has arrived, is left alone.
        """
        late = self._clock.monotonic() - grace
        for hold in self._held.values():
            if hold.stop.is_set() and hold.told <= late and hold.walk and not (hold.paying or hold.answered):
                hold.walk.cancel()

    def jobs(self) -> set[UUID]:
        return {hold.visit.job_id for hold in self._held.values()}

    def tokens(self) -> tuple[UUID, ...]:
        """Return the tokens; safe to call from another thread, since it is one step of the interpreter."""
        return tuple(self._held)

    def suspects(self) -> int:
        return sum(hold.suspect for hold in self._held.values())


class Renewer:
    """Renews all leases of the process with one statement, as long as the event loop is seen to be alive."""

    def __init__(
        self,
        open_database: Callable[[], SqliteDatabase | PostgresDatabase],
        holds: HeldLeases,
        worker: str,
        lease: timedelta,
        clock: Clock,
    ) -> None:
        self._open = open_database
        self._holds = holds
        self._worker = worker
        self._lease = lease
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._ticked = clock.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._renew()), name="leases", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def tick(self) -> None:
        """The event loop turns."""
        self._ticked = self._clock.monotonic()

    async def stop(self) -> None:
        self._over.set()
        await asyncio.to_thread(self._thread.join)

    async def _renew(self) -> None:
        database = self._open()
        try:
            while not await asyncio.to_thread(self._over.wait, (self._lease / 4).total_seconds()):
                if self._clock.monotonic() - self._ticked > (self._lease / 3).total_seconds():
                    log.warning("leases.not_renewed", why="the event loop stands still")
                    continue
                await self._renew_once(database)
        finally:
            await database.close()

    async def _renew_once(self, database: SqliteDatabase | PostgresDatabase) -> None:
        since = self._clock.monotonic()
        try:
            tokens = await database.write(visits.renew, self._worker, self._holds.tokens(), self._lease)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next try may work, and without one all leases end
            log.warning("leases.not_renewed", why=str(error))
            return
        if not self._over.is_set():
            self._loop.call_soon_threadsafe(self._holds.renewed, tokens, since)
