"""What a connection may take its time over, by sockets: limits that are as long as promised, and short ones at work."""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import uvicorn

from gossamer.accounts.service import find_account, issue_key
from gossamer.api import middleware
from gossamer.api.app import make_api
from gossamer.api.connections import ConnectionLimits
from gossamer.api.guarded import LONGEST_PARAMETER
from gossamer.api.serve import listen, open_parts, server_config
from gossamer.app import open_app
from gossamer.model.account import DEFAULT, Right
from gossamer.settings import Settings

SHORT = ConnectionLimits(
    first_byte=1.0, head=1.0, body=1.0, keep_alive=1.0, sending=1.0, head_bytes=8_192, headers=50, waiting=20
)
LONG = replace(SHORT, sending=60.0, first_byte=60.0, head=60.0, body=60.0, keep_alive=60.0)
WAIT = 60.0  # seconds after which nothing is waited for any more
HEALTH = b"GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Listening:
    port: int
    key: str

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    def head(self, verb: str, path: str, *more: str, key: str = "") -> bytes:
        lines = [f"{verb} {path} HTTP/1.1", "Host: x", f"X-API-Key: {key or self.key}", *more]
        return "\r\n".join([*lines, "", ""]).encode()


@asynccontextmanager
async def _listening(home: Path, limits: ConnectionLimits) -> AsyncIterator[Listening]:
    async with open_app(Settings(home=home)) as app, open_parts(app) as parts:
        await find_account(app.database, DEFAULT)
        key = (await issue_key(app.database, DEFAULT, "k", Right.ADMIN))[0].text
        with (home / "access.log").open("w") as log, listen("127.0.0.1", 0) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)  # so that answers wait here
            server = uvicorn.Server(server_config(make_api(parts, log), limits))
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                yield Listening(listener.getsockname()[1], key)
            finally:
                parts.live.stop()
                server.should_exit = True
                await serving


@pytest.fixture
async def short(tmp_path: Path) -> AsyncIterator[Listening]:
    async with _listening(tmp_path, SHORT) as one:
        yield one


@pytest.fixture
async def long(tmp_path: Path) -> AsyncIterator[Listening]:
    async with _listening(tmp_path, LONG) as one:
        yield one


async def _is_closed(reader: asyncio.StreamReader) -> bytes:
    """Everything that was said until the connection was closed."""
    said = b""
    with suppress(ConnectionError):
        async with asyncio.timeout(WAIT):
            said = await reader.read()
    return said


async def _drip(writer: asyncio.StreamWriter, drop: bytes, every: float, times: int) -> None:
    with suppress(ConnectionError):
        for _ in range(times):
            await asyncio.sleep(every)
            writer.write(drop)
            await writer.drain()


