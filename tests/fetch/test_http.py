"""One request over the direct rung: what is sent, what comes back, and how much of it."""

import asyncio
import base64
import gzip
import zlib
from datetime import timedelta
from typing import Any

import pytest

from gossamer.fetch import FetchError
from gossamer.fetch.http import HttpSession
from gossamer.model.document import Response
from gossamer.model.trouble import Reason, Trouble
from tests.fetch.conftest import MakeSession
from tests.fetch.loopback import Site, answer, open_files, peak_memory, until

BROTLI = base64.b64decode("GyYA+B2pU5+7cC1WhiYnQdjoki3tLYiKBmZm/AI=")
ZSTD = base64.b64decode("KLUv/SAhjQAAWGhlbGxvIHpzdGQgAQBWihc=")

# One gigabyte of zeros each, compressed by brotli and zstd, and once more to fit here.
BROTLI_BOMB = zlib.decompress(
    base64.b64decode(
        "eNo7//9/PYMKw6ONDkXv///8/5+/gcVBRqzh3V/7////M05g6DjMdGHv/+f//9szCDEURjDs+v7/z///7A5MCnzcDt//zQeqYvBgOJLI"
        "+OLe/8///8szcDZY6DDc/V3/7/9/ZgVGgXbWBdX/z0Mt2cBQMmrJqCVD0RJ7APFnrt4="
    )
)
ZSTD_BOMB = zlib.decompress(
    base64.b64decode(
        "eNrtxrENgCAABMCHCRyDzpo9HMIF7dnLGHAPrrjk2nN+ua/kSEre2Uet/wEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABgZyVZ"
        "DmNF2Q=="
    )
)


async def get(session: HttpSession, url: str, max_bytes: int = 1_000_000, **options: Any) -> Response:
    return await session.fetch(url, timeout=timedelta(seconds=10), max_bytes=max_bytes, **options)


async def trouble_of(session: HttpSession, url: str, max_bytes: int = 1_000_000) -> Trouble:
    with pytest.raises(FetchError) as caught:
        await get(session, url, max_bytes)
    return caught.value.trouble


async def test_a_page_arrives_with_everything_that_describes_it(site: Site, session: HttpSession) -> None:
    site.pages["/a"] = answer(b"<p>hello", b"Content-Type: text/html; charset=utf-8", b"X-Name: caf\xe9")
    response = await get(session, "http://shop.test/a?b=%20c")
    assert response.status == 200
    assert response.body == b"<p>hello"
    assert response.content_type == "text/html"
    assert response.header("x-name") == "café"
    assert response.rung == "direct"
    assert site.seen[0].target == "/a?b=%20c"


async def test_repeated_headers_are_joined(site: Site, session: HttpSession) -> None:
    site.pages["/"] = answer(b"", b"X-Robots-Tag: noindex", b"x-robots-tag: nofollow")
    assert (await get(session, "http://shop.test/")).header("x-robots-tag") == "noindex, nofollow"


async def test_the_port_of_a_rule_is_never_seen_by_the_site_nor_in_the_response(
    site: Site, session: HttpSession
) -> None:
    response = await get(session, "http://shop.test/a")
    assert (response.requested, response.url, response.hops) == ("http://shop.test/a", "http://shop.test/a", ())
    assert site.seen[0].header("host") == "shop.test"


async def test_a_redirect_is_handed_back_and_not_followed(site: Site, session: HttpSession) -> None:
    site.pages["/"] = answer(b"", b"Location: http://other.test/", status=b"302 Found")
    response = await get(session, "http://shop.test/")
    assert (response.status, response.header("location")) == (302, "http://other.test/")
    assert len(site.seen) == 1


@pytest.mark.parametrize("status", [204, 304, 404, 410, 429, 500, 503, 999])
async def test_every_status_is_an_answer(status: int, site: Site, session: HttpSession) -> None:
    site.pages["/"] = answer(b"", status=b"%d Whatever" % status)
    assert (await get(session, "http://shop.test/")).status == status


