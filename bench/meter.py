"""What single functions cost inside a program that runs: the CPU of their own threads while they are at work.

Each is called as before, between two looks at the thread's clock. What such a look adds to what it measures is found
out with a function that does nothing, and taken off. What a function calls is part of it; where two of them are inside
each other, only the outer one counts.
"""

import inspect
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from time import thread_time_ns
from typing import Any
from unittest.mock import patch

_CALLS = 50_000  # to find out what a look costs

Part = tuple[Any, str]
"""A module or a class, and the name of what is measured in it."""


class Meter:
    """Sums up, over all threads."""

    def __init__(self) -> None:
        self.calls = 0
        self.taken = 0  # nanoseconds, the looks included
        self._lock = threading.Lock()
        self._inside = threading.local()

    def cost(self, look: float) -> float:
        """Nanoseconds without the looks, of which each has added `look` to what it measured."""
        return self.taken - self.calls * look

    def measured(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def awaited(*args: Any, **named: Any) -> Any:
                return await _Stepped(self, function(*args, **named))

            return awaited

        @wraps(function)
        def called(*args: Any, **named: Any) -> Any:
            return self.timed(lambda: function(*args, **named))

        return called

    def timed(self, act: Callable[[], Any]) -> Any:
        if getattr(self._inside, "a_part", False):
            return act()
        self._inside.a_part = True
        began = thread_time_ns()
        try:
            return act()
        finally:
            took = thread_time_ns() - began
            self._inside.a_part = False
            with self._lock:
                self.calls += 1
                self.taken += took


class _Stepped:
    """A coroutine that is measured from one wait to the next: what others do meanwhile is not its doing."""

    def __init__(self, meter: Meter, inner: Any) -> None:
        self._meter = meter
        self._inner = inner

    def __await__(self) -> Generator[Any, Any, Any]:
        act: Callable[[], Any] = lambda: self._inner.send(None)  # noqa: E731
        while True:
            try:
                waits_for = self._meter.timed(act)
            except StopIteration as over:
                return over.value
            try:
                sent = yield waits_for
            except BaseException as error:  # noqa: BLE001 - handed on to whom it is for
                act = _throwing(self._inner, error)
            else:
                act = _sending(self._inner, sent)


def _throwing(inner: Any, error: BaseException) -> Callable[[], Any]:
    return lambda: inner.throw(error)


def _sending(inner: Any, sent: Any) -> Callable[[], Any]:
    return lambda: inner.send(sent)


@contextmanager
def metered(parts: tuple[Part, ...]) -> Iterator[Meter]:
    """These parts under a meter until the block is left."""
    meter = Meter()
    with ExitStack() as stack:
        for owner, name in parts:
            found = inspect.getattr_static(owner, name)
            if isinstance(found, classmethod):
                stack.enter_context(patch.object(owner, name, classmethod(meter.measured(found.__func__))))
            else:
                stack.enter_context(patch.object(owner, name, meter.measured(found)))
        yield meter


def cost_of_a_look() -> float:
    """Nanoseconds that a look adds to what it measures, on this machine at this moment."""
    meter = Meter()
    nothing = meter.measured(_nothing)
    for _ in range(_CALLS):
        nothing(None, None)
    return meter.taken / meter.calls


def _nothing(*_: Any) -> None:
    """Called like the others."""
