"""Real servers on loopback that behave as badly as the web does: a scripted web site and a scripted name server."""

import asyncio
import resource
import socket
import ssl
import struct
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Self


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it came over the wire."""

    target: str
    headers: tuple[tuple[str, str], ...]
    far: str  # the address it was sent to

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key.lower() == name.lower())


Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answer(body: bytes = b"hello", *headers: bytes, status: bytes = b"200 OK", length: int | None = None) -> bytes:
    """A plain HTTP/1.1 answer; `length` may lie."""
    size = len(body) if length is None else length
    lines = (b"HTTP/1.1 " + status, b"Content-Length: %d" % size, *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


class Site:
    """An HTTP/1.1 server whose answers are raw bytes by path, or coroutines that do what they like with the socket."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes | Behaviour] = {"/": answer()}
        self.on_connect: Behaviour | None = None
        self.seen: list[Seen] = []
        self.connections = 0
        self.open_connections = 0
        self.port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> Self:
        self._server = await asyncio.start_server(self._connected, address, port, ssl=tls, backlog=2048)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()

    async def __aenter__(self) -> Self:
        return self if self._server else await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        # A task that is cancelled before its first step never comes to its own end.
        task.add_done_callback(lambda _: writer.transport.abort())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.on_connect is not None:
                await self.on_connect(reader, writer)
                return
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                request, *lines = head.rstrip("\r\n").split("\r\n")
                pairs = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
                target = request.split(" ")[1]
                self.seen.append(Seen(target, pairs, writer.get_extra_info("sockname")[0]))
                page = self.pages.get(target.partition("?")[0], answer(b"no", status=b"404 Not Found"))
                if not isinstance(page, bytes):
                    await page(reader, writer)
                    return
                writer.write(page)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            writer.transport.abort()  # the client went away, which several tests want
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        finally:
            self.open_connections -= 1
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with RST instead of FIN."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def peak_memory() -> int:
    """The most bytes this process has ever had in memory."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Wait for something another task or thread is about to do; the limit only keeps a failure from hanging."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition() and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.01)
    return condition()


A, AAAA = 1, 28
BOTH = frozenset({A, AAAA})
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5


@dataclass(slots=True)
class Name:
    """What the name server says about one name."""

    addresses: list[str] = field(default_factory=list)
    ttl: int = 0
    code: int = NOERROR
    silent: frozenset[int] = frozenset()  # kinds of question that get no answer at all
    ready_after: float = 0.0  # seconds after the first question, like a resolver that has to ask around first


class NameServer(asyncio.DatagramProtocol):
    """A DNS server on loopback UDP, A and AAAA only."""

    def __init__(self) -> None:
        self.names: dict[str, Name] = {}
        self.questions: list[tuple[str, int]] = []
        self.waiting: set[str] = set()
        self.most_waiting = 0
        self.port = 0
        self._first: dict[str, float] = {}
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self) -> Self:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        self.port = self._transport.get_extra_info("sockname")[1]
        return self

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def asked(self, name: str, kind: int = A) -> int:
        return self.questions.count((name, kind))

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        at, labels = 12, []
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]])
            at += 1 + data[at]
        (kind,) = struct.unpack_from(">H", data, at + 1)
        asked = b".".join(labels).decode().lower()
        self.questions.append((asked, kind))
        name = self.names.get(asked, Name(code=NXDOMAIN))
        if kind in name.silent:
            return
        loop = asyncio.get_running_loop()
        first = self._first.setdefault(asked, loop.time())
        wait = first + name.ready_after - loop.time()
        packet = _packet(data[: at + 5], kind, name)
        if wait <= 0:
            self._send(asked, packet, addr)
            return
        self.waiting.add(asked)
        self.most_waiting = max(self.most_waiting, len(self.waiting))
        loop.call_later(wait, self._send, asked, packet, addr)

    def _send(self, asked: str, packet: bytes, addr: tuple[str, int]) -> None:
        self.waiting.discard(asked)
        if self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(packet, addr)


def _packet(question: bytes, kind: int, name: Name) -> bytes:
    wanted = [
        raw for raw in (ip_address(text).packed for text in name.addresses) if len(raw) == (4 if kind == A else 16)
    ]
    records = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, name.ttl, len(raw)) + raw for raw in wanted)
    header = question[:2] + struct.pack(">5H", 0x8180 | name.code, 1, len(wanted), 0, 0)
    return header + question[12:] + records
