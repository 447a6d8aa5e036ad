"""The dispatcher of an embedded runner: a queue in one event loop."""

import asyncio
from itertools import islice

from gossamer.dispatch.seam import Nudge


class LocalDispatcher:
    """Nudges in the order they came, each visit at most once: a second nudge adds nothing to the first."""

    def __init__(self, *, waiting: int = 100_000) -> None:
        self._most = waiting
        self._waiting: dict[Nudge, None] = {}
        self._changed = asyncio.Event()
        self._closed = False

    async def send(self, nudge: Nudge) -> bool:
        # A full queue loses the newest: those before it have waited longer, and the sweep finds what was lost.
        if self._closed or len(self._waiting) >= self._most:
            return False
        self._waiting[nudge] = None
        self._changed.set()
        return True

    async def receive(self, most: int) -> list[Nudge]:
        while not self._waiting and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        # No await from here on, so being cancelled cannot lose what was taken.
        taken = list(islice(self._waiting, max(most, 1)))
        for nudge in taken:
            del self._waiting[nudge]
        return taken

    def done(self, nudge: Nudge) -> None:
        """Whoever receives here dies with us."""

    async def close(self) -> None:
        self._closed = True
        self._waiting.clear()
        self._changed.set()
