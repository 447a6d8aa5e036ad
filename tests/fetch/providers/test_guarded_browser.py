"""A browser of the operator's own behind the guard: where FlareSolverr is led, it gets only to where it may."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from gossamer.clock import FrozenClock, SystemClock
from gossamer.fetch import FetchError
from gossamer.fetch.forward_proxy import ForwardProxy, Permit
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.providers import ProviderAccess, Providers, open_provider
from gossamer.fetch.resolve import Resolver
from gossamer.gate.local import MemoryPlaces
from gossamer.model.trouble import Reason
from gossamer_sandbox.providers import emulate
from tests.fetch.loopback import Name, NameServer, Site, answer
from tests.fetch.providers.conftest import PATIENCE, OpenWay
from tests.sandbox.providers.recorded import HOST
from tests.servers import free_port


@pytest.fixture
async def inside() -> AsyncIterator[Site]:
    """What nobody outside should ever reach."""
    async with Site() as site:
        yield site


async def test_every_request_of_the_browser_comes_through_the_guard(open_way: OpenWay, target: Site) -> None:
    target.pages["/"] = answer(b"<title>Home</title><img src='/a.png'><script src='http://cdn.test/b.js'></script>")
    response = await (await open_way("flaresolverr")).get()
    assert response.status == 200
    assert [seen.target for seen in target.seen] == ["/", "/a.png", "/b.js"]
    assert {seen.header("host") for seen in target.seen} == {HOST, "cdn.test"}
    assert {seen.header("proxy-authorization") for seen in target.seen} == {""}


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_redirect_inside_ends_at_the_guard(
    open_way: OpenWay, target: Site, inside: Site, name_server: NameServer, scheme: str
) -> None:
    name_server.names["inner.example"] = Name(["127.0.0.1"])
    where = f"{scheme}://inner.example:{inside.port}/admin".encode()
    target.pages["/away"] = answer(b"", b"Location: " + where, status=b"302 Found")
    error = await (await open_way("flaresolverr")).error(f"http://{HOST}/away")
    assert error.trouble.reason is Reason.FORBIDDEN_ADDRESS
    assert "inner.example leads to 127.0.0.1" in error.trouble.detail
    assert error.credits == 0
    assert inside.connections == 0


async def test_what_a_page_pulls_in_from_inside_does_not_come_and_the_page_does(
    open_way: OpenWay, target: Site, inside: Site, name_server: NameServer
) -> None:
    name_server.names["inner.example"] = Name(["127.0.0.1"])
    body = (
        f"<title>Shop</title><p>CRM software</p><img src='http://inner.example:{inside.port}/cgi?delete=all'>"
        f"<iframe src='https://inner.example:{inside.port}/'></iframe><script src='http://10.1.2.3/x.js'></script>"
        f"<img src='/own.png'>"
    )
    target.pages["/"] = answer(body.encode())
    response = await (await open_way("flaresolverr")).get()
    assert b"CRM software" in response.body
    assert [seen.target for seen in target.seen] == ["/", "/own.png"]
    assert inside.connections == 0


async def test_a_name_that_changes_between_our_look_and_the_browsers_is_caught(
    name_server: NameServer, frozen: FrozenClock, inside: Site
) -> None:
    """The name is public while we look, and inside when the browser asks."""
    name_server.names["two-faced.example"] = Name(["93.184.216.34"])
    ours, theirs = (Resolver(frozen, servers=[name_server.address]) for _ in range(2))
    clock = SystemClock()
    url = f"http://two-faced.example:{inside.port}/"
    try:
        async with emulate("flaresolverr", "") as running, ForwardProxy(Guard(theirs)) as forward:
            access = {"flaresolverr": ProviderAccess(url=running.url)}
            desk = Providers(access, clock, MemoryPlaces(clock), holder="test", forward=forward)
            session = open_provider("flaresolverr", desk, Guard(ours))
            await session.admit(url)
            name_server.names["two-faced.example"] = Name(["127.0.0.1"])
            with pytest.raises(FetchError, match=r"two-faced\.example leads to 127\.0\.0\.1, this machine"):
                await session.fetch(url, timeout=PATIENCE, max_bytes=1_000)
            await session.close()
    finally:
        await ours.close()
        await theirs.close()
    assert inside.connections == 0


async def test_a_proxy_that_flaresolverr_does_not_reach_fails_no_page(resolver: Resolver, target: Site) -> None:
    """A container has a loopback of its own: that is a matter of settings, and is said as one."""
    clock = SystemClock()
    rules = f"*.test=127.0.0.1:{target.port}"

    class Elsewhere(ForwardProxy):
        def open_way(self) -> Permit:
            way = super().open_way()
            way.url = f"http://127.0.0.1:{free_port()}"
            return way

    guard = Guard(resolver, rules=parse_connect_to(rules))
    async with emulate("flaresolverr", rules) as running, Elsewhere(guard) as forward:
        desk = Providers(
            {"flaresolverr": ProviderAccess(url=running.url)},
            clock,
            MemoryPlaces(clock),
            holder="test",
            forward=forward,
        )
        session = open_provider("flaresolverr", desk, guard)
        with pytest.raises(FetchError, match="does not reach our forward proxy") as caught:
            await session.fetch(f"http://{HOST}/", timeout=timedelta(seconds=30), max_bytes=1_000)
        await session.close()
    assert caught.value.trouble.reason is Reason.PROVIDER_AWAY
    assert target.connections == 0
