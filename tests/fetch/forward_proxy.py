"""A little forward proxy on loopback: absolute addresses, CONNECT and SOCKS 5. It leads every name to one port."""

import asyncio
import base64
from contextlib import suppress
from types import TracebackType
from typing import Self

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


class ForwardProxy:
    """Sends everything on to `port` of this machine and remembers who was asked for."""

    def __init__(self, port: int, *, credentials: str = "", refuses: bool = False) -> None:
        self.asked: list[str] = []
        self.port = 0
        self._onward = port
        self._credentials = credentials
        self._refuses = refuses
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _connected(self, reader: Reader, writer: Writer) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task that is cancelled before its first step never comes to its own end.
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _serve(self, reader: Reader, writer: Writer) -> None:
        try:
            first = await reader.readexactly(1)
            await (self._socks(reader, writer) if first == b"\x05" else self._http(first, reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went away
        finally:
            writer.transport.abort()

    async def _http(self, first: bytes, reader: Reader, writer: Writer) -> None:
        head = first + await reader.readuntil(b"\r\n\r\n")
        method, target = head.decode("latin-1").split(" ")[:2]
        wanted = b"basic " + base64.b64encode(self._credentials.encode()).lower()
        if self._credentials and wanted not in head.lower():
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n")
            writer.write(b"Content-Length: 4\r\n\r\nwho?")
            await writer.drain()
            return
        self.asked.append(target)
        if self._refuses:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        onward = b""
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = "/" + target.split("/", 3)[3]
            lines = head.replace(target.encode(), path.encode(), 1).split(b"\r\n")
            onward = b"\r\n".join(line for line in lines if not line.lower().startswith(b"proxy-"))
        await self._join(reader, writer, onward)

    async def _socks(self, reader: Reader, writer: Writer) -> None:
        await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x05\x02" if self._credentials else b"\x05\x00")
        if self._credentials:
            await reader.readexactly(1)
            user = await reader.readexactly((await reader.readexactly(1))[0])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            is_right = user + b":" + password == self._credentials.encode()
            writer.write(b"\x01\x00" if is_right else b"\x01\x01")
            if not is_right:
                await writer.drain()
                return
        kind = (await reader.readexactly(4))[3]
        size = 4 if kind == 1 else (await reader.readexactly(1))[0]
        host = await reader.readexactly(size)
        await reader.readexactly(2)
        self.asked.append(".".join(map(str, host)) if kind == 1 else host.decode())
        writer.write((b"\x05\x04" if self._refuses else b"\x05\x00") + b"\x00\x01\x7f\x00\x00\x01\x00\x00")
        await writer.drain()
        if not self._refuses:
            await self._join(reader, writer, b"")

    async def _join(self, reader: Reader, writer: Writer, onward: bytes) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._onward)
        far_writer.write(onward)
        ways = [asyncio.create_task(_pour(reader, far_writer)), asyncio.create_task(_pour(far_reader, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            far_writer.transport.abort()  # before anything is awaited: a cancel may come while we wait
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


async def _pour(reader: Reader, writer: Writer) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
