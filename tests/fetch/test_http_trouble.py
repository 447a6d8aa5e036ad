"""Every way in which no answer arrives, over real sockets, and what it is called."""

import asyncio
import gzip
import socket
from collections.abc import Callable
from datetime import timedelta

import pytest

from gossamer.clock import SystemClock
from gossamer.fetch import FetchError
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.http import HttpRung, HttpSession
from gossamer.fetch.resolve import Resolver
from gossamer.model.trouble import Reason, Trouble
from tests.fetch.conftest import Certificates, MakeSession
from tests.fetch.loopback import Behaviour, Site, answer, reset

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


async def trouble_of(session: HttpSession, url: str, seconds: float = 5.0) -> Trouble:
    with pytest.raises(FetchError) as caught:
        await session.fetch(url, timeout=timedelta(seconds=seconds), max_bytes=1_000_000)
    assert str(caught.value) == caught.value.trouble.sentence
    return caught.value.trouble


def says(data: bytes, *, then_reset: bool = False) -> Behaviour:
    async def behave(_reader: Reader, writer: Writer) -> None:
        writer.write(data)
        await writer.drain()
        if then_reset:
            await asyncio.sleep(0.05)  # or the reset overtakes the data
            reset(writer)

    return behave


async def wait_for_ever(reader: Reader, _writer: Writer) -> None:
    await reader.read()


async def drip_for_ever(_reader: Reader, writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.02)


PAGES: list[tuple[str, bytes | Behaviour, Trouble]] = [
    ("reset after the request", says(b"", then_reset=True), Trouble(Reason.UNREACHABLE)),
    ("closed without a word", says(b""), Trouble(Reason.CUT_OFF)),
    ("closed in the headers", says(b"HTTP/1.1 200 OK\r\nContent-Le"), Trouble(Reason.CUT_OFF)),
    ("body shorter than announced", says(answer(b"abc", length=500)), Trouble(Reason.CUT_OFF)),
    ("reset in the body", says(answer(b"abc", length=500), then_reset=True), Trouble(Reason.CUT_OFF)),
    (
        "closed between chunks",
        says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        Trouble(Reason.CUT_OFF),
    ),
    (
        "chunks without sizes",
        says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n"),
        Trouble(Reason.CUT_OFF),
    ),
    (
        "gzip that stops early",
        answer(gzip.compress(b"hello" * 999)[:-9], b"Content-Encoding: gzip"),
        Trouble(Reason.CUT_OFF),
    ),
    (
        "our gzip that stops early",
        answer(gzip.compress(b"hello" * 999)[:-9], b"Content-Encoding: GZIP"),
        Trouble(Reason.CUT_OFF),
    ),
    ("not gzip at all", answer(b"<html>" * 9, b"Content-Encoding: gzip"), Trouble(Reason.BAD_ENCODING)),
    ("not brotli at all", answer(b"<html>" * 9, b"Content-Encoding: br"), Trouble(Reason.BAD_ENCODING)),
    ("not zstd at all", answer(b"<html>" * 9, b"Content-Encoding: zstd"), Trouble(Reason.BAD_ENCODING)),
    ("not deflate", answer(b"\xff<html>" * 9, b"Content-Encoding: deflate"), Trouble(Reason.BAD_ENCODING, "deflate")),
    ("a coding of the past", answer(b"abc", b"Content-Encoding: compress"), Trouble(Reason.BAD_ENCODING, "compress")),
    ("another protocol", says(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), Trouble(Reason.NOT_HTTP, "bad version")),
    ("a status of four digits", says(b"HTTP/1.1 2000 OK\r\n\r\n"), Trouble(Reason.NOT_HTTP, "bad status")),
    (
        "two lengths",
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        Trouble(Reason.NOT_HTTP, "bad header"),
    ),
    (
        "headers without end",
        says(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(600)) + b"\r\n"),
        Trouble(Reason.TOO_LARGE, "headers"),
    ),
]


@pytest.mark.parametrize(("page", "expected"), [pytest.param(page, trouble, id=name) for name, page, trouble in PAGES])
async def test_what_goes_wrong_over_http_has_its_name(
    page: bytes | Behaviour, expected: Trouble, site: Site, session: HttpSession
) -> None:
    site.pages["/TimedOut"] = page  # a path that looks like one of the client's own words
    assert await trouble_of(session, "http://shop.test/TimedOut?ErrorStack=Parse(") == expected


async def test_a_reset_at_once_is_unreachable(site: Site, session: HttpSession) -> None:
    async def slam(_reader: Reader, writer: Writer) -> None:
        reset(writer)

    site.on_connect = slam
    assert await trouble_of(session, "http://shop.test/") == Trouble(Reason.UNREACHABLE)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_port_where_nobody_listens_is_unreachable(scheme: str, make_session: MakeSession) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        session = make_session(f"*.test=127.0.0.1:{unused.getsockname()[1]}")
        assert await trouble_of(session, f"{scheme}://shop.test/") == Trouble(Reason.UNREACHABLE)


