"""The operator's proxy: what goes through it, what does not, and what is said when it fails.

shop.example resolves to a public address that nobody contacts here: whatever arrives came through the proxy.
"""

import socket
from collections.abc import Callable
from datetime import timedelta

import pytest

from gossamer.clock import SystemClock
from gossamer.fetch import FetchError
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.http import HttpRung, HttpSession, read_trust
from gossamer.fetch.resolve import Resolver
from gossamer.model.document import Response
from gossamer.model.trouble import Reason, Trouble
from tests.fetch.conftest import Certificates
from tests.fetch.forward_proxy import ForwardProxy
from tests.fetch.loopback import Name, NameServer, Site, answer

PUBLIC = "93.184.216.34"
Through = Callable[..., HttpSession]


@pytest.fixture
def through(resolver: Resolver, name_server: NameServer) -> Through:
    """A session that goes out through the proxy at an address."""
    name_server.names |= {"shop.example": Name([PUBLIC]), "hidden.example": Name(["10.0.0.5"])}

    def make(proxy: str, rules: str = "", ca: Certificates | None = None) -> HttpSession:
        guard = Guard(resolver, rules=parse_connect_to(rules))
        trust = read_trust(ca.authority) if ca else None
        rung = HttpRung(guard, SystemClock(), connect_timeout=timedelta(seconds=1), trust=trust, proxy=proxy)
        return rung.session(seed=0)

    return make


async def get(session: HttpSession, url: str) -> Response:
    return await session.fetch(url, timeout=timedelta(seconds=5), max_bytes=1_000)


async def trouble_of(session: HttpSession, url: str) -> Trouble:
    with pytest.raises(FetchError) as caught:
        await get(session, url)
    return caught.value.trouble


async def test_a_page_comes_through_the_proxy(site: Site, through: Through) -> None:
    async with ForwardProxy(site.port) as proxy:
        response = await get(through(f"http://127.0.0.1:{proxy.port}"), "http://shop.example/a?b=c")
    assert (response.status, response.url) == (404, "http://shop.example/a?b=c")
    assert proxy.asked == ["http://shop.example/a?b=c"]
    assert (site.seen[0].target, site.seen[0].header("host")) == ("/a?b=c", "shop.example")


async def test_an_encrypted_page_comes_through_a_tunnel(
    certificates: Certificates, through: Through, name_server: NameServer
) -> None:
    name_server.names["shop.test"] = Name([PUBLIC])
    async with (
        await Site().start(tls=certificates.server()) as secure,
        ForwardProxy(secure.port, credentials="me:s3cret") as proxy,
    ):
        session = through(f"http://me:s3cret@127.0.0.1:{proxy.port}", ca=certificates)
        assert (await get(session, "https://shop.test/")).body == b"hello"
        assert proxy.asked == ["shop.test:443"]
        assert secure.seen[0].header("proxy-authorization") == ""


@pytest.mark.parametrize(("scheme", "asked"), [("socks5", PUBLIC), ("socks5h", "shop.example")])
async def test_a_socks_proxy_is_given_the_checked_address_or_the_name(
    scheme: str, asked: str, site: Site, through: Through
) -> None:
    async with ForwardProxy(site.port, credentials="me:s3cret") as proxy:
        session = through(f"{scheme}://me:s3cret@127.0.0.1:{proxy.port}")
        assert (await get(session, "http://shop.example/")).body == b"hello"
    assert proxy.asked == [asked]


async def test_credentials_may_hold_any_character(site: Site, through: Through) -> None:
    async with ForwardProxy(site.port, credentials="m@e:p:w/") as proxy:
        session = through(f"http://m%40e:p%3Aw%2F@127.0.0.1:{proxy.port}")
        assert (await get(session, "http://shop.example/")).status == 200


