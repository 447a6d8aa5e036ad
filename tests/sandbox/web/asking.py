"""A client of a few lines: the tests are about what goes over the wire, so nothing may tidy it up on the way."""

import asyncio
import zlib
from dataclasses import dataclass

PATIENCE = 20.0  # seconds before a test gives up on the server; never a measure of anything


@dataclass(frozen=True)
class Got:
    """A response as it arrived. `complete` is False when the line went dead before the body was all there."""

    status: int
    headers: dict[str, str]
    body: bytes
    complete: bool = True

    @property
    def content(self) -> bytes:
        """The body as a reader sees it."""
        return zlib.decompress(self.body, 31) if self.headers.get("content-encoding") == "gzip" else self.body

    @property
    def type(self) -> str:
        return self.headers.get("content-type", "")


class Line:
    """One connection, kept open between requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, host: str, path: str, *, method: str = "GET", gzip: bool = False, agent: str = "test") -> Got:
        await self.send(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\n", gzip=gzip)
        return await self.receive(body=method != "HEAD")

    async def send(self, head: str, *, gzip: bool = False) -> None:
        accept = "Accept-Encoding: gzip\r\n" if gzip else ""
        self.writer.write(f"{head}{accept}\r\n".encode())
        await self.writer.drain()

    async def receive(self, *, body: bool = True) -> Got:
        async with asyncio.timeout(PATIENCE):
            status, headers = await self.head()
            if not body:
                return Got(status, headers, b"")
            try:
                return Got(status, headers, await self._body(headers))
            except asyncio.IncompleteReadError as cut:
                return Got(status, headers, cut.partial, complete=False)

    async def head(self) -> tuple[int, dict[str, str]]:
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    async def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await self.reader.readexactly(int(headers["content-length"]))
        body = b""
        while True:
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            body += (await self.reader.readexactly(size + 2))[:-2]
            if size == 0:
                return body

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


async def dial(port: int) -> Line:
    return Line(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 24))


async def ask(port: int, host: str, path: str, *, method: str = "GET", gzip: bool = False, agent: str = "test") -> Got:
    """One request on a connection of its own."""
    line = await dial(port)
    try:
        return await line.ask(host, path, method=method, gzip=gzip, agent=agent)
    finally:
        await line.close()