@pytest.mark.parametrize("behaviour", [wait_for_ever, drip_for_ever], ids=["silence", "a drip that never ends"])
async def test_the_time_limit_covers_head_and_body(behaviour: Behaviour, site: Site, session: HttpSession) -> None:
    site.pages["/"] = behaviour
    assert await trouble_of(session, "http://shop.test/", seconds=0.5) == Trouble(Reason.TIMEOUT, "0.5s")


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"], ids=["head", "body"])
async def test_silence_has_a_limit_of_its_own(head: bytes, site: Site, resolver: Resolver) -> None:
    async def fall_silent(reader: Reader, writer: Writer) -> None:
        writer.write(head)
        await reader.read()

    site.pages["/"] = fall_silent
    guard = Guard(resolver, rules=parse_connect_to(f"*.test=127.0.0.1:{site.port}"))
    session = HttpRung(guard, SystemClock(), read_timeout=timedelta(seconds=0.3)).session(seed=0)
    assert await trouble_of(session, "http://shop.test/") == Trouble(Reason.TIMEOUT, "0.3s")


async def test_a_slow_answer_that_never_falls_silent_arrives(site: Site, resolver: Resolver) -> None:
    async def drip(_reader: Reader, writer: Writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
        for _ in range(8):
            await asyncio.sleep(0.1)
            writer.write(b".")
            await writer.drain()

    site.pages["/"] = drip
    guard = Guard(resolver, rules=parse_connect_to(f"*.test=127.0.0.1:{site.port}"))
    session = HttpRung(guard, SystemClock(), read_timeout=timedelta(seconds=0.5)).session(seed=0)
    response = await session.fetch("http://shop.test/", timeout=timedelta(seconds=5), max_bytes=100)
    assert response.body == b"........"


async def test_the_time_limit_covers_the_look_up(site: Site, resolver: Resolver) -> None:
    class Slow:
        def recall(self, host: str) -> None: ...

        async def resolve(self, host: str) -> tuple[()]:
            await asyncio.sleep(60)
            return ()

    session = HttpRung(Guard(Slow()), SystemClock()).session(seed=0)
    assert await trouble_of(session, "http://shop.example/", seconds=0.2) == Trouble(Reason.TIMEOUT, "0.2s")


async def test_a_handshake_that_never_ends_is_a_timeout_of_the_connection(site: Site, session: HttpSession) -> None:
    site.on_connect = wait_for_ever
    assert await trouble_of(session, "https://shop.test/") == Trouble(Reason.TIMEOUT, "1s")


async def test_tls_to_a_plain_port_is_tls_trouble(site: Site, session: HttpSession) -> None:
    site.on_connect = says(answer(b"", status=b"400 Bad Request"))
    assert await trouble_of(session, "https://shop.test/") == Trouble(Reason.TLS, "wrong version number")


async def test_a_reset_in_the_handshake_is_unreachable(site: Site, session: HttpSession) -> None:
    async def slam(reader: Reader, writer: Writer) -> None:
        await reader.read(1)
        reset(writer)

    site.on_connect = slam
    assert await trouble_of(session, "https://shop.test/") == Trouble(Reason.UNREACHABLE)


async def test_plain_http_to_a_tls_port_is_no_answer(certificates: Certificates, make_session: MakeSession) -> None:
    async with await Site().start(tls=certificates.server()) as secure:
        session = make_session(f"*.test=127.0.0.1:{secure.port}")
        assert (await trouble_of(session, "http://shop.test/")).reason in {Reason.CUT_OFF, Reason.UNREACHABLE}


async def test_a_certificate_nobody_vouches_for_is_tls_trouble(
    certificates: Certificates, make_session: MakeSession
) -> None:
    async with await Site().start(tls=certificates.server()) as secure:
        session = make_session(f"*.test=127.0.0.1:{secure.port}")
        trouble = await trouble_of(session, "https://shop.test/")
        assert trouble == Trouble(Reason.TLS, "certificate verify failed")
        assert secure.seen == []


async def test_a_certificate_for_another_name_is_tls_trouble(
    certificates: Certificates, trusting: Callable[[str], HttpSession]
) -> None:
    async with await Site().start(tls=certificates.server()) as secure:
        session = trusting(f"*=127.0.0.1:{secure.port}")
        assert (await trouble_of(session, "https://shop.example/")).reason is Reason.TLS
        assert secure.seen == []


async def test_trouble_in_one_fetch_does_not_spoil_the_next(site: Site, session: HttpSession) -> None:
    site.pages["/bad"] = says(answer(b"abc", length=500))
    assert (await trouble_of(session, "http://shop.test/bad")).reason is Reason.CUT_OFF
    response = await session.fetch("http://shop.test/", timeout=timedelta(seconds=5), max_bytes=100)
    assert response.body == b"hello"