@pytest.mark.parametrize(
    ("encoding", "data", "body"),
    [
        (b"gzip", gzip.compress(b"hello gzip", mtime=0), b"hello gzip"),
        (b"br", BROTLI, b"hello brotli " * 3),
        (b"zstd", ZSTD, b"hello zstd " * 3),
        (b"deflate", zlib.compress(b"hello zlib"), b"hello zlib"),
        (b"deflate", zlib.compress(b"hello raw")[2:-4], b"hello raw"),
        (b"GZIP", gzip.compress(b"hello shouting", mtime=0), b"hello shouting"),
        (b"x-gzip", gzip.compress(b"hello history", mtime=0), b"hello history"),
        (b"utf-8", b"hello confusion", b"hello confusion"),
        (b"gzip", b"", b""),
    ],
)
async def test_compressed_bodies_arrive_inflated(
    encoding: bytes, data: bytes, body: bytes, site: Site, session: HttpSession
) -> None:
    site.pages["/"] = answer(data, b"Content-Encoding: " + encoding)
    assert (await get(session, "http://shop.test/")).body == body


async def test_headers_no_browser_minds_are_not_minded_here(site: Site, session: HttpSession) -> None:
    many = b"\r\n".join(b"Set-Cookie: c%d=1" % number for number in range(150))
    site.pages["/"] = answer(b"fine", b"Broken Header", b"X-Space : 1", b"X-Folded: a\r\n b", many)
    response = await get(session, "http://shop.test/")
    assert (response.body, response.header("x-space"), response.header("x-folded")) == (b"fine", "1", "a b")


async def test_cookies_are_kept_between_the_hosts_of_a_visit_and_not_between_visits(
    site: Site, make_session: MakeSession
) -> None:
    rules = f"*.test=127.0.0.1:{site.port}"
    site.pages["/"] = answer(b"", b"Set-Cookie: taste=oat; Domain=shop.test; Path=/")
    one, other = make_session(rules), make_session(rules)
    await get(one, "http://shop.test/")
    await get(one, "http://www.shop.test/")
    await get(other, "http://shop.test/")
    assert [seen.header("cookie") for seen in site.seen] == ["", "taste=oat", ""]


async def test_a_connection_is_used_again(site: Site, session: HttpSession) -> None:
    for _ in range(5):
        await get(session, "http://shop.test/")
    assert (len(site.seen), site.connections) == (5, 1)


async def test_the_fifth_host_closes_the_least_recently_used(site: Site, session: HttpSession) -> None:
    for host in ("a", "b", "c", "d", "a", "e"):
        await get(session, f"http://{host}.test/")
    assert await until(lambda: site.open_connections == 4)
    await get(session, "http://a.test/")
    assert site.connections == 5
    await get(session, "http://b.test/")
    assert site.connections == 6


