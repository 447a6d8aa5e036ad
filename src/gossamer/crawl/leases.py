"""Leases of this process: the visits it crawls. They are renewed from a thread of their own."""

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
    """A leased visit. `stop` is set when its crawl should end; no request may start after `deadline`."""

    __slots__ = ("answered", "deadline", "lost", "paying", "stop", "stopped_at", "suspect", "task", "visit")

    def __init__(self, visit: Visit, deadline: float) -> None:
        self.visit = visit
        self.deadline = deadline
        self.lost = False
        self.answered = False  # its page has arrived and is not thrown away
        self.paying = False  # a paid request is in flight and is waited for
        self.suspect = visit.deaths > 0
        self.stop = asyncio.Event()
        self.stopped_at = 0.0  # when `stop` was set
        self.task: asyncio.Task[None] | None = None


class HeldLeases:
    """All visits this process has leased."""

    def __init__(self, clock: Clock, lease: timedelta) -> None:
        self._clock = clock
        # No request starts in the last moments of a lease: it could end after another worker has begun.
        self._usable = (lease - min(timedelta(seconds=5), lease / 6)).total_seconds()
        self._held: dict[UUID, HeldLease] = {}

    def take(self, visit: Visit, since: float) -> HeldLease:
        lease = self._held[visit.lease] = HeldLease(visit, since + self._usable)
        return lease

    def drop(self, lease: HeldLease) -> None:
        self._held.pop(lease.visit.lease, None)

    def renewed(self, tokens: set[UUID], since: float) -> None:
        for token, lease in self._held.items():
            if token in tokens:
                lease.deadline = since + self._usable

    def lose(self, token: UUID) -> None:
        """End the crawl of a visit that another worker has taken over, at once and without writing anything."""
        lease = self._held.get(token)
        if lease:
            lease.lost = True
            self._stop(lease)
            if lease.task:
                lease.task.cancel()

    def trust(self, token: UUID) -> None:
        """Note that a page of this visit was settled, so the visit does not kill its worker."""
        lease = self._held.get(token)
        if lease:
            lease.suspect = False

    def stop(self, jobs: Iterable[UUID] | None = None) -> None:
        """Stop the crawls of these jobs, or all."""
        wanted = None if jobs is None else set(jobs)
        for lease in self._held.values():
            if wanted is None or lease.visit.job_id in wanted:
                self._stop(lease)

    def _stop(self, lease: HeldLease) -> None:
        if not lease.stop.is_set():
            lease.stopped_at = self._clock.monotonic()
            lease.stop.set()

    def cut_off(self, grace: float) -> None:
        """Cancel crawls that were asked to stop over `grace` seconds ago and are still waiting for a response.

        A crawl with a paid request in flight, or with a page that has arrived, is left alone.
        """
        late = self._clock.monotonic() - grace
        for lease in self._held.values():
            if lease.stop.is_set() and lease.stopped_at <= late and lease.task and not (lease.paying or lease.answered):
                lease.task.cancel()

    def jobs(self) -> set[UUID]:
        return {lease.visit.job_id for lease in self._held.values()}

    def tokens(self) -> tuple[UUID, ...]:
        """Return the tokens; safe to call from another thread, since it is one step of the interpreter."""
        return tuple(self._held)

    def suspects(self) -> int:
        return sum(lease.suspect for lease in self._held.values())


class Renewer:
    """Renews all leases of the process with one statement, as long as the event loop runs."""

    def __init__(
        self,
        open_database: Callable[[], SqliteDatabase | PostgresDatabase],
        leases: HeldLeases,
        worker: str,
        lease: timedelta,
        clock: Clock,
    ) -> None:
        self._open = open_database
        self._leases = leases
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
        """Note that the event loop runs."""
        self._ticked = self._clock.monotonic()

    async def stop(self) -> None:
        """Stop renewing and wait for the thread."""
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
            tokens = await database.write(visits.renew, self._worker, self._leases.tokens(), self._lease)
        except Exception as error:  # noqa: BLE001 - the next try may work, and without one all leases end
            log.warning("leases.not_renewed", why=str(error))
            return
        if not self._over.is_set():
            self._loop.call_soon_threadsafe(self._leases.renewed, tokens, since)
