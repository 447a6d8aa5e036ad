"""Roads from a machine to a server: TCP carried over, until somebody cuts the road.

A road that is cut is silent, as a broken network is: nothing is refused and nothing is closed, bytes just do not
arrive. When it is mended they do, as far as anybody still waits for them.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_CHUNK = 1 << 16


class Road:
    """From an address where it listens to a port of this machine."""

    def __init__(self, roads: "Roads", to: int) -> None:
        self._roads = roads
        self._to = to
        self._open = asyncio.Event()
        self._open.set()
        self.address = ""

    def cut(self) -> None:
        self._roads.call(self._open.clear)

    def mend(self) -> None:
        self._roads.call(self._open.set)

    async def listen(self, host: str) -> asyncio.Server:
        server = await asyncio.start_server(self._travel, host, 0)
        port = server.sockets[0].getsockname()[1]
        self.address = f"{host}:{port}"
        return server

    async def _travel(self, here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # at the end of everything
            try:
                await self._open.wait()
                there, onward = await asyncio.open_connection("127.0.0.1", self._to)
            except OSError:
                back.transport.abort()
                return
            ways = [asyncio.create_task(self._carry(*way)) for way in ((here, onward), (there, back))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                for end in (onward, back):
                    if self._open.is_set():
                        end.close()
                    else:
                        end.transport.abort()  # nobody would hear of it

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await source.read(_CHUNK):
                await self._open.wait()
                sink.write(chunk)
                await sink.drain()
            await self._open.wait()  # that it was closed is news too


class Roads:
    """All of them, in a thread of their own."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._servers: list[asyncio.Server] = []

    def build(self, host: str, to: int) -> Road:
        async def built() -> Road:
            road = Road(self, to)
            self._servers.append(await road.listen(host))
            return road

        return asyncio.run_coroutine_threadsafe(built(), self._loop).result(10)

    def call(self, what: Any) -> None:
        self._loop.call_soon_threadsafe(what)

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)


@contextmanager
def open_roads() -> Iterator[Roads]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="roads", daemon=True)
    thread.start()
    roads = Roads(loop)
    try:
        yield roads
    finally:
        roads.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