async def test_a_body_that_is_not_wanted_is_left_with_the_server(site: Site, session: HttpSession) -> None:
    async def endless(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n")
        while True:
            writer.write(bytes(65_536))
            await writer.drain()

    site.pages["/film"] = endless
    asked: list[tuple[int, str]] = []

    def wanted(status: int, headers: Any) -> bool:
        asked.append((status, headers["content-type"]))
        return False

    response = await get(session, "http://shop.test/film", accept=wanted)
    assert (response.status, response.body, response.content_type) == (200, b"", "video/mp4")
    assert asked == [(200, "video/mp4")]
    assert await until(lambda: site.open_connections == 0)


async def test_the_connection_of_a_body_that_is_not_wanted_is_not_used_again(site: Site, session: HttpSession) -> None:
    await get(session, "http://shop.test/", accept=lambda *_: False)
    assert (await get(session, "http://shop.test/")).body == b"hello"
    assert (len(site.seen), site.connections) == (2, 2)


async def test_a_body_that_is_wanted_is_read(site: Site, session: HttpSession) -> None:
    assert (await get(session, "http://shop.test/", accept=lambda status, _: status == 200)).body == b"hello"


async def test_a_page_of_just_the_limit_passes_and_one_byte_more_does_not(site: Site, session: HttpSession) -> None:
    site.pages["/fits"] = answer(bytes(1_000))
    site.pages["/more"] = answer(bytes(1_001))
    assert len((await get(session, "http://shop.test/fits", max_bytes=1_000)).body) == 1_000
    trouble = await trouble_of(session, "http://shop.test/more", max_bytes=1_000)
    assert trouble == Trouble(Reason.TOO_LARGE, "over 1 KB")


async def test_an_announced_size_is_refused_before_the_body_comes(site: Site, session: HttpSession) -> None:
    async def announce_only(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000001\r\n\r\n")
        await asyncio.sleep(60)

    site.pages["/"] = announce_only
    trouble = await trouble_of(session, "http://shop.test/", max_bytes=10_000_000)
    assert trouble == Trouble(Reason.TOO_LARGE, "over 10 MB")


async def test_an_endless_body_without_announced_size_ends_at_the_limit(site: Site, session: HttpSession) -> None:
    async def endless(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"10000\r\n" + bytes(65_536) + b"\r\n")
            await writer.drain()

    site.pages["/"] = endless
    assert (await trouble_of(session, "http://shop.test/")).reason is Reason.TOO_LARGE
    assert await until(lambda: site.open_connections == 0)


@pytest.mark.parametrize("encoding", [b"identity", b"gzip", b"GZIP"])
async def test_a_long_body_can_be_cut_instead_of_refused(encoding: bytes, site: Site, session: HttpSession) -> None:
    text = b"Disallow: /\n" * 10_000
    data = text if encoding == b"identity" else gzip.compress(text)
    site.pages["/robots.txt"] = answer(data, b"Content-Encoding: " + encoding)
    response = await get(session, "http://shop.test/robots.txt", max_bytes=500, truncate=True)
    assert response.body == text[:500]
    assert await until(lambda: site.open_connections <= 1)


@pytest.fixture(scope="module")
def bombs() -> dict[str, bytes]:
    stream = zlib.compressobj(1, wbits=31)
    gzipped = b"".join(stream.compress(bytes(1_000_000)) for _ in range(500)) + stream.flush()
    twice = gzip.compress(gzipped)
    return {"gzip": gzipped, "GZIP": gzipped, "gzip, gzip": twice, "br": BROTLI_BOMB, "zstd": ZSTD_BOMB}


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "gzip, gzip", "br", "zstd"])
async def test_a_bomb_is_put_down_at_the_limit_with_memory_flat(
    encoding: str, bombs: dict[str, bytes], site: Site, session: HttpSession
) -> None:
    site.pages["/"] = answer(bombs[encoding], b"Content-Encoding: " + encoding.encode())
    await get(session, "http://shop.test/none")
    before = peak_memory()
    trouble = await trouble_of(session, "http://shop.test/", max_bytes=10_000_000)
    assert trouble == Trouble(Reason.TOO_LARGE, "over 10 MB")
    # The limit itself, a decompressor's window of up to 16 MB, and air: hundreds of megabytes were on offer.
    assert peak_memory() - before < 60_000_000


async def test_a_fetch_that_is_cancelled_leaves_no_socket_behind(site: Site, make_session: MakeSession) -> None:
    async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def dripping(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)

    site.pages |= {"/silent": silent, "/dripping": dripping}
    sessions = [make_session(f"*.test=127.0.0.1:{site.port}") for _ in range(25)]
    await get(sessions[0], "http://warm.test/")
    assert await until(lambda: site.open_connections == 1)
    before = open_files()
    for path in ("/silent", "/dripping") * 2:
        tasks = [asyncio.create_task(get(one, f"http://shop.test{path}")) for one in sessions for _ in range(4)]
        assert await until(lambda: site.open_connections == 101)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(result) for result in results} == {asyncio.CancelledError}
        assert await until(lambda: site.open_connections == 1)
    assert await until(lambda: open_files() <= before)


async def test_closing_gives_back_every_connection_and_ends_the_session(site: Site, session: HttpSession) -> None:
    for host in ("a", "b", "c"):
        await get(session, f"http://{host}.test/")
    assert site.open_connections == 3
    await session.close()
    await session.close()
    assert await until(lambda: site.open_connections == 0)
    with pytest.raises(RuntimeError):
        await get(session, "http://a.test/")


async def test_proxy_variables_are_not_obeyed(
    site: Site, session: HttpSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Site() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await get(session, "http://shop.test/")).status == 200
        assert (len(site.seen), proxy.connections) == (1, 0)


async def test_many_sessions_fetch_side_by_side(site: Site, make_session: MakeSession) -> None:
    sessions = [make_session(f"*.test=127.0.0.1:{site.port}") for _ in range(200)]
    responses = await asyncio.gather(*(get(one, f"http://s{n}.test/") for n, one in enumerate(sessions)))
    assert {response.status for response in responses} == {200}
    assert {seen.header("host") for seen in site.seen} == {f"s{n}.test" for n in range(200)}
