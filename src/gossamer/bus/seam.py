"""Beside the path: news for whoever watches (progress, states). The rows are the truth, so nothing depends on it."""

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from gossamer.model.record import Value

Message = Mapping[str, Value]


class Subscription(Protocol):
    """The messages of one topic, for one reader. Ends when it or its Bus is closed.

    Use it as `async with bus.subscribe(topic) as news: async for message in news: ...`. What is published after
    entering is heard; without entering, what is published after the first message was asked for.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> Message: ...

    async def aclose(self) -> None: ...


class Bus(Protocol):
    """Best effort: a message may be lost, and is lost if nobody listens. It is never repeated on purpose."""

    async def publish(self, topic: str, message: Message) -> None:
        """Tell everybody who is subscribed to the topic now. Never waits for readers, never fails because of them.

        A message is JSON: text keys, plain values. Every reader gets its own copy. Messages of one publisher arrive in
        order.
        """
        ...

    def subscribe(self, topic: str) -> Subscription:
        """Listen to a topic. A reader that is too slow loses the oldest messages it has not read."""
        ...

    async def close(self) -> None:
        """End every subscription. May repeat; publishing afterwards does nothing."""
        ...
