"""Slots for background work: a limited number per process, more urgent kinds first.

Each kind also has a limit over all processes that share the database: a slot there is a row, which is freed
automatically if its holder dies.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from heapq import heappop, heappush
from itertools import count
from uuid import uuid4

from gossamer.db.database import Database
from gossamer.errors import StorageAway
from gossamer.model.worker import DESK_RULES, DeskKind, DeskRule
from gossamer.store import named_slots
from gossamer.store.queue_status import background_slot

SLOTS = 5
"""Default number of slots of a process."""

_KEPT = timedelta(seconds=30)  # without a renewal, a slot in the database is free again
_RENEW = 10.0  # seconds
_LEAVE = 5.0  # seconds: a shutdown must not wait longer for the database
_AGAIN = 1.0  # seconds until the next try for a kind whose slots are all taken


class BackgroundSlots:
    """The slots of one process. `holder` begins the names of its slots in the database."""

    def __init__(
        self, database: Database, holder: str, rules: Mapping[DeskKind, DeskRule] = DESK_RULES, size: int = SLOTS
    ) -> None:
        self.size = size
        self._database = database
        self._holder = holder
        self._rules = rules
        self._free = size
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []  # by priority, then by order
        self._order = count()
        self._left = asyncio.Event()

    @asynccontextmanager
    async def hold(self, kind: DeskKind) -> AsyncIterator[None]:
        """Wait for a slot in this process and one of the kind in the database; hold both until the end of the block."""
        holder = f"{self._holder}/{uuid4().hex[:12]}"
        await self._begin(kind, holder)
        renewing = asyncio.create_task(self._renew(kind, holder))
        try:
            yield
        finally:
            renewing.cancel()
            self._free_local()
            await self._leave(kind, holder)

    async def _begin(self, kind: DeskKind, holder: str) -> None:
        while True:
            await self._take_local(kind)
            try:
                if await self._enter(kind, holder):
                    return
            except BaseException:
                self._free_local()
                await self._leave(kind, holder)  # the row may have been written without an answer
                raise
            # Other kinds do not wait behind one that is full elsewhere.
            self._free_local()
            with suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN):
                    await self._left.wait()

    async def _enter(self, kind: DeskKind, holder: str) -> bool:
        return await self._database.write(
            named_slots.enter, background_slot(kind), holder, self._rules[kind].limit, _KEPT
        )

    async def _renew(self, kind: DeskKind, holder: str) -> None:
        with suppress(StorageAway):  # the holder of the slot gets this error too
            while True:
                await asyncio.sleep(_RENEW)
                await self._enter(kind, holder)

    async def _leave(self, kind: DeskKind, holder: str) -> None:
        with suppress(StorageAway, TimeoutError):  # then the row expires
            async with asyncio.timeout(_LEAVE):
                await asyncio.shield(self._database.write(named_slots.leave, background_slot(kind), holder))
        # Wakes those that wait for this kind here.
        self._left.set()
        self._left.clear()

    async def _take_local(self, kind: DeskKind) -> None:
        if self._free:
            self._free -= 1
            return
        hold: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (self._rules[kind].priority, next(self._order), hold))
        try:
            await hold
        except asyncio.CancelledError:
            if hold.done() and not hold.cancelled():
                self._free_local()
            raise

    def _free_local(self) -> None:
        while self._waiting:
            hold = heappop(self._waiting)[2]
            if not hold.done():
                hold.set_result(None)
                return
        self._free += 1