async def test_what_the_guard_refuses_never_reaches_the_proxy(site: Site, through: Through) -> None:
    async with ForwardProxy(site.port) as proxy:
        session = through(f"http://127.0.0.1:{proxy.port}")
        for url in ("http://hidden.example/", "http://127.0.0.1/", "http://localhost/"):
            assert (await trouble_of(session, url)).reason is Reason.FORBIDDEN_ADDRESS
        assert (await trouble_of(session, "http://gone.example/")).reason is Reason.DNS
    assert proxy.asked == []


async def test_a_name_with_a_rule_is_contacted_directly(site: Site, through: Through) -> None:
    async with ForwardProxy(site.port) as proxy:
        session = through(f"http://127.0.0.1:{proxy.port}", rules=f"*.test=127.0.0.1:{site.port}")
        assert (await get(session, "http://shop.test/")).body == b"hello"
        assert proxy.asked == []
        await get(session, "http://shop.example/")
        assert proxy.asked == ["http://shop.example/"]


async def test_proxy_variables_change_nothing(site: Site, through: Through, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ForwardProxy(site.port) as proxy, Site() as other:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{other.port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "shop.example,127.0.0.1")
        assert (await get(through(f"http://127.0.0.1:{proxy.port}"), "http://shop.example/")).status == 200
        assert (len(proxy.asked), other.connections) == (1, 0)


@pytest.mark.parametrize("url", ["http://shop.example/", "https://shop.example/"])
@pytest.mark.parametrize("user", ["", "me:wrong@"])
async def test_a_proxy_that_wants_other_credentials_is_not_the_site(
    url: str, user: str, site: Site, through: Through
) -> None:
    async with ForwardProxy(site.port, credentials="me:s3cret") as proxy:
        trouble = await trouble_of(through(f"http://{user}127.0.0.1:{proxy.port}"), url)
    assert trouble == Trouble(Reason.PROXY, "it asks for other credentials")
    assert "wrong" not in trouble.sentence
    assert site.connections == 0


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
@pytest.mark.parametrize("url", ["http://shop.example/", "https://shop.example/"])
async def test_a_proxy_that_is_down_is_said_to_be(scheme: str, url: str, through: Through) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        session = through(f"{scheme}://me:s3cret@127.0.0.1:{unused.getsockname()[1]}")
        assert await trouble_of(session, url) == Trouble(Reason.PROXY, "no server answers there")


async def test_a_proxy_without_address_is_said_to_have_none(through: Through) -> None:
    session = through("http://me:s3cret@proxy.invalid:3128")
    assert await trouble_of(session, "http://shop.example/") == Trouble(Reason.PROXY, "its name has no address")


async def test_a_tunnel_that_is_refused_is_the_proxys_trouble(site: Site, through: Through) -> None:
    async with ForwardProxy(site.port, refuses=True) as proxy:
        session = through(f"http://127.0.0.1:{proxy.port}")
        trouble = await trouble_of(session, "https://shop.example/")
    assert trouble == Trouble(Reason.PROXY, "it would not connect to the site")


@pytest.mark.parametrize(("refuses", "user"), [(True, "me:s3cret"), (False, "me:wrong")])
async def test_a_socks_proxy_that_refuses_is_the_proxys_trouble(
    refuses: bool, user: str, site: Site, through: Through
) -> None:
    async with ForwardProxy(site.port, credentials="me:s3cret", refuses=refuses) as proxy:
        trouble = await trouble_of(through(f"socks5h://{user}@127.0.0.1:{proxy.port}"), "http://shop.example/")
    assert trouble == Trouble(Reason.PROXY, "no connection through it")


async def test_without_a_proxy_that_status_is_an_answer_of_the_site(site: Site, session: HttpSession) -> None:
    site.pages["/"] = answer(b"who?", status=b"407 Proxy Authentication Required")
    assert (await get(session, "http://shop.test/")).status == 407


async def test_credentials_are_in_no_text_of_the_error(site: Site, through: Through) -> None:
    async with ForwardProxy(site.port, credentials="me:other") as proxy:
        with pytest.raises(FetchError) as caught:
            await get(through(f"http://me:s3cret@127.0.0.1:{proxy.port}"), "https://shop.example/")
    assert "s3cret" not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__cause__}"
