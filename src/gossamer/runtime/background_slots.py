"""Slots for background work: a limited number per process, more urgent kinds first.

Each kind also has a limit over all processes that share the database. A slot is a place in the rows,
which is freed automatically if its holder dies.
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
from gossamer.store import slots
from gossamer.store.queue import background_slot

SEATS = 5
"""Of a home, or of an instance that was not told otherwise."""

_KEPT = timedelta(seconds=30)  # without a sign of life a place is free again
_RENEW = 10.0  # seconds
_LEAVE = 5.0  # seconds: somebody may wait for us to end, however long we would wait for a database otherwise
_AGAIN = 1.0  # seconds until a kind that is full everywhere is asked for again


class BackgroundSlots:
    """Of one process. `holder` is what the names of its places begin with."""

    def __init__(
        self, database: Database, holder: str, rules: Mapping[DeskKind, DeskRule] = DESK_RULES, seats: int = SEATS
    ) -> None:
        self.seats = seats
        self._database = database
        self._holder = holder
        self._rules = rules
        self._free = seats
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []  # by priority, then as they came
        self._order = count()
        self._left = asyncio.Event()

    @asynccontextmanager
    async def turn(self, kind: DeskKind) -> AsyncIterator[None]:
        """Wait for a seat here and for a place among all of the kind, and have them until the end of the block."""
        holder = f"{self._holder}/{uuid4().hex[:12]}"
        await self._begin(kind, holder)
        renewing = asyncio.create_task(self._renew(kind, holder))
        try:
            yield
        finally:
            renewing.cancel()
            self._stand_up()
            await self._leave(kind, holder)

    async def _begin(self, kind: DeskKind, holder: str) -> None:
        while True:
            await self._sit_down(kind)
            try:
                if await self._enter(kind, holder):
                    return
            except BaseException:
                self._stand_up()
                await self._leave(kind, holder)  # it may have been written, and we were not told
                raise
            # Nobody here waits behind a kind that is full elsewhere.
            self._stand_up()
            with suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN):
                    await self._left.wait()

    async def _enter(self, kind: DeskKind, holder: str) -> bool:
        return await self._database.write(slots.enter, background_slot(kind), holder, self._rules[kind].limit, _KEPT)

    async def _renew(self, kind: DeskKind, holder: str) -> None:
        with suppress(StorageAway):  # whoever has the turn is told so too
            while True:
                await asyncio.sleep(_RENEW)
                await self._enter(kind, holder)

    async def _leave(self, kind: DeskKind, holder: str) -> None:
        with suppress(StorageAway, TimeoutError):  # then it drops out by itself
            async with asyncio.timeout(_LEAVE):
                await asyncio.shield(self._database.write(slots.leave, background_slot(kind), holder))
        # Whoever waits for it here need not ask again and again.
        self._left.set()
        self._left.clear()

    async def _sit_down(self, kind: DeskKind) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (self._rules[kind].priority, next(self._order), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._stand_up()
            raise

    def _stand_up(self) -> None:
        while self._waiting:
            turn = heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