async def _answer(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(WAIT):
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return head + await reader.readexactly(int(length.partition(b":")[2]))


def test_the_limits_are_the_promised_ones() -> None:
    limits = ConnectionLimits()
    assert (limits.first_byte, limits.head, limits.body, limits.keep_alive) == (30, 60, 60, 72)
    assert LONGEST_PARAMETER == 200
    assert int(Settings(home=Path("nowhere")).api_max_body) == 10_000_000


@pytest.mark.parametrize("more", ["", "Connection: close"])
async def test_an_answer_that_nobody_takes_is_not_kept(short: Listening, more: str) -> None:
    """Closing waits for what was not sent: such a connection has to be broken off."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        one.connect(("127.0.0.1", short.port))
        one.sendall(short.head("GET", "/openapi.json", *([more] if more else [])))
        assert await _held_by_us(short.port)
        began = time.monotonic()
        while await _held_by_us(short.port) and time.monotonic() - began < WAIT:
            await asyncio.sleep(0.1)
        assert not await _held_by_us(short.port)


async def _held_by_us(port: int) -> int:
    """Connections of the server that this process has not given back to the system."""
    await asyncio.sleep(0.2)
    held = 0
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are all that is wanted
        if not os.path.realpath(f"/proc/self/fd/{name}").rpartition("/")[2].startswith("socket:"):
            continue
        with suppress(OSError), socket.socket(fileno=os.dup(int(name))) as other:
            if other.family == socket.AF_INET and other.getsockname()[1] == port:
                held += not other.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    return held


async def test_one_account_does_not_take_every_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests whose body is on its way are as good as streams: they stay as long as they want."""
    monkeypatch.setattr(middleware, "MOST_UNDER_WAY", 5)
    async with _listening(tmp_path, LONG) as here:
        held: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        reader, mine = await here.connect()
        async with asyncio.timeout(WAIT):
            while b" 503 " not in (answer := await _asked(here, reader, mine)).partition(b"\r\n")[0]:
                held.append(await here.connect())
                asked = here.head("POST", "/v1/questions", "Content-Length: 5", "Content-Type: application/json")
                held[-1][1].write(asked)
                await asyncio.sleep(0.2)
        assert b"retry-after" in answer.lower()
        assert b"requests under way" in answer
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        async with asyncio.timeout(WAIT):
            while b" 200 " not in (await _asked(here, reader, mine)).partition(b"\r\n")[0]:
                await asyncio.sleep(0.2)
        mine.close()
        await mine.wait_closed()


async def _asked(here: Listening, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(here.head("GET", "/v1/jobs"))
    return await _answer(reader)


async def test_an_answer_that_is_taken_slowly_is_sent_whole(short: Listening) -> None:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        one.connect(("127.0.0.1", short.port))
        one.setblocking(False)
        one.sendall(short.head("GET", "/openapi.json", "Connection: close"))
        loop, got, began = asyncio.get_running_loop(), b"", time.monotonic()
        while piece := await loop.sock_recv(one, 65_536):
            got += piece
            if time.monotonic() - began < 4:
                await asyncio.sleep(0.3)
    head, _, body = got.partition(b"\r\n\r\n")
    assert b"content-length: %d" % len(body) in head.lower()


async def test_a_connection_without_a_byte_is_closed(short: Listening) -> None:
    began = time.monotonic()
    reader, writer = await short.connect()
    assert await _is_closed(reader) == b""
    assert 0.9 < time.monotonic() - began < WAIT
    writer.close()


@pytest.mark.parametrize("begins", [b"GET /api/health HTTP/1.1\r\nX-A: ", b"GET /", b"\r\n"])
async def test_a_head_that_never_ends_is_cut_off(short: Listening, begins: bytes) -> None:
    reader, writer = await short.connect()
    writer.write(begins)
    dripping = asyncio.create_task(_drip(writer, b"a" if len(begins) > 2 else b"\r\n", 0.1, 600))
    began = time.monotonic()
    await _is_closed(reader)
    assert 0.8 < time.monotonic() - began < WAIT
    dripping.cancel()
    writer.close()


async def test_a_body_that_stands_still_is_cut_off_and_a_slow_one_is_not(short: Listening) -> None:
    head = short.head("POST", "/v1/jobs", "Content-Type: application/json", "Content-Length: 30")
    reader, writer = await short.connect()
    writer.write(head + b'{"recipe": ')
    began = time.monotonic()
    await _is_closed(reader)
    assert 0.9 < time.monotonic() - began < WAIT
    writer.close()

    reader, writer = await short.connect()
    writer.write(head)
    began = time.monotonic()
    await _drip(writer, b"x", 0.1, 30)
    assert (await _answer(reader)).startswith(b"HTTP/1.1 400 ")
    assert time.monotonic() - began > 2 * SHORT.body
    writer.close()


async def test_an_idle_connection_is_kept_for_a_while(short: Listening) -> None:
    reader, writer = await short.connect()
    for _ in range(4):
        writer.write(HEALTH)
        assert (await _answer(reader)).startswith(b"HTTP/1.1 200 ")
        await asyncio.sleep(0.3)
    began = time.monotonic()
    assert await _is_closed(reader) == b""
    assert 0.5 < time.monotonic() - began < WAIT
    writer.close()


async def test_streams_and_waiting_scrapes_take_longer_than_any_limit(short: Listening) -> None:
    body = b'{"url": "http://a.test/", "timeout": 4}'
    reader, writer = await short.connect()
    head = short.head("POST", "/v1/scrape", "Content-Type: application/json", f"Content-Length: {len(body)}")
    writer.write(head + body)
    began = time.monotonic()
    answer = await _answer(reader)  # nobody works here
    assert answer.startswith(b"HTTP/1.1 202 "), answer
    assert time.monotonic() - began > 3 * SHORT.head
    writer.close()

    job = answer.partition(b'"id":"')[2][:36].decode()
    reader, writer = await short.connect()
    writer.write(short.head("GET", f"/v1/jobs/{job}/live"))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    began = time.monotonic()
    while time.monotonic() - began < 3 * SHORT.keep_alive:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                assert await reader.read(1_000) != b"", "the stream was closed"
    writer.close()


async def test_a_head_has_a_size(long: Listening) -> None:
    heads = {
        "one line": b"GET /api/health?" + b"x" * 9_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        "a line without end": b"GET /api/health HTTP/1.1\r\nX-A: " + b"x" * 9_000,
        "many lines": b"GET /api/health HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % one for one in range(60)) + b"\r\n",
    }
    for what, head in heads.items():
        reader, writer = await long.connect()
        writer.write(head)
        assert (await _is_closed(reader)).startswith(b"HTTP/1.1 431 "), what
        writer.close()
    reader, writer = await long.connect()
    body = b'{"url": "' + b"x" * 50_000 + b'"}'  # in one piece with its head
    kind = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    writer.write(long.head("POST", "/v1/scrape", *kind) + body)
    assert (await _answer(reader)).startswith(b"HTTP/1.1 400 ")
    writer.close()


async def test_a_body_without_a_key_is_neither_asked_for_nor_waited_for(short: Listening) -> None:
    reader, writer = await short.connect()
    more = ("Content-Type: application/json", "Content-Length: 9000000", "Expect: 100-continue")
    writer.write(short.head("POST", "/v1/jobs", *more, key="gsk_nobody"))
    assert (await _answer(reader)).startswith(b"HTTP/1.1 401 ")
    dripping = asyncio.create_task(_drip(writer, b"x", 0.1, 600))
    began = time.monotonic()
    await _is_closed(reader)
    assert time.monotonic() - began < WAIT
    dripping.cancel()
    writer.close()


async def test_whoever_opens_connections_by_the_hundred_shuts_nobody_out(long: Listening) -> None:
    """Neither those who come after, nor those who have a connection and ask now and then."""
    known_reader, known_writer = await long.connect()
    known_writer.write(HEALTH)
    await _answer(known_reader)
    attack = []
    for number in range(10 * LONG.waiting):
        attack.append(await long.connect())
        attack[-1][1].write(b"GET /api/health HTTP/1.1\r\nX-A: " if number % 2 else b"")
        if number % 20 == 0:
            victim_reader, victim_writer = await long.connect()
            victim_writer.write(HEALTH)
            assert (await _answer(victim_reader)).startswith(b"HTTP/1.1 200 ")
            victim_writer.close()
    for reader, _ in attack[: -2 * LONG.waiting]:
        await _is_closed(reader)  # the oldest have had to go
    known_writer.write(HEALTH)
    assert (await _answer(known_reader)).startswith(b"HTTP/1.1 200 ")
    for _, writer in (*attack, (known_reader, known_writer)):
        writer.close()


async def test_an_account_holds_so_much_of_bodies_at_a_time(tmp_path: Path) -> None:
    async with _listening(tmp_path, LONG) as one:
        size = 9_000_000
        kind = ("Content-Type: application/json", f"Content-Length: {size}")
        held = []
        for _ in range(2):
            reader, writer = await one.connect()
            writer.write(one.head("POST", "/v1/jobs", *kind) + b'{"name": "' + b"x" * (size - 100))
            await writer.drain()
            held.append((reader, writer))
        statuses = set()
        while b"503" not in statuses:  # until what was sent has been read
            reader, writer = await one.connect()
            writer.write(one.head("POST", "/v1/jobs", *kind) + b'{"name": "' + b"x" * 5_000_000)
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(1.0):
                    statuses.add((await reader.readuntil(b"\r\n\r\n")).split()[1])
            writer.close()
        for _, writer in held:
            writer.close()
        while True:  # what was held is free again
            reader, writer = await one.connect()
            body = b'{"name": 1, "x": "' + b"x" * 5_000_000 + b'"}'
            writer.write(one.head("POST", "/v1/jobs", kind[0], f"Content-Length: {len(body)}") + body)
            status = (await _answer(reader)).split()[1]
            writer.close()
            if status == b"400":
                break
            assert status == b"503"
