"""The guard's forward proxy: where it lets a browser go, where it does not, and what it bears."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from gossamer.clock import FrozenClock, SystemClock
from gossamer.errors import UserError
from gossamer.fetch.deny_list import DenyList
from gossamer.fetch.forward_proxy import ForwardProxy, Listen, Permit, ProxyLimits
from gossamer.fetch.forward_proxy.dialing import Dialer
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.resolve import Resolver
from gossamer.model.trouble import Reason
from tests.fetch.conftest import Certificates
from tests.fetch.forward_proxy import ForwardProxy as Upstream
from tests.fetch.loopback import Name, NameServer, Site, answer, until
from tests.servers import free_port


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened


async def start(
    stack: AsyncExitStack,
    resolver: Resolver,
    rules: str = "",
    *,
    allow: str = "",
    never: Path | None = None,
    upstream: str = "",
    **limits: int | timedelta,
) -> ForwardProxy:
    guard = Guard(
        resolver,
        rules=parse_connect_to(rules),
        allow=[ip_network(allow)] if allow else (),
        never=DenyList(never, SystemClock()),
    )
    proxy = ForwardProxy(guard, dialer=Dialer(upstream), limits=ProxyLimits(**limits))  # type: ignore[arg-type]
    return await stack.enter_async_context(proxy)


def signed(way: Permit | None) -> str:
    if way is None:
        return ""
    return f"Proxy-Authorization: Basic {base64.b64encode(f'{way.name}:{way.password}'.encode()).decode()}\r\n"


async def connection(proxy: ForwardProxy) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))


async def say(proxy: ForwardProxy, raw: bytes) -> bytes:
    """All that comes back for some bytes."""
    reader, writer = await connection(proxy)
    try:
        writer.write(raw)
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionResetError:
        return b""
    finally:
        writer.transport.abort()


async def get(proxy: ForwardProxy, way: Permit | None, url: str, *, method: str = "GET", more: str = "") -> bytes:
    return await say(proxy, f"{method} {url} HTTP/1.1\r\nHost: whoever.test\r\n{signed(way)}{more}\r\n".encode())


async def tunnel(proxy: ForwardProxy, way: Permit | None, there: str) -> bytes:
    """The head that a CONNECT is answered with."""
    reader, writer = await connection(proxy)
    try:
        writer.write(f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n{signed(way)}\r\n".encode())
        return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    finally:
        writer.transport.abort()


async def test_a_plain_request_reaches_the_site_as_if_nobody_stood_between(
    stack: AsyncExitStack, resolver: Resolver, site: Site
) -> None:
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}")
    site.pages["/a"] = answer(b"the page", b"X-Own: yes", b"Keep-Alive: timeout=5", b"Connection: keep-alive")
    more = "Accept: text/html\r\nConnection: keep-alive, X-Secret\r\nX-Secret: 1\r\nProxy-Connection: keep-alive\r\n"
    got = await get(proxy, proxy.open_way(), "http://shop.test/a?b=c", more=more)
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"X-Own: yes" in head
    assert b"Connection: close" in head
    assert b"eep-" not in head
    assert body == b"the page"
    (seen,) = site.seen
    assert seen.target == "/a?b=c"
    assert seen.header("host") == "shop.test"
    assert seen.header("accept") == "text/html"
    assert {name.lower() for name, _ in seen.headers} == {"host", "accept", "connection"}


async def test_bodies_are_handed_on_whole_and_chunks_stay_chunks(
    stack: AsyncExitStack, resolver: Resolver, site: Site
) -> None:
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}")
    posted: list[bytes] = []

    async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        posted.append(await reader.readexactly(11))
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nnonsense\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(60)  # it never hangs up by itself

    site.pages["/post"] = post
    reader, writer = await connection(proxy)
    head = f"POST http://shop.test/post HTTP/1.1\r\n{signed(proxy.open_way())}Content-Length: 11\r\n\r\n"
    writer.write(head.encode() + b"hello=world")
    got = await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 10)
    writer.transport.abort()
    assert posted == [b"hello=world"]
    assert got.startswith(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc")


async def test_a_tunnel_carries_tls_to_its_end(
    stack: AsyncExitStack, resolver: Resolver, certificates: Certificates
) -> None:
    site = await stack.enter_async_context(await Site().start(tls=certificates.server()))
    proxy = await start(stack, resolver, f"shop.test=127.0.0.1:{site.port}")
    reader, writer = await connection(proxy)
    writer.write(f"CONNECT shop.test:443 HTTP/1.1\r\n{signed(proxy.open_way())}\r\n".encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    await writer.start_tls(ssl.create_default_context(cafile=certificates.authority), server_hostname="shop.test")
    writer.write(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
    assert (await reader.readuntil(b"hello")).endswith(b"hello")
    writer.transport.abort()


@pytest.mark.parametrize(
    "there",
    ["10.0.0.5", "169.254.169.254", "127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:10.0.0.5]", "localhost"],
)
async def test_what_is_not_public_is_never_connected_to(stack: AsyncExitStack, resolver: Resolver, there: str) -> None:
    proxy = await start(stack, resolver)
    way = proxy.open_way()
    got = await get(proxy, way, f"http://{there}/latest/meta-data/")
    assert got.startswith(b"HTTP/1.1 403 ")
    assert way.mark.encode() in got
    assert (await tunnel(proxy, way, f"{there}:443")).startswith(b"HTTP/1.1 403 ")
    trouble = way.trouble_with("elsewhere.test")
    assert trouble is not None
    assert trouble.reason is Reason.FORBIDDEN_ADDRESS


async def test_names_stand_or_fall_with_all_of_their_addresses(
    stack: AsyncExitStack, resolver: Resolver, site: Site, name_server: NameServer
) -> None:
    name_server.names["inner.example"] = Name(["127.0.0.1"])
    name_server.names["half.example"] = Name(["93.184.216.34", "10.0.0.1"])
    proxy = await start(stack, resolver)
    way = proxy.open_way()
    for name in ("inner.example", "half.example"):
        assert (await get(proxy, way, f"http://{name}:{site.port}/")).startswith(b"HTTP/1.1 403 ")
        assert (await tunnel(proxy, way, f"{name}:{site.port}")).startswith(b"HTTP/1.1 403 ")
    assert site.connections == 0


async def test_a_name_that_changes_its_answer_is_caught(
    stack: AsyncExitStack, name_server: NameServer, site: Site, frozen: FrozenClock
) -> None:
    """Allowed is one address of this machine, which stands for the public web here; the other is inside."""
    outer = await stack.enter_async_context(await Site().start("127.0.0.2", site.port))
    name_server.names["two-faced.example"] = Name(["127.0.0.2"])
    resolver = Resolver(frozen, servers=[name_server.address])
    stack.push_async_callback(resolver.close)
    proxy = await start(stack, resolver, allow="127.0.0.2/32")
    way = proxy.open_way()
    url = f"http://two-faced.example:{site.port}/"
    assert (await get(proxy, way, url)).endswith(b"hello")
    name_server.names["two-faced.example"] = Name(["127.0.0.1"])
    assert (await get(proxy, way, url)).endswith(b"hello")  # what was checked holds, and is what is contacted
    frozen.advance(660)
    assert (await get(proxy, way, url)).startswith(b"HTTP/1.1 403 ")
    assert (await tunnel(proxy, way, f"two-faced.example:{site.port}")).startswith(b"HTTP/1.1 403 ")
    assert outer.connections == 2
    assert site.connections == 0


async def test_all_addresses_of_a_name_are_tried(
    stack: AsyncExitStack, resolver: Resolver, name_server: NameServer
) -> None:
    site = await stack.enter_async_context(await Site().start("127.0.0.3"))
    name_server.names["many.example"] = Name(["127.0.0.2", "127.0.0.3"])
    proxy = await start(stack, resolver, allow="127.0.0.2/31")
    assert (await get(proxy, proxy.open_way(), f"http://many.example:{site.port}/")).endswith(b"hello")


async def test_what_the_operator_never_wants_visited_is_not(
    stack: AsyncExitStack, resolver: Resolver, site: Site, tmp_path: Path
) -> None:
    listed = tmp_path / "never.txt"
    listed.write_text("tracker.test\n")
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}", never=listed)
    way = proxy.open_way()
    assert (await get(proxy, way, "http://pixel.tracker.test/")).startswith(b"HTTP/1.1 403 ")
    assert (await get(proxy, way, "http://shop.test/")).endswith(b"hello")
    trouble = way.trouble_with("pixel.tracker.test")
    assert trouble is not None
    assert trouble.reason is Reason.NEVER_VISIT


@pytest.mark.parametrize("port", [25, 6379, 5432])
async def test_other_services_are_not_spoken_to(stack: AsyncExitStack, resolver: Resolver, port: int) -> None:
    proxy = await start(stack, resolver)
    assert (await tunnel(proxy, proxy.open_way(), f"93.184.216.34:{port}")).startswith(b"HTTP/1.1 403 ")


async def test_nobody_gets_anywhere_without_an_open_way(stack: AsyncExitStack, resolver: Resolver, site: Site) -> None:
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}")
    way, other = proxy.open_way(), proxy.open_way()
    assert (way.name, way.password) != (other.name, other.password)
    assert way.password not in repr(way)
    wrong = Permit(way.url, "", ProxyLimits(), name=way.name, password=other.password)
    for stranger in (None, wrong, Permit(way.url, "", ProxyLimits(), name="ü", password="")):
        got = await get(proxy, stranger, "http://shop.test/")
        assert got.startswith(b"HTTP/1.1 407 ")
        assert b'Proxy-Authenticate: Basic realm="gossamer"' in got
        assert way.mark.encode() not in got
        assert (await tunnel(proxy, stranger, "shop.test:443")).startswith(b"HTTP/1.1 407 ")
    assert (await say(proxy, b"GET http://shop.test/ HTTP/1.1\r\nProxy-Authorization: Basic %%%\r\n\r\n")).startswith(
        b"HTTP/1.1 407 "
    )
    way.close()
    way.close()
    assert (await get(proxy, way, "http://shop.test/")).startswith(b"HTTP/1.1 407 ")
    assert site.connections == 0
    assert (await get(proxy, other, "http://shop.test/")).endswith(b"hello")


async def test_a_way_that_is_closed_cuts_off_what_is_under_way(
    stack: AsyncExitStack, resolver: Resolver, site: Site
) -> None:
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}")
    way = proxy.open_way()
    reader, writer = await connection(proxy)
    writer.write(f"CONNECT shop.test:443 HTTP/1.1\r\n{signed(way)}\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    way.close()
    assert await asyncio.wait_for(_rest(reader), 10) == b""
    assert await until(lambda: site.open_connections == 0)
    writer.transport.abort()


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET ftp://shop.test/ HTTP/1.1\r\n\r\n",
        b"GET https://shop.test/ HTTP/1.1\r\n\r\n",
        b"GET http://[x/ HTTP/1.1\r\n\r\n",
        b"BREW http://shop.test/ HTTP/1.1\r\n\r\n",
        b"CONNECT shop.test HTTP/1.1\r\n\r\n",
        b"CONNECT http://shop.test/ HTTP/1.1\r\n\r\n",
        b"CONNECT user@shop.test:443 HTTP/1.1\r\n\r\n",
        b"GET http://shop.test/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        b"GET http://shop.test/ HTTP/1.1\r\nA : b\r\n\r\n",
        b"GET http://shop.test/ HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
        b"POST http://shop.test/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST http://shop.test/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST http://shop.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST http://shop.test/ HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
        b"GET http://shop.test/" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
async def test_what_is_not_plainly_a_request_goes_nowhere(
    stack: AsyncExitStack, resolver: Resolver, site: Site, raw: bytes
) -> None:
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}")
    first, _, rest = raw.partition(b"\r\n")
    got = await say(proxy, first + b"\r\n" + signed(proxy.open_way()).encode() + rest)
    assert got[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 411", b"HTTP/1.1 413", b"HTTP/1.1 403", b"")
    assert site.connections == 0


async def test_an_address_with_a_password_in_it_goes_nowhere(
    stack: AsyncExitStack, resolver: Resolver, site: Site
) -> None:
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}")
    assert (await get(proxy, proxy.open_way(), "http://me:pw@shop.test/")).startswith(b"HTTP/1.1 403 ")
    assert site.connections == 0


async def test_a_second_request_on_a_connection_is_not_handed_on(
    stack: AsyncExitStack, resolver: Resolver, site: Site
) -> None:
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}")
    one = f"GET http://shop.test/ HTTP/1.1\r\n{signed(proxy.open_way())}\r\n".encode()
    got = await say(proxy, one + b"GET http://10.0.0.1/ HTTP/1.1\r\n\r\n")
    assert got.count(b"HTTP/1.1") == 1
    assert [seen.target for seen in site.seen] == ["/"]


async def test_what_cannot_be_reached_says_so(stack: AsyncExitStack, resolver: Resolver) -> None:
    proxy = await start(stack, resolver, f"shop.test=127.0.0.1:{free_port()}")
    way = proxy.open_way()
    assert (await get(proxy, way, "http://shop.test/")).startswith(b"HTTP/1.1 502 ")
    assert (await get(proxy, way, "http://nowhere.example/")).startswith(b"HTTP/1.1 502 ")
    assert [way.trouble_with(name) for name in ("shop.test", "nowhere.example")] != [None, None]
    found = way.trouble_with("nowhere.example")
    assert found is not None
    assert found.reason is Reason.DNS
    way.forget()
    assert way.trouble_with("shop.test") is None


async def test_a_way_has_only_so_many_connections_and_the_proxy_too(
    stack: AsyncExitStack, resolver: Resolver, site: Site
) -> None:
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}", per_way=2, connections=4)
    greedy, other = proxy.open_way(), proxy.open_way()
    held: list[asyncio.StreamWriter] = []

    async def hold(way: Permit) -> bytes:
        reader, writer = await connection(proxy)
        held.append(writer)  # one that nobody holds is hung up on
        stack.callback(writer.transport.abort)
        writer.write(f"CONNECT shop.test:443 HTTP/1.1\r\n{signed(way)}\r\n".encode())
        try:
            return (await reader.readuntil(b"\r\n\r\n"))[:12]
        except (ConnectionResetError, asyncio.IncompleteReadError):
            return b""

    assert [await hold(greedy) for _ in range(2)] == [b"HTTP/1.1 200"] * 2
    assert await hold(greedy) == b"HTTP/1.1 503"
    assert await until(lambda: len(proxy._tasks) == 2)
    assert [await hold(other) for _ in range(2)] == [b"HTTP/1.1 200"] * 2
    assert await hold(other) == b""
    assert site.connections == 4


async def test_a_way_carries_only_so_much(stack: AsyncExitStack, resolver: Resolver, site: Site) -> None:
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}", bytes_per_way=200_000)
    site.pages["/large"] = answer(b"x" * 500_000)
    way = proxy.open_way()
    assert len(await get(proxy, way, "http://shop.test/large")) < 300_000
    assert way.carried > 200_000
    assert (await get(proxy, way, "http://shop.test/")).startswith(b"HTTP/1.1 503 ")
    assert (await get(proxy, proxy.open_way(), "http://shop.test/")).endswith(b"hello")


async def test_who_says_nothing_is_hung_up_on(stack: AsyncExitStack, resolver: Resolver, site: Site) -> None:
    short = timedelta(seconds=0.2)
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{site.port}", head=short, idle=short)
    reader, writer = await connection(proxy)
    assert await asyncio.wait_for(_rest(reader), 10) == b""
    writer.transport.abort()
    reader, writer = await connection(proxy)
    writer.write(f"CONNECT shop.test:443 HTTP/1.1\r\n{signed(proxy.open_way())}\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    assert await asyncio.wait_for(_rest(reader), 10) == b""
    writer.transport.abort()


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
async def test_behind_the_operators_proxy_the_guard_holds_as_ever(
    stack: AsyncExitStack, resolver: Resolver, site: Site, name_server: NameServer, scheme: str
) -> None:
    name_server.names["shop.example"] = Name(["93.184.216.34"])
    name_server.names["inner.example"] = Name(["10.0.0.5"])
    theirs = await stack.enter_async_context(Upstream(site.port, credentials="me:pw"))
    proxy = await start(stack, resolver, upstream=f"{scheme}://me:pw@127.0.0.1:{theirs.port}")
    way = proxy.open_way()
    assert (await get(proxy, way, "http://shop.example/")).endswith(b"hello")
    assert (await tunnel(proxy, way, "shop.example:443")).startswith(b"HTTP/1.1 200 ")
    assert (await get(proxy, way, "http://inner.example/")).startswith(b"HTTP/1.1 403 ")
    asked = {
        "http": ["http://shop.example/", "shop.example:443"],
        "socks5": ["93.184.216.34"] * 2,
        "socks5h": ["shop.example"] * 2,
    }
    assert theirs.asked == asked[scheme]


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
async def test_a_proxy_of_the_operators_that_refuses_is_told(
    stack: AsyncExitStack, resolver: Resolver, site: Site, name_server: NameServer, scheme: str
) -> None:
    name_server.names["shop.example"] = Name(["93.184.216.34"])
    for credentials, refuses in (("me:pw", True), ("others:pw", False)):
        theirs = await stack.enter_async_context(Upstream(site.port, credentials=credentials, refuses=refuses))
        proxy = await start(stack, resolver, upstream=f"{scheme}://me:pw@127.0.0.1:{theirs.port}")
        assert (await tunnel(proxy, proxy.open_way(), "shop.example:443")).startswith(b"HTTP/1.1 502 ")
    assert site.connections == 0


async def test_each_of_several_takes_a_port_of_its_own(stack: AsyncExitStack, resolver: Resolver, site: Site) -> None:
    listen = Listen("127.0.0.1", (site.port, 0), "gossamer")
    proxy = await stack.enter_async_context(ForwardProxy(Guard(resolver), listen))
    assert proxy.url.startswith("http://gossamer:")
    assert proxy.url != f"http://gossamer:{site.port}"
    with pytest.raises(UserError, match=f"Nothing can listen on 127.0.0.1, port {site.port}"):
        await stack.enter_async_context(ForwardProxy(Guard(resolver), Listen("127.0.0.1", (site.port,))))


async def test_why_a_page_did_not_come_is_known_among_all_that_a_browser_asks_for(
    stack: AsyncExitStack, resolver: Resolver, site: Site, name_server: NameServer
) -> None:
    name_server.names["inner.example"] = Name(["127.0.0.1"])
    proxy = await start(stack, resolver, f"*.test=127.0.0.1:{free_port()}")
    way = proxy.open_way()
    await get(proxy, way, "http://updates.example/")  # of the browser's own
    page = (await get(proxy, way, "http://inner.example/")).decode()
    gone = (await get(proxy, way, "http://shop.test/")).decode()
    found = [way.said_by_proxy(text) for text in (page, gone, "<title>403 Forbidden</title>")]
    assert [one.reason if one else None for one in found] == [Reason.FORBIDDEN_ADDRESS, Reason.UNREACHABLE, None]
    tunnelled = [way.trouble_with(host) for host in ("led-there.test", "shop.test")]
    assert [one.reason if one else None for one in tunnelled] == [Reason.FORBIDDEN_ADDRESS, Reason.UNREACHABLE]
