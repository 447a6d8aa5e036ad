"""The dispatcher of an embedded runner: a queue in one event loop."""

from gossamer.dispatch.inbox import Inbox
from gossamer.dispatch.seam import Nudge


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
        """Whoever receives here dies with us."""

    async def close(self) -> None:
        self._inbox.close()
