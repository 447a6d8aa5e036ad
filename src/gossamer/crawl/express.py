"""Express visits, for which a caller waits: leased at their job's creation, and passed directly to a process.

A server and each of its worker processes share a connection with these messages:

    server     VISIT TOKEN SINCE    this visit is leased for you since then: crawl it
    process    room N               N such visits could be crawled here now
    process    over TOKEN           the visit's outcome is in the rows

Nothing depends on the connection. If it breaks, its visits are ready again like any other, and the
caller reads the rows.
"""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterable
from datetime import timedelta
from typing import Any, cast
from uuid import UUID, uuid4

from gossamer.clock import Clock
from gossamer.crawl.crawl_setup import Claimed, load_held
from gossamer.db.database import Database
from gossamer.errors import StorageAway
from gossamer.logging import get_logger
from gossamer.model.url import domain_of, shard_of
from gossamer.model.worker import ExpressSlot
from gossamer.store import reclaim

log = get_logger(__name__)

_TOLD_EVERY = 1.0  # seconds
_LATE = 5.0  # seconds after the end of a walk when nothing is heard of it any more: whoever waits may look at the rows


class _Line(asyncio.Protocol):
    """Words in lines."""

    def __init__(self, hear: Callable[[list[str]], None], lost: Callable[[], None]) -> None:
        self._hear = hear
        self._lost = lost
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._hear(line.decode("ascii").split())

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lost()

    def say(self, *words: object) -> bool:
        if self._transport is None or self._transport.is_closing():
            return False
        self._transport.write(" ".join(map(str, words)).encode() + b"\n")
        return True

    def close(self) -> None:
        if self._transport:
            self._transport.close()


class _Walker:
    """One working process, as the server sees it."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.room = 0
        self.seats: dict[UUID, asyncio.Future[None]] = {}  # by token
        self.visits: dict[UUID, UUID] = {}  # handed over, and their tokens
        self.line = _Line(self._hear, self._lost)
        self.lost: Callable[[dict[UUID, UUID]], None] = lambda _: None

    def _hear(self, words: list[str]) -> None:
        match words:
            case ["room", number]:
                self.room = int(number)
            case ["over", token]:
                self.leave(UUID(token))

    def leave(self, token: UUID) -> None:
        express_slot = self.seats.pop(token, None)
        self.visits = {visit: kept for visit, kept in self.visits.items() if kept != token}
        if express_slot and not express_slot.done():
            express_slot.set_result(None)

    def _lost(self) -> None:
        self.room = 0
        stranded = dict(self.visits)
        for token in list(self.seats):
            self.leave(token)
        if stranded:
            self.lost(stranded)


class Express:
    """Of a server that works its home itself. Where it does not there is never a seat."""

    def __init__(self, database: Database, clock: Clock, lease: timedelta) -> None:
        self._database = database
        self._clock = clock
        self._lease = lease
        self._walkers: dict[int, _Walker] = {}
        self._of = 1
        self._beside: set[asyncio.Task[None]] = set()

    def connect(self, worker: str, number: int, of: int, line: socket.socket) -> None:
        """A working process has been started: here is our end of its line."""
        walker = _Walker(worker)
        walker.lost = lambda stranded: self._begin(self._let_go(stranded))
        self._walkers[number] = walker
        self._of = of
        self._begin(self._open(walker, line))

    async def _open(self, walker: _Walker, line: socket.socket) -> None:
        await asyncio.get_running_loop().create_connection(lambda: walker.line, sock=line)

    def express_slot(self, host: str) -> ExpressSlot | None:
        """A place for a visit to this host in the process that walks it, if one is free."""
        walker = self._walkers.get(shard_of(domain_of(host)) % self._of)
        if walker is None or walker.room <= len(walker.seats):
            return None
        express_slot = ExpressSlot(walker.worker, uuid4(), self._lease, self._clock.monotonic())
        walker.seats[express_slot.token] = asyncio.get_running_loop().create_future()
        return express_slot

    def leave(self, express_slot: ExpressSlot) -> None:
        """Nothing has come of it."""
        for walker in self._walkers.values():
            if walker.worker == express_slot.worker:
                walker.leave(express_slot.token)

    def hand_over(self, express_slot: ExpressSlot, visit: UUID) -> "asyncio.Future[None]":
        """Hand a visit that was leased for the seat to its worker process.

        The returned future is done when the process reports the visit over, or is gone.
        """
        for walker in self._walkers.values():
            over = walker.seats.get(express_slot.token)
            if over and walker.line.say(visit.hex, express_slot.token.hex, express_slot.since):
                walker.visits[visit] = express_slot.token
                return over
        self.leave(express_slot)
        self._begin(self._let_go({visit: express_slot.token}))
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        gone.set_result(None)
        return gone

    async def _let_go(self, stranded: dict[UUID, UUID]) -> None:
        await self._database.write(reclaim.let_go, stranded, "its worker is gone")

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)


class Guests:
    """In a working process: the visits it was handed by its server."""

    def __init__(
        self,
        line: socket.socket,
        database: Database,
        begin: Callable[[Claimed, float], "asyncio.Task[None]"],
        room: Callable[[int], int],
    ) -> None:
        """`room` returns how many visits could be walked here, given how many are being walked already."""
        self._socket = line
        self._database = database
        self._walk = begin
        self._room = room
        self._line = _Line(self._hear, lambda: None)
        self._walking: set[UUID] = set()
        self._beside: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(self) -> None:
        """Run until cancelled. While the connection stays open, the visits being crawled are not taken away."""
        await asyncio.get_running_loop().create_connection(lambda: self._line, sock=self._socket)
        try:
            while True:
                self._line.say("room", max(0, self._room(len(self._walking))))
                await asyncio.sleep(_TOLD_EVERY)
        finally:
            self._closed = True
            self._line.say("room", 0)

    def close(self) -> None:
        """Close the line. Results are in the rows; visits handed over but never begun go to other workers."""
        self._line.close()

    def _hear(self, words: list[str]) -> None:
        if self._closed:
            return
        visit, token, since = words
        task = asyncio.create_task(self._welcome(UUID(visit), UUID(token), float(since)))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _welcome(self, visit: UUID, token: UUID, since: float) -> None:
        try:
            claimed = await self._database.read_inline(load_held, visit, token)
        except StorageAway as error:
            # The process will end of it too, and its leases with it.
            log.warning("database.away", why=str(error))
            return
        if self._closed:
            return
        if claimed is None:
            self._line.say("over", token.hex)
            return
        self._walking.add(token)
        walk = self._walk(claimed, since)
        # One that breaks is put back beside the settler, which then never speaks of it.
        walk.add_done_callback(lambda _: asyncio.get_running_loop().call_later(_LATE, self.over, [token]))

    def over(self, leases: Iterable[UUID]) -> None:
        """Report that the outcomes of these visits are in the rows."""
        for token in self._walking.intersection(leases):
            self._walking.discard(token)
            self._line.say("over", token.hex)
