"""The dispatcher of an embedded runner: a queue of nudges in one event loop."""

import asyncio
from itertools import islice

from gossamer.dispatch.seam import Nudge


class Inbox:
    """Nudges in the order they came, each visit at most once: a second nudge adds nothing to the first."""

    def __init__(self, gather: float = 0.0) -> None:
        """`gather` is for how many seconds those that arrive one by one wait to be taken together."""
        self._gather = gather
        self._waiting: dict[Nudge, None] = {}
        self._ripe = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, nudge: Nudge) -> bool:
        return nudge in self._waiting

    def put(self, nudge: Nudge) -> None:
        self._waiting[nudge] = None
        if not self._gather:
            self._ripe.set()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._gather, self._ripen)

    def _ripen(self) -> None:
        self._timer = None
        self._ripe.set()

    async def take(self, most: int) -> list[Nudge]:
        """As `Dispatcher.receive`."""
        while not self.closed and not (self._waiting and self._ripe.is_set()):
            if not self._waiting:
                self._ripe.clear()
            await self._ripe.wait()
        # No await from here on, so being cancelled cannot lose what was taken.
        taken = list(islice(self._waiting, max(most, 1)))
        for nudge in taken:
            del self._waiting[nudge]
        if not self._waiting and not self.closed:
            self._ripe.clear()
        return taken

    def close(self) -> None:
        """Wake all waiting receivers a last time, and discard what was not received."""
        self.closed = True
        self._waiting.clear()
        self._ripe.set()


class LocalDispatcher:
    """Nudges in the order they came, each visit at most once."""

    def __init__(self, *, waiting: int = 100_000) -> None:
        self._most = waiting
        self._inbox = Inbox()

    async def send(self, nudge: Nudge) -> bool:
        # A full queue loses the newest: those before it have waited longer, and the sweep finds what was lost.
        if self._inbox.closed or len(self._inbox) >= self._most:
            return False
        self._inbox.put(nudge)
        return True

    async def receive(self, most: int) -> list[Nudge]:
        return await self._inbox.take(most)

    def done(self, nudge: Nudge) -> None:
        """Nothing to do: a receiver here ends together with the dispatcher."""

    async def close(self) -> None:
        self._inbox.close()
