"""Telling an outage of our own network from one of a site: by who answers meanwhile, and by looking."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from gossamer.clock import SystemClock
from gossamer.crawl import own_network
from gossamer.crawl.own_network import MANY, OwnNetwork
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.outage import Answers
from gossamer.fetch.resolve import Resolver
from gossamer.gate import Gate
from gossamer.gate.local import LocalGate, MemoryPlaces
from tests.fetch.loopback import BOTH, NOERROR, SERVFAIL, Name, NameServer

SPACING = timedelta(milliseconds=20)


class Ground:
    """Names that are answered by ports of this machine, some of which listen."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.answers = Answers(self.clock)
        self.gate: Gate = LocalGate(self.clock, MemoryPlaces(self.clock))
        self.resolver = Resolver(self.clock)
        self.asked: list[str] = []
        self._ports: dict[str, int] = {}
        self._servers: dict[str, asyncio.Server] = {}
        self._made: list[OwnNetwork] = []

    def name(self, *hosts: str) -> None:
        """Hosts where nobody listens yet, each at an address of its own."""
        for host in hosts:
            with socket.socket() as unused:
                unused.bind((self.address(host, new=True), 0))
                self._ports[host] = unused.getsockname()[1]

    def address(self, host: str, *, new: bool = False) -> str:
        return f"127.0.0.{100 + (len(self._ports) if new else list(self._ports).index(host))}"

    async def listen(self, *hosts: str) -> None:
        for host in hosts:

            def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str = host) -> None:
                self.asked.append(host)
                writer.close()

            self._servers[host] = await asyncio.start_server(connected, self.address(host), self._ports[host])

    async def fall_silent(self, *hosts: str) -> None:
        for host in hosts:
            self._servers.pop(host).close()

    def own_network(self, proxy: str = "", patience: timedelta = timedelta(minutes=10)) -> OwnNetwork:
        rules = ",".join(f"{host}={self.address(host)}:{port}" for host, port in self._ports.items())
        guard = Guard(self.resolver, rules=parse_connect_to(rules))
        self.guard = guard
        made = OwnNetwork(
            self.clock, guard, self.answers, self.resolver.is_there, self.gate, lambda _: SPACING, proxy, patience
        )
        self._made.append(made)
        return made

    async def answer(self, *hosts: str) -> None:
        """As if these had answered a request that began just now."""
        for host in hosts:
            self.answers.note(await self.guard.admit(f"http://{host}/"), self.clock.monotonic())

    async def close(self) -> None:
        for made in self._made:
            await made.aclose()
        for server in self._servers.values():
            server.close()
        await self.resolver.close()


@pytest.fixture
async def ground(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ground]:
    monkeypatch.setattr(own_network, "_TICK", 0.02)
    monkeypatch.setattr(own_network, "_FIRST_LOOK", 0.05)
    made = Ground()
    yield made
    await made.close()


async def fail(way: OwnNetwork, *hosts: str) -> list[bool]:
    """Whose trouble it is that these cannot be had, asked for all at once."""
    began = asyncio.get_running_loop().time()
    return list(await asyncio.gather(*(way.is_ours(f"http://{host}/", began) for host in hosts)))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)


def hosts(number: int) -> list[str]:
    return [f"{letter}.test" for letter in "abcdefghijklmnopqrstuvwxyz"[:number]]


async def test_a_single_dead_site_is_dead(ground: Ground) -> None:
    ground.name("a.test")
    assert await fail(ground.own_network(), "a.test") == [False]


async def test_three_dead_sites_and_nothing_else_are_dead(ground: Ground) -> None:
    ground.name(*hosts(3))
    way = ground.own_network()
    for _ in range(3):
        assert await fail(way, *hosts(3)) == [False] * 3


async def test_who_answers_later_shows_that_there_is_a_network(ground: Ground) -> None:
    ground.name(*hosts(9))
    way = ground.own_network()
    failing = asyncio.create_task(fail(way, *hosts(8)))
    await asyncio.sleep(0.05)
    await ground.answer("i.test")
    assert await failing == [False] * 8
    assert way.looks == 0, "nobody had to be asked"


async def test_many_sites_that_fail_while_nothing_answers_are_an_outage_of_ours(ground: Ground) -> None:
    ground.name(*hosts(MANY))
    way = ground.own_network()
    assert await fail(way, *hosts(MANY)) == [True] * MANY
    await until(lambda: way.since is not None)
    assert f"none of {MANY} domains answers" in way.why
    assert await way.is_ours("http://other.test/", ground.clock.monotonic()), "nothing is anybody's fault meanwhile"
    await ground.listen("c.test")
    await until(lambda: not way.is_away)
    assert ground.asked == ["c.test"]
    assert await way.is_ours("http://d.test/", ground.clock.monotonic() - 60), "sent while there was none"


async def test_an_outage_that_is_over_before_anybody_looks_counts_for_nobody(ground: Ground) -> None:
    ground.name(*hosts(MANY))
    way = ground.own_network()
    await ground.listen("a.test")
    assert await fail(way, *hosts(MANY)) == [True] * MANY
    await until(lambda: not way.is_away)
    assert way.since is None, "nobody was told of it"


