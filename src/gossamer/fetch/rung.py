"""The interface of every way of fetching: a session that a visit requests its pages with.

A rung without a provider names a function here as its `opener`: called once per process, it opens what the sessions of
all visits share, and gives what makes one session for a seed.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gossamer.model.document import Request, Response

if TYPE_CHECKING:
    from gossamer.fetch.http import HttpRung

Accept = Callable[[int, Mapping[str, str]], bool]
"""Called with the status and the headers, before the body: True if the body is wanted."""

Sink = Callable[[bytes | memoryview], Awaitable[bool]]
"""Takes a good answer's body piece by piece, so that it is never held whole. True: that is enough."""


Before = Callable[[], Awaitable[None]]
"""Awaited right before a request is sent, after all waiting. If it raises, nothing is sent."""


class Fetcher(Protocol):
    """One visit's session on one rung, with its own identity and cookies. Used by one event loop."""

    async def fetch(
        self,
        url: str,
        *,
        timeout: timedelta,
        max_bytes: int,
        accept: Accept | None = None,
        truncate: bool = False,
        sink: Sink | None = None,
        before: Before | None = None,
        request: Request | None = None,
    ) -> Response:
        """Exactly one request, a plain GET unless `request` says otherwise. A redirect comes back as a Response with
        its Location: the caller decides about the hop.

        Raises FetchError when no whole answer arrived in `timeout`, or one of more than `max_bytes` after
        decompression; with `truncate` the first `max_bytes` of it are the answer instead. A body that `accept` refuses
        is left with the server and comes back empty; so does one of status 200 that went into `sink`.
        A way out that can only ask for pages refuses any other `request` with a FetchError, and sends nothing.
        What `before` raises is raised: what a request costs is put aside in it, so that every way out has to await it.
        """
        ...

    async def admit(self, url: str) -> None:
        """Raise FetchError if the URL may not be contacted."""
        ...

    async def close(self) -> None:
        """Give back every connection. Safe to call twice; a fetch afterwards is a programming error."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """Dependencies that a process opens its rungs with."""

    direct: "HttpRung"  # with the guard and the clock of the process
    settings: Mapping[str, Any]  # those that the rung's row names; secrets as plain text


MakeSession: TypeAlias = Callable[[int], Fetcher]
"""A session for one visit; the seed picks its identity."""

RungOpener: TypeAlias = Callable[[Tools], AbstractAsyncContextManager[MakeSession]]
