"""A slot for every call to a provider: a plan allows so many concurrent calls, over all workers.

Slots are held at the Gate, so that they apply to everything that shares it. The slot of a dead holder
is freed once its call could not be running any more. Callers in a process queue, and only the first
of them ask the Gate.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count
from random import random

from gossamer.errors import GossamerError
from gossamer.gate import Places
from gossamer.logging import get_logger

_GRACE = timedelta(seconds=30)  # after its time limit nothing of a call is left
_FIRST_SLEEP, _LONGEST_SLEEP = 0.05, 1.0  # seconds between two looks at the Gate


log = get_logger(__name__)


class NoFreeSlot(Exception):
    """No slot came free in time."""


class CallSlots:
    """The slots of one provider, as one process sees them."""

    def __init__(self, places: Places, place: str, holder: str, limit: int) -> None:
        self._places = places
        self._place = place
        self._holder = holder
        self._numbers = count()
        self._queue: deque[asyncio.Future[None]] = deque()
        self.limit = limit
        self.taken = 0  # here

    def set_limit(self, limit: int) -> None:
        """Change the number of slots; current holders keep theirs."""
        self.limit = max(1, limit)
        self._call_next()

    @asynccontextmanager
    async def one(self, longest: timedelta, patience: timedelta) -> AsyncIterator[None]:
        """Take a slot for a call of at most `longest`. Raises NoFreeSlot when none comes free for `patience`."""
        holder = f"{self._holder}:{next(self._numbers)}"
        try:
            async with asyncio.timeout(patience.total_seconds()):
                await self._wait_turn()
        except TimeoutError:
            raise NoFreeSlot from None
        try:
            await self._enter(holder, longest + _GRACE, patience)
            yield
        finally:
            try:
                # Shielded, also if it is unknown whether the slot was given: one that is kept is missing for minutes.
                await asyncio.shield(self._places.leave(self._place, holder))
            except GossamerError as error:
                # It expires automatically; what was fetched in it must not be lost for that.
                log.warning("provider.seat_kept", place=self._place, error=str(error))
            finally:
                self.taken -= 1
                self._call_next()

    async def _wait_turn(self) -> None:
        if self.taken < self.limit and not self._queue:
            self.taken += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # Granted and cancelled at the same moment: the slot goes to the next caller.
                self.taken -= 1
                self._call_next()
            raise

    def _call_next(self) -> None:
        """Give free slots to the waiting callers, in their order; the slots are taken from then on."""
        while self._queue and self.taken < self.limit:
            turn = self._queue.popleft()
            if not turn.done():
                self.taken += 1
                turn.set_result(None)

    async def _enter(self, holder: str, lasts: timedelta, patience: timedelta) -> None:
        clock = asyncio.get_running_loop().time
        until = clock() + patience.total_seconds()
        sleep = _FIRST_SLEEP
        while not await self._places.enter(self._place, holder, self.limit, lasts):
            if clock() + sleep > until:
                raise NoFreeSlot
            await asyncio.sleep(sleep * (0.75 + random() / 2))
            sleep = min(sleep * 2, _LONGEST_SLEEP)
