"""HTTPS with a certificate authority of one's own, and HTTP/2 when the server offers it."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.errors import UserError
from gossamer.fetch import FetchError
from gossamer.fetch.guard import Guard
from gossamer.fetch.http import HttpRung, HttpSession, read_trust
from gossamer.fetch.resolve import Resolver
from gossamer.model.document import Response
from gossamer.model.trouble import Reason, Trouble
from tests.fetch.conftest import Certificates
from tests.fetch.loopback import Name, NameServer, Site, until

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS = 0, 1, 3, 4
END_STREAM, END_HEADERS, ACK = 1, 4, 1
STATUS_200 = b"\x88"  # the eighth entry of HPACK's fixed table


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Http2Site(asyncio.Protocol):
    """Just enough of an HTTP/2 server: the same page, or the same reset, for every request."""

    def __init__(self, seen: list[int], open_ones: set["Http2Site"], *, breaks_off: bool) -> None:
        self._seen = seen
        self._open_ones = open_ones
        self._breaks_off = breaks_off
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open_ones.add(self)
        transport.write(frame(SETTINGS, 0, 0))

    def connection_lost(self, exc: Exception | None) -> None:
        self._open_ones.discard(self)

    def hang_up(self) -> None:
        assert self._transport is not None
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._data = (self._data + data).removeprefix(PREFACE)
        while len(self._data) >= 9:
            size = int.from_bytes(self._data[:3], "big")
            if len(self._data) < 9 + size:
                return
            kind, flags = self._data[3], self._data[4]
            (stream,) = struct.unpack(">I", self._data[5:9])
            self._data = self._data[9 + size :]
            self._answer(kind, flags, stream)

    def _answer(self, kind: int, flags: int, stream: int) -> None:
        assert self._transport is not None
        if kind == SETTINGS and not flags & ACK:
            self._transport.write(frame(SETTINGS, ACK, 0))
        if kind == HEADERS:
            self._seen.append(stream)
            self._transport.write(frame(HEADERS, END_HEADERS, stream, STATUS_200))
            if self._breaks_off:
                self._transport.write(frame(DATA, 0, stream, b"hel") + frame(RESET, 0, stream, b"\0\0\0\2"))
            else:
                self._transport.write(frame(DATA, END_STREAM, stream, b"hello over two"))


async def get(session: HttpSession, url: str) -> Response:
    return await session.fetch(url, timeout=timedelta(seconds=5), max_bytes=1_000)


@asynccontextmanager
async def http2_server(certificates: Certificates, seen: list[int], *, breaks_off: bool = False) -> AsyncIterator[str]:
    """The address of a running server; the streams it was asked on are added to `seen`."""
    open_ones: set[Http2Site] = set()
    server = await asyncio.get_running_loop().create_server(
        lambda: Http2Site(seen, open_ones, breaks_off=breaks_off), "127.0.0.1", 0, ssl=certificates.server("h2")
    )
    try:
        yield f"https://shop.test:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()
        for one in list(open_ones):
            one.hang_up()
        assert await until(lambda: not open_ones)


@pytest.fixture
def public_looking(resolver: Resolver, name_server: NameServer, certificates: Certificates) -> HttpSession:
    """A session without rules, for which shop.test really resolves: to loopback, which is allowed."""
    name_server.names["shop.test"] = Name(["127.0.0.1"])
    guard = Guard(resolver, allow=[ip_network("127.0.0.0/8")])
    return HttpRung(guard, SystemClock(), trust=read_trust(certificates.authority)).session(seed=0)


async def test_a_site_under_our_own_authority_can_be_read(
    certificates: Certificates, trusting: Callable[[str], HttpSession]
) -> None:
    async with await Site().start(tls=certificates.server()) as secure:
        response = await get(trusting(f"*.test=127.0.0.1:{secure.port}"), "https://shop.test/a")
        assert (response.status, response.url) == (404, "https://shop.test/a")
        assert secure.seen[0].header("host") == "shop.test"


async def test_a_server_that_offers_http2_is_spoken_to_in_http2(
    certificates: Certificates, public_looking: HttpSession
) -> None:
    seen: list[int] = []
    async with http2_server(certificates, seen) as url:
        assert (await get(public_looking, url)).body == b"hello over two"
        assert (await get(public_looking, url)).status == 200
    assert seen == [1, 3]  # two streams of one connection


async def test_an_http2_stream_that_breaks_off_is_cut_off(
    certificates: Certificates, public_looking: HttpSession
) -> None:
    async with http2_server(certificates, [], breaks_off=True) as url:
        with pytest.raises(FetchError) as caught:
            await get(public_looking, url)
    assert caught.value.trouble == Trouble(Reason.CUT_OFF)


async def test_a_rule_with_a_port_stays_with_http1_so_that_the_host_is_the_right_one(
    certificates: Certificates, trusting: Callable[[str], HttpSession]
) -> None:
    async with await Site().start(tls=certificates.server("h2", "http/1.1")) as secure:
        await get(trusting(f"*.test=127.0.0.1:{secure.port}"), "https://shop.test/")
        assert secure.seen[0].header("host") == "shop.test"


@pytest.mark.parametrize(
    "content", [None, "", "not a certificate", "-----BEGIN CERTIFICATE-----\nxx\n-----END CERTIFICATE-----"]
)
def test_a_file_without_certificates_is_refused_by_name(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError) as caught:
        read_trust(path)
    assert "GOSSAMER_CA_FILE" in str(caught.value)
