"""Run request work that would block the event loop in a thread, one piece at a time per account.

Long lists are checked in a thread, which lets the loop run every few milliseconds. An account never has
more than one such piece of work at a time, so that other accounts get their turn between its pieces.
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
    """Checks lists: short ones immediately, long ones in a thread."""

    def __init__(self) -> None:
        self._turns = Turns(1)

    async def run(self, account: str, entries: int, work: Callable[[], T]) -> T:
        if entries <= _LIGHT:
            return work()
        async with self._turns.of(account):
            return await asyncio.to_thread(work)
