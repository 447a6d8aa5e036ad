"""Work of a request that would keep the event loop from everybody else: it is done beside it, and in turns.

Long lists are checked in a thread, which lets the loop go on every few milliseconds. One account never has more than
one such piece of work at a time, so that the others get theirs between its pieces.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

_LIGHT = 300  # entries of a list that are checked at once: about 15 ms


class Turns:
    """So many at a time, and of each account one."""

    def __init__(self, most: int) -> None:
        self._room = asyncio.Semaphore(most)
        self._accounts: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, account: str) -> AsyncIterator[None]:
        mine = self._accounts.setdefault(account, asyncio.Lock())
        async with mine, self._room:
            yield


class Heavy:
    """Checks lists: short ones at once, long ones beside the loop."""

    def __init__(self) -> None:
        self._turns = Turns(1)

    async def run(self, account: str, entries: int, work: Callable[[], T]) -> T:
        if entries <= _LIGHT:
            return work()
        async with self._turns.of(account):
            return await asyncio.to_thread(work)
