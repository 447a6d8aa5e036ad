"""The Bus of several processes or machines: Redis pub/sub. What is said while it is away is lost; nobody waits."""

import asyncio
import random
from collections import deque
from contextlib import suppress
from typing import Any, Self
from weakref import WeakSet

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from gossamer.bus.local import LocalSubscription
from gossamer.bus.seam import Message
from gossamer.telemetry import get_logger

_TROUBLES = (RedisError, OSError)
_CONNECT = 0.5  # seconds
_ANSWER = 1.0  # seconds
_AGAIN = 0.5  # seconds, about, until a server that is away is tried again
_SILENCE = 5.0  # seconds without a word from the server until it is asked whether it is there
_SPEAK, _LISTEN = "speak", "listen"

log = get_logger(__name__)


class RedisSubscription(LocalSubscription):
    """Joins its topic when it is entered, or when the first message is asked for."""

    def __init__(self, bus: "RedisBus", topic: str, unread: int) -> None:
        super().__init__(unread)
        self._bus = bus
        self._topic = topic
        self._joined = False

    async def __aenter__(self) -> Self:
        await self._join()
        return self

    async def __anext__(self) -> Message:
        await self._join()
        return await super().__anext__()

    async def _join(self) -> None:
        if not self._joined and not self._closed:
            self._joined = True
            await self._bus.join(self._topic, self)

    def end(self) -> None:
        super().end()
        self._bus.leave(self._topic, self)


class RedisBus:
    """For one event loop. Whoever has the same server and `prefix` hears the same news."""

    def __init__(self, url: str, *, prefix: str = "gossamer", unread: int = 1_000) -> None:
        self._client = Redis.from_url(
            url,
            protocol=2,
            socket_connect_timeout=_CONNECT,
            socket_timeout=_ANSWER,
            retry=Retry(NoBackoff(), 0),
        )
        self._prefix = f"{prefix}:bus:"
        self._unread = unread
        self._unsaid: deque[tuple[str, bytes]] = deque(maxlen=unread)
        self._something = asyncio.Event()  # to be said
        self._readers: dict[str, WeakSet[RedisSubscription]] = {}
        self._confirmed: dict[str, asyncio.Event] = {}  # by channel: the server says that we hear it
        self._pubsub: PubSub | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._failing: set[str] = set()  # which of our two ways to Redis
        self._closed = False

    async def publish(self, topic: str, message: Message) -> None:
        encoded = orjson.dumps(dict(message))
        if self._closed:
            return
        self._unsaid.append((self._prefix + topic, encoded))
        self._something.set()
        if _SPEAK not in self._tasks:
            self._tasks[_SPEAK] = asyncio.create_task(self._speak(), name="bus, speaking")

    def subscribe(self, topic: str) -> RedisSubscription:
        reader = RedisSubscription(self, topic, self._unread)
        if self._closed:
            reader.end()
        return reader

    async def close(self) -> None:
        self._closed = True
        for reader in [reader for readers in self._readers.values() for reader in readers]:
            reader.end()
        self._readers.clear()
        pending, self._tasks = set(self._tasks.values()), {}
        while pending:
            for task in pending:
                task.cancel()
            # Before Python 3.12 a task in wait_for may not hear that it was cancelled: it is told again.
            _, pending = await asyncio.wait(pending, timeout=_AGAIN)
        with suppress(*_TROUBLES):
            await self._client.aclose()

    async def join(self, topic: str, reader: RedisSubscription) -> None:
        """Hear a topic from now on; if Redis is away, from when it is back."""
        channel = self._prefix + topic
        self._readers.setdefault(channel, WeakSet()).add(reader)
        confirmed = self._confirmed.setdefault(channel, asyncio.Event())
        if _LISTEN not in self._tasks:
            self._tasks[_LISTEN] = asyncio.create_task(self._listen(), name="bus, listening")
        elif self._pubsub is not None:
            with suppress(*_TROUBLES):  # whoever listens meets it too
                await self._pubsub.subscribe(channel)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CONNECT + _ANSWER):
                await confirmed.wait()

    def leave(self, topic: str, reader: RedisSubscription) -> None:
        self._readers.get(self._prefix + topic, WeakSet()).discard(reader)

    async def _speak(self) -> None:
        while not self._closed:
            await self._something.wait()
            self._something.clear()
            pipeline = self._client.pipeline(transaction=False)
            for channel, encoded in self._unsaid:
                pipeline.publish(channel, encoded)
            self._unsaid.clear()
            try:
                await pipeline.execute()
            except _TROUBLES as error:
                self._lost(_SPEAK, error)
                await _a_while()
            else:
                self._found(_SPEAK)

    async def _listen(self) -> None:
        while not self._closed:
            pubsub = self._client.pubsub()
            try:
                # One that is always heard: without any there is no connection to hear others on.
                await pubsub.subscribe(self._prefix)
                self._pubsub = pubsub  # who joins from here on asks for it themselves
                if self._readers:
                    await pubsub.subscribe(*self._readers)
                await self._hear(pubsub)
            except _TROUBLES as error:
                self._lost(_LISTEN, error)
            finally:
                self._pubsub = None
                with suppress(*_TROUBLES):
                    await pubsub.aclose()  # type: ignore[no-untyped-call]
            await _a_while()

    async def _hear(self, pubsub: PubSub) -> None:
        """Until the connection fails, or the server has not said a word for too long."""
        asked = False
        while not self._closed:
            message = await pubsub.get_message(timeout=_SILENCE)
            if message is None:
                if asked:
                    raise TimeoutError
                asked = True
                await pubsub.ping()
                continue
            asked = False
            await self._pass_on(pubsub, message)

    async def _pass_on(self, pubsub: PubSub, message: dict[str, Any]) -> None:
        channel = (message["channel"] or b"").decode()
        if message["type"] == "subscribe":
            self._found(_LISTEN)
            if channel in self._confirmed:
                self._confirmed.pop(channel).set()
        elif message["type"] == "message":
            readers = list(self._readers.get(channel, ()))
            for reader in readers:
                reader.hear(message["data"])
            if not readers:
                self._readers.pop(channel, None)
                await pubsub.unsubscribe(channel)

    def _lost(self, way: str, error: Exception) -> None:
        if not self._failing:
            log.warning("bus.away", why=next(iter(str(error).splitlines()), "") or type(error).__name__)
        self._failing.add(way)

    def _found(self, way: str) -> None:
        if self._failing == {way}:
            log.info("bus.back")
        self._failing.discard(way)


async def _a_while() -> None:
    await asyncio.sleep(_AGAIN * random.uniform(0.7, 1.3))