async def test_many_dead_sites_get_one_try_for_nothing_and_no_more(ground: Ground) -> None:
    ground.name(*hosts(MANY))
    way = ground.own_network()
    await ground.listen("a.test")
    await fail(way, *hosts(MANY))
    await until(lambda: not way.is_away)
    for _ in range(3):
        assert await fail(way, *hosts(MANY)) == [False] * MANY


async def test_many_dead_sites_come_to_their_end_where_nothing_else_speaks_for_an_outage(ground: Ground) -> None:
    ground.name(*hosts(MANY))
    way = ground.own_network(patience=timedelta(seconds=0.3))
    assert await fail(way, *hosts(MANY)) == [True] * MANY
    await until(lambda: not way.is_away)
    assert await fail(way, *hosts(MANY)) == [False] * MANY


async def test_dead_sites_of_one_job_do_not_keep_the_sites_of_others_waiting(ground: Ground) -> None:
    ground.name(*hosts(MANY), "other.test")
    way = ground.own_network()

    async def waiting() -> list[str]:
        return ["http://a.test/", "http://other.test/"]

    way.waiting = waiting
    assert await fail(way, *hosts(MANY)) == [True] * MANY
    assert way.is_away
    await ground.listen("other.test")
    await until(lambda: not way.is_away)
    assert ground.asked[0] == "other.test"


async def test_while_others_can_do_the_work_nobody_ceases_to_wait(ground: Ground) -> None:
    ground.name(*hosts(MANY))
    way = ground.own_network(patience=timedelta(seconds=0.1))
    asked = 0

    async def others() -> bool:
        nonlocal asked
        asked += 1
        return asked < 4

    way.others_can = others
    await fail(way, *hosts(MANY))
    await until(lambda: not way.is_away)
    assert asked == 4


async def test_a_few_sites_fail_and_one_that_answered_before_is_looked_for(ground: Ground) -> None:
    ground.name("a.test", "b.test", "c.test")
    way = ground.own_network()
    await ground.listen("c.test")
    await asyncio.sleep(0.05)  # the Gate knows nothing of it, and lets nobody to it at once
    await ground.answer("c.test")
    assert await fail(way, "a.test", "b.test") == [False, False]
    assert ground.asked == ["c.test"]


async def test_addresses_that_answered_before_and_all_do_not_any_more_are_an_outage(ground: Ground) -> None:
    ground.name("dead.test", *hosts(MANY))
    way = ground.own_network()
    await asyncio.sleep(0.05)
    await ground.answer(*hosts(MANY))
    assert await fail(way, "dead.test") == [True]
    await until(lambda: way.since is not None)
    assert way.why == f"{MANY} addresses that answered before do not any more"


async def test_a_look_takes_the_turn_of_the_domain(ground: Ground) -> None:
    ground.name("a.test", "b.test")
    way = ground.own_network()
    await ground.listen("b.test")
    await ground.answer("b.test")
    await ground.gate.hold_off("b.test", timedelta(minutes=1))
    assert await fail(way, "a.test") == [False], "not asked, and nothing else speaks for an outage"
    assert ground.asked == []


async def test_no_route_to_anywhere_is_an_outage(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.name("a.test")
    way = ground.own_network()
    monkeypatch.setattr(own_network, "_knows_route", lambda *_: False)
    assert await fail(way, "a.test") == [True]
    assert way.why == "no route"


@pytest.mark.parametrize("root", [Name(silent=frozenset({2, *BOTH})), Name(code=SERVFAIL)], ids=["silent", "failing"])
async def test_a_name_server_that_answers_nothing_is_an_outage(ground: Ground, root: Name) -> None:
    names = await NameServer().start()
    names.names[""] = root
    await ground.resolver.close()
    ground.resolver = Resolver(ground.clock, servers=[names.address], patience=timedelta(seconds=0.2))
    way = ground.own_network()
    assert await fail(way, "a.example") == [True]
    assert way.why == "no answer from the name server"
    names.names[""] = Name(code=NOERROR)
    await until(lambda: not way.is_away)
    names.close()


async def test_a_name_server_that_answers_leaves_a_few_dead_names_dead(ground: Ground) -> None:
    names = await NameServer().start()  # it knows no name, and says so
    await ground.resolver.close()
    ground.resolver = Resolver(ground.clock, servers=[names.address])
    way = ground.own_network()
    assert await fail(way, "a.example", "b.example", "c.example") == [False] * 3
    names.close()


async def test_of_a_proxy_only_whether_it_can_be_reached(ground: Ground) -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    ground.name("a.test")
    way = ground.own_network(proxy=f"http://user:secret@127.0.0.1:{port}")
    assert await fail(way, "a.test") == [False]
    server.close()
    assert await fail(way, "a.test") == [False], "one that refuses has a guard of its own"


async def test_it_can_be_closed_while_it_looks(ground: Ground) -> None:
    ground.name(*hosts(MANY))
    way = ground.own_network()
    deciding = asyncio.create_task(way.is_ours("http://a.test/", ground.clock.monotonic()))
    await asyncio.sleep(0.01)
    deciding.cancel()
    with suppress(asyncio.CancelledError):
        await deciding
    await fail(way, *hosts(MANY))
    await way.aclose()
