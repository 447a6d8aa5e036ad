"""Nothing is sent into networks that are not public: by no spelling, no name, no change of it, no redirect."""

from collections.abc import AsyncIterator
from datetime import timedelta
from ipaddress import ip_network

import pytest

from gossamer.clock import SystemClock
from gossamer.errors import UserError
from gossamer.fetch.guard import Guard
from gossamer.fetch.post import Poster
from gossamer.fetch.resolve import Resolver
from gossamer.model.money import ACCOUNT
from gossamer.webhooks import service as webhook_service
from tests.conftest import AnyDatabase
from tests.fetch.loopback import Name, NameServer
from tests.fetch.test_guard import FORBIDDEN, NOT_WEB, NoLookup
from tests.webhooks.conftest import SEALS
from tests.webhooks.listener import Listener


@pytest.fixture
async def name_server() -> AsyncIterator[NameServer]:
    server = await NameServer().start()
    yield server
    server.close()


def own_networks(resolver: Resolver, *networks: str) -> Poster:
    guard = Guard(resolver, allow=[ip_network(one) for one in networks])
    return Poster(guard, SystemClock(), timeout=timedelta(seconds=2))


async def test_no_spelling_of_an_address_is_sent_to() -> None:
    poster = Poster(Guard(NoLookup()), SystemClock())
    for url in (*FORBIDDEN, *NOT_WEB):
        heard = await poster.post(url, {}, b"{}")
        assert heard.status is None, url
        assert heard.error, url
        assert await poster.refusal(url), url


async def test_a_name_without_an_address_is_said_to_be_that(database: AnyDatabase, name_server: NameServer) -> None:
    resolver = Resolver(SystemClock(), servers=[name_server.address])
    with pytest.raises(UserError, match="Its name has no address: check the spelling") as caught:
        await webhook_service.add(database, own_networks(resolver), SEALS, ACCOUNT, "https://hooks.nowhere.example/")
    await resolver.close()
    assert caught.value.code == "webhook.address"
    assert "public internet" not in caught.value.hint


async def test_the_same_are_refused_when_they_are_given(database: AnyDatabase) -> None:
    poster = Poster(Guard(NoLookup()), SystemClock())
    for url in (
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "http://localhost/",
        "http://10.0.0.7:8080/",
    ):
        with pytest.raises(UserError) as caught:
            await webhook_service.add(database, poster, SEALS, ACCOUNT, url)
        assert caught.value.code == "webhook.address"
        assert url in caught.value.message
        assert "GOSSAMER_ALLOW_NETWORKS" in caught.value.hint
    for url in ("ftp://example.com/", "example.com", f"https://example.com/{'x' * 2000}"):
        with pytest.raises(UserError) as caught:
            await webhook_service.add(database, poster, SEALS, ACCOUNT, url)
        assert caught.value.code == "webhook.url"
    assert await webhook_service.everything(database, ACCOUNT) == []


async def test_a_name_that_leads_inside_is_not_followed_there(name_server: NameServer, listener: Listener) -> None:
    """Also one that was fit when it was given: it is looked up for every message."""
    name_server.names["rebind.example"] = Name(["93.184.216.34"])
    earlier = Resolver(SystemClock(), servers=[name_server.address])
    assert await own_networks(earlier).refusal(f"http://rebind.example:{listener.port}/") == ""
    name_server.names["rebind.example"] = Name(["93.184.216.34", "127.0.0.1"])
    later = Resolver(SystemClock(), servers=[name_server.address])
    heard = await own_networks(later).post(f"http://rebind.example:{listener.port}/", {}, b"{}")
    assert heard.status is None
    assert "127.0.0.1" in heard.error
    assert listener.received == []
    await earlier.close()
    await later.close()


async def test_a_network_that_the_operator_allows_is_sent_to(name_server: NameServer, listener: Listener) -> None:
    name_server.names["hooks.example"] = Name(["127.0.0.1"])
    resolver = Resolver(SystemClock(), servers=[name_server.address])
    poster = own_networks(resolver, "127.0.0.0/8")
    for host in ("hooks.example", "127.0.0.1"):
        heard = await poster.post(f"http://{host}:{listener.port}/in", {"webhook-id": "msg_1"}, b"{}")
        assert heard.status == 204
    assert [one.headers["host"] for one in listener.received] == [
        f"hooks.example:{listener.port}",
        f"127.0.0.1:{listener.port}",
    ]
    await resolver.close()


async def test_a_redirect_leads_nowhere(name_server: NameServer, listener: Listener) -> None:
    name_server.names["hooks.example"] = Name(["127.0.0.1"])
    resolver = Resolver(SystemClock(), servers=[name_server.address])
    for status in (301, 302, 303, 307, 308):
        listener.answers = [(status, {"location": f"http://127.0.0.1:{listener.port}/elsewhere"})]
        heard = await own_networks(resolver, "127.0.0.0/8").post(f"http://hooks.example:{listener.port}/", {}, b"{}")
        assert heard.status == status
    assert len(listener.received) == 5
    await resolver.close()


async def test_a_name_without_an_address_is_said_at_once_and_silence_is_not_held_against_it(
    name_server: NameServer,
) -> None:
    resolver = Resolver(SystemClock(), servers=[name_server.address])
    assert await own_networks(resolver).refusal("https://nobody.example/")
    await resolver.close()
    silent = Resolver(SystemClock(), servers=["127.0.0.1:9"], patience=timedelta(seconds=0.1))
    assert await own_networks(silent).refusal("https://nobody.example/") == ""
    await silent.close()
