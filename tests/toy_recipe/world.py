"""The world the toy recipe looks at: a source that answers in JSON, and shops with a page each."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson


@dataclass
class ToyWorld:
    """Changed by tests while it is looked at. Shops are hosts: `shop-7.test`."""

    areas: dict[str, list[str]] = field(default_factory=dict)  # hosts by area
    names: dict[str, str] = field(default_factory=dict)  # of hosts, where they have another name than their host
    prices: dict[str, int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)  # hosts that answer with an error
    gone: set[str] = field(default_factory=set)
    secret: str = ""
    part: int = 10_000  # shops in one answer
    delay: float = 0  # seconds a shop takes
    asked: Counter[str] = field(default_factory=Counter)  # host and path
    sent: list[tuple[str, int]] = field(default_factory=list)  # areas and parts asked for
    port: int = 0

    def answer(self, host: str, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str, bytes]:
        self.asked[host + path] += 1
        if path == "/robots.txt":
            return 404, "text/plain", b""
        if host == "source.test":
            return self._found(method, headers, body)
        if host in self.gone:
            return 404, "text/html", b"<title>Not found</title>"
        if host in self.broken:
            return 400, "text/html", b"<title>Bad request</title>"
        name, price = self.names.get(host, host.removesuffix(".test")), self.prices.get(host, 10)
        said = "A small shop with many things that people come for, day after day, from near and far."
        return (
            200,
            "text/html",
            f"<html><title>{name}|{price}</title><body><p>{name}. {said}</p></body></html>".encode(),
        )

    def _found(self, method: str, headers: dict[str, str], body: bytes) -> tuple[int, str, bytes]:
        if method != "POST" or headers.get("x-key", "") != self.secret:
            return 401, "application/json", b'{"error": "who are you?"}'
        wanted = orjson.loads(body)
        area, part = wanted["area"], wanted["part"]
        self.sent.append((area, part))
        hosts = self.areas.get(area, [])
        some = hosts[part * self.part : (part + 1) * self.part]
        more = len(hosts) > (part + 1) * self.part
        found = {"shops": [f"http://{host}/" for host in some], "more": more}
        return 200, "application/json", orjson.dumps(found)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                method, path, _ = first.split(" ")
                host = headers["host"].partition(":")[0]
                if self.delay and host != "source.test" and path == "/":
                    await asyncio.sleep(self.delay)
                status, kind, said = self.answer(host, method, path, headers, body)
                writer.write(
                    f"HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {len(said)}\r\n\r\n".encode()
                    + said
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@contextmanager
def serve(world: ToyWorld) -> Iterator[ToyWorld]:
    """Answers in a thread of its own until the end of the block."""
    loop, ready = asyncio.new_event_loop(), threading.Event()

    async def run() -> None:
        server = await asyncio.start_server(world.serve, "127.0.0.1", 0, backlog=1_000)
        world.port = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await server.serve_forever()

    def work() -> None:
        try:
            loop.run_until_complete(run())
        except asyncio.CancelledError:
            return
        finally:
            loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    ready.wait(20)
    try:
        yield world
    finally:
        for task in asyncio.all_tasks(loop):
            loop.call_soon_threadsafe(task.cancel)
        thread.join(20)
