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
_LATE = 5.0  # seconds after the end of a crawl; the caller is then told to read the rows, whatever happened


class _Connection(asyncio.Protocol):
    """A connection that carries words in lines."""

    def __init__(self, receive: Callable[[list[str]], None], lost: Callable[[], None]) -> None:
        self._receive = receive
        self._lost = lost
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for connection in lines:
            self._receive(connection.decode("ascii").split())

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lost()

    def send(self, *words: object) -> bool:
        if self._transport is None or self._transport.is_closing():
            return False
        self._transport.write(" ".join(map(str, words)).encode() + b"\n")
        return True

    def close(self) -> None:
        if self._transport:
            self._transport.close()


class _WorkerLink:
    """A worker process as the server sees it."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.room = 0
        self.slots: dict[UUID, asyncio.Future[None]] = {}  # by token
        self.visits: dict[UUID, UUID] = {}  # visits handed over, and their tokens
        self.connection = _Connection(self._receive, self._lost)
        self.lost: Callable[[dict[UUID, UUID]], None] = lambda _: None

    def _receive(self, words: list[str]) -> None:
        match words:
            case ["room", number]:
                self.room = int(number)
            case ["over", token]:
                self.leave(UUID(token))

    def leave(self, token: UUID) -> None:
        express_slot = self.slots.pop(token, None)
        self.visits = {visit: kept for visit, kept in self.visits.items() if kept != token}
        if express_slot and not express_slot.done():
            express_slot.set_result(None)

    def _lost(self) -> None:
        self.room = 0
        lost_visits = dict(self.visits)
        for token in list(self.slots):
            self.leave(token)
        if lost_visits:
            self.lost(lost_visits)


class Express:
    """Express visits in a server that runs the workers of its data folder; other servers never have a slot."""

    def __init__(self, database: Database, clock: Clock, lease: timedelta) -> None:
        self._database = database
        self._clock = clock
        self._lease = lease
        self._workers: dict[int, _WorkerLink] = {}
        self._of = 1
        self._tasks: set[asyncio.Task[None]] = set()

    def connect(self, worker: str, number: int, of: int, connection: socket.socket) -> None:
        """Connect to a worker process that was just started, through our end of its socket pair."""
        link = _WorkerLink(worker)
        link.lost = lambda lost_visits: self._begin(self._let_go(lost_visits))
        self._workers[number] = link
        self._of = of
        self._begin(self._open(link, connection))

    async def _open(self, link: _WorkerLink, connection: socket.socket) -> None:
        await asyncio.get_running_loop().create_connection(lambda: link.connection, sock=connection)

    def express_slot(self, host: str) -> ExpressSlot | None:
        """Reserve a slot for a visit to this host in the process responsible for it; None if none is free."""
        link = self._workers.get(shard_of(domain_of(host)) % self._of)
        if link is None or link.room <= len(link.slots):
            return None
        express_slot = ExpressSlot(link.worker, uuid4(), self._lease, self._clock.monotonic())
        link.slots[express_slot.token] = asyncio.get_running_loop().create_future()
        return express_slot

    def leave(self, express_slot: ExpressSlot) -> None:
        """Release a slot that was not used."""
        for link in self._workers.values():
            if link.worker == express_slot.worker:
                link.leave(express_slot.token)

    def hand_over(self, express_slot: ExpressSlot, visit: UUID) -> "asyncio.Future[None]":
        """Hand a visit that was leased for the slot to its worker process.

        The returned future is done when the process reports the visit over, or is gone.
        """
        for link in self._workers.values():
            over = link.slots.get(express_slot.token)
            if over and link.connection.send(visit.hex, express_slot.token.hex, express_slot.since):
                link.visits[visit] = express_slot.token
                return over
        self.leave(express_slot)
        self._begin(self._let_go({visit: express_slot.token}))
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        gone.set_result(None)
        return gone

    async def _let_go(self, lost_visits: dict[UUID, UUID]) -> None:
        await self._database.write(reclaim.let_go, lost_visits, "its worker is gone")

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class ExpressVisits:
    """Express visits in a worker process: those that its server handed over."""

    def __init__(
        self,
        connection: socket.socket,
        database: Database,
        begin: Callable[[Claimed, float], "asyncio.Task[None]"],
        room: Callable[[int], int],
    ) -> None:
        """`room` returns how many express visits fit here in total, given how many are being crawled."""
        self._socket = connection
        self._database = database
        self._start = begin
        self._room = room
        self._connection = _Connection(self._receive, lambda: None)
        self._crawling: set[UUID] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(self) -> None:
        """Run until cancelled. While the connection stays open, the visits being crawled are not taken away."""
        await asyncio.get_running_loop().create_connection(lambda: self._connection, sock=self._socket)
        try:
            while True:
                self._connection.send("room", max(0, self._room(len(self._crawling))))
                await asyncio.sleep(_TOLD_EVERY)
        finally:
            self._closed = True
            self._connection.send("room", 0)

    def close(self) -> None:
        """Close the connection. Results are in the rows; visits handed over but never begun go to other workers."""
        self._connection.close()

    def _receive(self, words: list[str]) -> None:
        if self._closed:
            return
        visit, token, since = words
        task = asyncio.create_task(self._begin(UUID(visit), UUID(token), float(since)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _begin(self, visit: UUID, token: UUID, since: float) -> None:
        try:
            claimed = await self._database.read_inline(load_held, visit, token)
        except StorageAway as error:
            # This process will end for the same reason, and its leases will expire.
            log.warning("database.away", why=str(error))
            return
        if self._closed:
            return
        if claimed is None:
            self._connection.send("over", token.hex)
            return
        self._crawling.add(token)
        crawl = self._start(claimed, since)
        # A crawl that fails is put back without the settler, which then never reports it.
        crawl.add_done_callback(lambda _: asyncio.get_running_loop().call_later(_LATE, self.over, [token]))

    def over(self, leases: Iterable[UUID]) -> None:
        """Report that the outcomes of these visits are in the rows."""
        for token in self._crawling.intersection(leases):
            self._crawling.discard(token)
            self._connection.send("over", token.hex)
