"""The Bus of one process: memory, one event loop. Other processes of a home look at the rows instead."""

import asyncio
from collections import deque
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

import orjson

from gossamer.bus.seam import Message


class LocalSubscription:
    """Unread messages, the oldest dropped when there are too many."""

    def __init__(self, unread: int) -> None:
        self._unread: deque[bytes] = deque(maxlen=unread)
        self._changed = asyncio.Event()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        while not self._unread:
            if self._closed:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        message: dict[str, Any] = orjson.loads(self._unread.popleft())
        return message

    async def aclose(self) -> None:
        self.end()

    def hear(self, message: bytes) -> None:
        if not self._closed:
            self._unread.append(message)
            self._changed.set()

    def end(self) -> None:
        """No more messages; those already here can still be read."""
        self._closed = True
        self._changed.set()


class LocalBus:
    """Topics and who listens. A reader that was dropped without closing is forgotten with its last reference."""

    def __init__(self, *, unread: int = 1_000) -> None:
        self._unread = unread
        self._readers: dict[str, WeakSet[LocalSubscription]] = {}
        self._closed = False

    async def publish(self, topic: str, message: Message) -> None:
        # Encoded even if nobody listens: a message that is not JSON shall fail here, not first on the cluster.
        encoded = orjson.dumps(dict(message))
        readers = self._readers.get(topic)
        if not readers:
            self._readers.pop(topic, None)
            return
        for reader in list(readers):
            reader.hear(encoded)

    def subscribe(self, topic: str) -> LocalSubscription:
        reader = LocalSubscription(self._unread)
        if self._closed:
            reader.end()
        else:
            self._readers.setdefault(topic, WeakSet()).add(reader)
        return reader

    async def close(self) -> None:
        self._closed = True
        for readers in self._readers.values():
            for reader in list(readers):
                reader.end()
        self._readers.clear()
