"""A web that costs next to nothing: every name has the same small page, and a large one at `/large`.

`python -m bench.plain_web` says its port.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvloop

from bench.figure import BenchFailed
from bench.running import ROOT

_WORDS = "A lamp of brass and glass, made by hand, that has stood on a desk by the window since the spring. "
_PAGE = (
    '<!doctype html><html lang="en"><head><title>A lamp</title><meta name="description" content="All about a lamp">'
    f"</head><body><h1>A lamp</h1>{''.join(f'<p>{number}. {_WORDS}</p>' for number in range(30))}"
    '<a href="/more">More</a></body></html>'
).encode()


def _answer(body: bytes, kind: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


_LARGE = _answer(
    f'<!doctype html><html lang="en"><head><title>Lamps</title></head><body>{f"<p>{_WORDS}</p>" * 9_000}'.encode(),
    "text/html; charset=utf-8",
)
_PAGES, _ROBOTS = _answer(_PAGE, "text/html; charset=utf-8"), _answer(b"User-agent: *\nDisallow:\n", "text/plain")

_OTHERS = {b"/robots.txt": _ROBOTS, b"/large": _LARGE}


class _Web(asyncio.Protocol):
    def __init__(self) -> None:
        self._asked = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a socket's can be written to

    def data_received(self, data: bytes) -> None:
        *requests, self._asked = (self._asked + data).split(b"\r\n\r\n")
        for request in requests:
            if self._transport:
                self._transport.write(_OTHERS.get(request.split(b" ", 2)[1], _PAGES))
                if b"\r\nconnection: close" in request.lower():
                    self._transport.close()


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Web, "127.0.0.1", 0, backlog=4_096)
    print(f"port={server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


@contextmanager
def plain_web() -> Iterator[int]:
    """Its port, until the end of the block."""
    command = [sys.executable, "-m", "bench.plain_web"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
    try:
        ready = re.search(r"port=(\d+)", process.stdout.readline() if process.stdout else "")
        if not ready:
            raise BenchFailed("the plain web did not start")
        yield int(ready[1])
    finally:
        process.terminate()
        process.wait()
        if process.stdout:
            process.stdout.close()


if __name__ == "__main__":
    uvloop.run(_serve())
