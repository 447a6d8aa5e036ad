"""What was checked is what is contacted, whatever the name says a moment later.

The public address and the one behind it are played by 127.0.0.2, which the operator has allowed, and 127.0.0.3, which
nobody has. Both serve on the same port.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_network

import pytest

from gossamer.clock import FrozenClock
from gossamer.fetch import FetchError
from gossamer.fetch.guard import Clearance, Guard
from gossamer.fetch.http import HttpRung, HttpSession
from gossamer.fetch.resolve import Resolver
from gossamer.model.document import Response
from gossamer.model.trouble import Reason
from tests.fetch.loopback import Name, NameServer, Site, answer


@dataclass
class Town:
    """Two servers, a name server and a session whose clock is moved by hand."""

    allowed: Site
    hidden: Site
    names: NameServer
    clock: FrozenClock
    resolver: Resolver

    def session(self, *networks: str) -> HttpSession:
        guard = Guard(self.resolver, allow=[ip_network(network) for network in networks])
        return HttpRung(guard, self.clock).session(seed=0)

    async def get(self, session: HttpSession, host: str = "shop.example") -> Response:
        url = f"http://{host}:{self.allowed.port}/"
        return await session.fetch(url, timeout=timedelta(seconds=5), max_bytes=1_000)


@pytest.fixture
async def town(name_server: NameServer, frozen: FrozenClock) -> AsyncIterator[Town]:
    resolver = Resolver(frozen, servers=[name_server.address])
    async with await Site().start("127.0.0.2") as allowed, await Site().start("127.0.0.3", allowed.port) as hidden:
        hidden.pages["/"] = answer(b"secret")
        yield Town(allowed, hidden, name_server, frozen, resolver)
    await resolver.close()


async def test_a_name_that_changes_its_mind_after_the_check_changes_nothing(town: Town) -> None:
    town.names.names["shop.example"] = Name(["127.0.0.2"], ttl=0)
    session = town.session("127.0.0.2/32")
    assert (await town.get(session)).body == b"hello"
    town.names.names["shop.example"].addresses = ["127.0.0.3"]
    assert (await town.get(session)).body == b"hello"
    assert [seen.far for seen in town.allowed.seen] == ["127.0.0.2", "127.0.0.2"]
    assert town.hidden.connections == 0


async def test_a_new_connection_after_the_change_still_goes_to_the_checked_address(town: Town) -> None:
    town.names.names["shop.example"] = Name(["127.0.0.2"], ttl=0)
    town.allowed.pages["/"] = answer(b"once", b"Connection: close")
    session = town.session("127.0.0.2/32")
    for _ in range(3):
        assert (await town.get(session)).body == b"once"
        town.names.names["shop.example"].addresses = ["127.0.0.3"]
    assert town.allowed.connections == 3
    assert town.hidden.connections == 0


async def test_when_the_answer_has_aged_the_new_address_is_checked_and_refused(town: Town) -> None:
    town.names.names["shop.example"] = Name(["127.0.0.2"], ttl=0)
    session = town.session("127.0.0.2/32")
    await town.get(session)
    town.names.names["shop.example"].addresses = ["127.0.0.3"]
    town.clock.advance(31)
    with pytest.raises(FetchError) as caught:
        await town.get(session)
    assert caught.value.trouble.reason is Reason.FORBIDDEN_ADDRESS
    assert town.hidden.connections == 0


async def test_a_good_address_does_not_cover_for_a_bad_one_beside_it(town: Town) -> None:
    town.names.names["shop.example"] = Name(["127.0.0.2", "127.0.0.3"])
    with pytest.raises(FetchError) as caught:
        await town.get(town.session("127.0.0.2/32"))
    assert caught.value.trouble.reason is Reason.FORBIDDEN_ADDRESS
    assert town.allowed.connections == town.hidden.connections == 0


async def test_a_site_that_moves_is_followed_once_its_answer_has_aged(town: Town) -> None:
    town.names.names["shop.example"] = Name(["127.0.0.2"], ttl=0)
    session = town.session("127.0.0.2/31")
    assert (await town.get(session)).body == b"hello"
    town.names.names["shop.example"].addresses = ["127.0.0.3"]
    town.clock.advance(31)
    assert (await town.get(session)).body == b"secret"


async def test_a_site_that_stays_keeps_its_connection_when_its_answer_has_aged(town: Town) -> None:
    town.names.names["shop.example"] = Name(["127.0.0.2"], ttl=0)
    session = town.session("127.0.0.2/32")
    await town.get(session)
    town.clock.advance(31)
    await town.get(session)
    assert (town.names.asked("shop.example"), town.allowed.connections) == (2, 1)


@pytest.mark.parametrize("host", ["shop.example.", "under_score.shop.example", "SHOP.example", "xn--bcher-kva.example"])
async def test_unusual_names_are_pinned_too(host: str, town: Town) -> None:
    town.names.names[host.lower().rstrip(".")] = Name(["127.0.0.2"])
    assert (await town.get(town.session("127.0.0.2/32"), host)).body == b"hello"


async def test_an_answer_from_an_address_that_was_not_checked_is_thrown_away(town: Town) -> None:
    class Mistaken(Guard):
        """Names one address in the URL and clears another, as a disagreement between two parsers would."""

        def recall(self, url: str) -> Clearance | None:
            clearance = super().recall(url)
            assert clearance is not None
            return Clearance("127.0.0.3", clearance.addresses, url.replace("127.0.0.2", "127.0.0.3"))

    guard = Mistaken(town.resolver, allow=[ip_network("127.0.0.2/32")])
    session = HttpRung(guard, town.clock).session(seed=0)
    with pytest.raises(FetchError) as caught:
        await town.get(session, "127.0.0.2")
    assert caught.value.trouble.reason is Reason.FORBIDDEN_ADDRESS
