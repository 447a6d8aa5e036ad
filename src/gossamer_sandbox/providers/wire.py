"""HTTP/1.1 for the emulators: requests with all their headers and bodies, answers that may be late or broken."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

import orjson

LOOPBACK = "127.0.0.1"
_LONGEST_HEAD = 65_536
_LONGEST_BODY = 4_000_000


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the emulator received it.

    Header names are in lower case; of a repeated parameter the last counts.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to send.

    `raw` replaces the whole response with its bytes, after which the connection stays silent.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    raw: bytes = field(default=b"", repr=False)


Handler = Callable[[Request], Awaitable[Answer]]


def json_answer(status: int, value: Any, *headers: tuple[str, str]) -> Answer:
    return Answer(status, (("Content-Type", "application/json"), *headers), orjson.dumps(value))


@asynccontextmanager
async def serve(handle: Handler, port: int = 0) -> AsyncIterator[int]:
    """Answer on a port of this machine until the block is left."""
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(_converse(handle, reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        # A task that is cancelled before its first step never comes to its own end.
        task.add_done_callback(lambda _: writer.transport.abort())

    server = await asyncio.start_server(connected, LOOPBACK, port, limit=_LONGEST_HEAD, backlog=1_024)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        waiting = list(tasks)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await server.wait_closed()


async def _converse(handle: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        while (request := await _read(reader)) is not None:
            answer = await handle(request)
            writer.write(answer.raw or _bytes_of(answer))
            await writer.drain()
            if answer.raw:
                return


async def _read(reader: asyncio.StreamReader) -> Request | None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip("\r\n")
    first, *lines = head.split("\r\n")
    words = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = headers.get("content-length", "0")
    if len(words) != 3 or not length.isdigit() or int(length) > _LONGEST_BODY:
        return None
    path, _, query = words[1].partition("?")
    body = await reader.readexactly(int(length))
    return Request(words[0], path, dict(parse_qsl(query, keep_blank_values=True)), headers, body)


def _bytes_of(answer: Answer) -> bytes:
    headers = (*answer.headers, ("Content-Length", str(len(answer.body))))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return (
        f"HTTP/1.1 {answer.status} {_phrase(answer.status)}\r\n{lines}\r\n".encode("latin-1", "replace") + answer.body
    )


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Whatever"
