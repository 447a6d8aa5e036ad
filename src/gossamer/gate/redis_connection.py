"""One connection to Redis, on which all calls of a turn of the event loop travel together."""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from hiredis import pack_command
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
)
from redis.exceptions import TimeoutError as NoAnswer

from gossamer.gate.scripts import Script

TROUBLES = (RedisError, OSError)  # what a server that is away, or not fit to be used, looks like from here

_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (AuthenticationError, "it refuses the user or the password"),
    (BusyLoadingError, "it is still loading its data"),
    (ReadOnlyError, "it is a replica, where nothing can be written"),
    (NoAnswer, "no answer in time"),
    (TimeoutError, "no answer in time"),
)
_LONGEST_REASON = 200
_END = 0.5  # seconds

Command = tuple[str | bytes | int, ...]


def make_connection(url: str, connect_timeout: float) -> AbstractConnection:
    """Return an unopened connection that never retries automatically."""
    pool = ConnectionPool.from_url(
        url,
        protocol=2,
        socket_connect_timeout=connect_timeout,
        socket_timeout=None,  # the Gate sees to that, and knows a server that stands still from a loop that did
        **({} if url.startswith("unix:") else {"socket_keepalive": True}),
        retry=Retry(NoBackoff(), 0),
    )
    made: AbstractConnection = pool.make_connection()  # type: ignore[no-untyped-call]
    return made


def reason(error: BaseException) -> str:
    """Return the reason why the server cannot be used, in a few words."""
    for kind, words in _WORDS:
        if isinstance(error, kind):
            return words
    cause = error if isinstance(error, OSError) else error.__context__
    if isinstance(cause, OSError) and cause.errno:
        return os.strerror(cause.errno)
    said = next(iter(str(error).splitlines()), "")[:_LONGEST_REASON]
    return said.strip(" .") or type(error).__name__


def said_in(info: bytes, name: str) -> str:
    """Return one field of the server's INFO."""
    for line in info.decode().splitlines():
        label, _, value = line.partition(":")
        if label == name:
            return value
    raise RedisError(f"it does not tell its {name}")


class Wire:
    """A connection that sends all waiting commands at once, then reads as many answers."""

    def __init__(self, connection: AbstractConnection) -> None:
        self._connection = connection
        self.server = ""
        """The id of the server's run; another one after a restart."""
        self._waiting: list[tuple[Command, asyncio.Future[Any]]] = []
        self._sent: list[tuple[Command, asyncio.Future[Any]]] = []
        self._wake = asyncio.Event()
        self._failure: BaseException | None = None
        self._watched: object = None
        self._looks = 0

    def call(self, *command: str | bytes | int) -> "asyncio.Future[Any]":
        """Send a command and return the server's answer. Fails with one of `TROUBLES` if the connection does."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._failure is not None:
            answer.set_exception(self._failure)
        else:
            self._waiting.append((command, answer))
            self._wake.set()
        return answer

    def load(self, script: Script) -> None:
        """Reload a script that was flushed, before any further call."""
        self.call("SCRIPT", "LOAD", script.text).add_done_callback(_heard)

    def run_script(self, script: Script, keys: Sequence[str], *arguments: str | int) -> "asyncio.Future[Any]":
        return self.call("EVALSHA", script.sha, len(keys), *keys, self.server, *arguments)

    def post_script(self, script: Script, keys: Sequence[str], *arguments: str | int) -> None:
        """Like `run_script`, for callers that do not wait for the answer."""
        self.run_script(script, keys, *arguments).add_done_callback(_heard)

    async def run(self) -> None:
        """Serve until the connection fails, or the server refuses anything but an unknown script."""
        failure: BaseException = ConnectionError("the connection was closed")
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._exchange()
        except TROUBLES as error:
            failure = error
            raise
        finally:
            self._failure = failure
            for _, answer in (*self._sent, *self._waiting):
                if not answer.done():
                    answer.set_exception(failure)

    async def _exchange(self) -> None:
        self._sent, self._waiting = self._waiting, []
        packed = b"".join(
            [
                pack_command(command)  # type: ignore[arg-type]  # its stub knows only single words
                for command, _ in self._sent
            ]
        )
        await self._connection.send_packed_command(packed, check_health=False)
        for _, answer in self._sent:
            try:
                said = await self._connection.read_response()
            except NoScriptError as error:
                if not answer.done():
                    answer.set_exception(error)
            else:
                if not answer.done():  # the caller may be gone
                    answer.set_result(said)
        self._sent = []

    def stands_still(self, looks: int) -> bool:
        """Return True if the last `looks` checks found the same requests unanswered.

        Checks are counted instead of seconds, because no answer could be read while the event loop was
        blocked.
        """
        self._looks = self._looks + 1 if self._sent and self._sent is self._watched else 0
        self._watched = self._sent
        return self._looks >= looks


async def end(task: "asyncio.Task[None]") -> None:
    """Cancel until it is over: a client library may miss that it was cancelled once."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_END)


def _heard(answer: "asyncio.Future[Any]") -> None:
    """Ignore the error of a call without a waiting caller: the next call meets it too."""
    if not answer.cancelled():
        answer.exception()
