"""Names become addresses by our own questions to a real (loopback) name server."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from ipaddress import ip_address

import pytest

from gossamer.clock import FrozenClock
from gossamer.fetch.errors import FetchError
from gossamer.fetch.resolve import Resolver
from gossamer.model.trouble import Reason, Trouble
from tests.fetch.loopback import AAAA, BOTH, REFUSED, SERVFAIL, Name, NameServer, until


async def trouble_of(resolver: Resolver, host: str) -> Trouble:
    with pytest.raises(FetchError) as caught:
        await resolver.resolve(host)
    return caught.value.trouble


@pytest.fixture
async def timeless(name_server: NameServer, frozen: FrozenClock) -> AsyncIterator[Resolver]:
    resolver = Resolver(frozen, servers=[name_server.address], patience=timedelta(seconds=2))
    yield resolver
    await resolver.close()


async def test_all_addresses_of_a_name_come_back_ipv4_first(name_server: NameServer, resolver: Resolver) -> None:
    name_server.names["both.example"] = Name(["2606:4700::1", "93.184.216.34", "1.2.3.4"])
    found = await resolver.resolve("both.example")
    assert found == (ip_address("1.2.3.4"), ip_address("93.184.216.34"), ip_address("2606:4700::1"))
    assert name_server.asked("both.example", AAAA) == 1


async def test_an_answer_is_kept_thirty_seconds_even_if_its_author_says_none(
    name_server: NameServer, timeless: Resolver, frozen: FrozenClock
) -> None:
    name_server.names["a.example"] = Name(["1.1.1.1"], ttl=0)
    await timeless.resolve("a.example")
    name_server.names["a.example"].addresses = ["2.2.2.2"]
    frozen.advance(29)
    assert await timeless.resolve("a.example") == (ip_address("1.1.1.1"),)
    assert name_server.asked("a.example") == 1
    frozen.advance(2)
    assert await timeless.resolve("a.example") == (ip_address("2.2.2.2"),)
    assert name_server.asked("a.example") == 2


async def test_an_answer_is_kept_as_long_as_its_author_says(
    name_server: NameServer, timeless: Resolver, frozen: FrozenClock
) -> None:
    name_server.names["a.example"] = Name(["1.1.1.1"], ttl=300)
    await timeless.resolve("a.example")
    frozen.advance(299)
    await timeless.resolve("a.example")
    assert name_server.asked("a.example") == 1


async def test_an_answer_is_kept_ten_minutes_at_most(
    name_server: NameServer, timeless: Resolver, frozen: FrozenClock
) -> None:
    name_server.names["a.example"] = Name(["1.1.1.1"], ttl=86_400)
    await timeless.resolve("a.example")
    frozen.advance(601)
    name_server.names["a.example"].addresses = ["2.2.2.2"]
    assert await timeless.resolve("a.example") == (ip_address("2.2.2.2"),)


async def test_a_name_that_does_not_exist_is_dns_trouble_and_remembered(
    name_server: NameServer, timeless: Resolver, frozen: FrozenClock
) -> None:
    assert await trouble_of(timeless, "gone.example") == Trouble(Reason.DNS, "no such name")
    frozen.advance(29)
    await trouble_of(timeless, "gone.example")
    assert name_server.asked("gone.example") == 1
    name_server.names["gone.example"] = Name(["1.1.1.1"])
    frozen.advance(2)
    assert await timeless.resolve("gone.example") == (ip_address("1.1.1.1"),)


async def test_only_the_name_itself_is_asked_for(
    name_server: NameServer, resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "corp.example")  # a search list, as a company's resolv.conf has one
    await trouble_of(resolver, "gone.example")
    assert {name for name, _ in name_server.questions} == {"gone.example"}


async def test_a_name_without_addresses_is_dns_trouble(name_server: NameServer, resolver: Resolver) -> None:
    name_server.names["mail.example"] = Name([])
    assert await trouble_of(resolver, "mail.example") == Trouble(Reason.DNS, "the name has no address")


@pytest.mark.parametrize("code", [SERVFAIL, REFUSED])
async def test_a_failing_server_is_forgiven_after_five_seconds(
    code: int, name_server: NameServer, timeless: Resolver, frozen: FrozenClock
) -> None:
    name_server.names["a.example"] = Name(code=code)
    assert await trouble_of(timeless, "a.example") == Trouble(Reason.NAME_SERVER, "the name server failed")
    name_server.names["a.example"] = Name(["1.1.1.1"])
    await trouble_of(timeless, "a.example")
    frozen.advance(6)
    assert await timeless.resolve("a.example") == (ip_address("1.1.1.1"),)


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "a..example", ".".join(["abcdefgh"] * 40)])
async def test_an_impossible_name_is_dns_trouble(host: str, resolver: Resolver) -> None:
    assert (await trouble_of(resolver, host)).reason is Reason.DNS


async def test_silence_ends_after_the_patience(name_server: NameServer) -> None:
    name_server.names["silent.example"] = Name(silent=BOTH)
    resolver = Resolver(FrozenClock(), servers=[name_server.address], patience=timedelta(seconds=0.3))
    assert await trouble_of(resolver, "silent.example") == Trouble(Reason.NAME_SERVER, "no answer from the name server")
    await resolver.close()


async def test_a_slow_name_is_not_taken_for_dead_because_others_were_quick(
    name_server: NameServer, resolver: Resolver
) -> None:
    for number in range(8):
        name_server.names[f"quick{number}.example"] = Name(["1.1.1.1"])
        await resolver.resolve(f"quick{number}.example")
    name_server.names["slow.example"] = Name(["2.2.2.2"], ready_after=1.0)
    assert await resolver.resolve("slow.example") == (ip_address("2.2.2.2"),)


async def test_an_ipv6_answer_that_never_comes_does_not_take_the_ipv4_one_away(
    name_server: NameServer, resolver: Resolver
) -> None:
    for number in range(4):  # a server known to be quick is not waited for long
        name_server.names[f"quick{number}.example"] = Name(["1.1.1.1"])
        await resolver.resolve(f"quick{number}.example")
    name_server.names["half.example"] = Name(["2.2.2.2"], silent=frozenset({AAAA}))
    assert await resolver.resolve("half.example") == (ip_address("2.2.2.2"),)


async def test_whoever_waits_for_the_same_name_shares_one_question(name_server: NameServer, resolver: Resolver) -> None:
    name_server.names["a.example"] = Name(["1.1.1.1"], ready_after=0.1)
    found = await asyncio.gather(*(resolver.resolve("a.example") for _ in range(20)))
    assert set(found) == {(ip_address("1.1.1.1"),)}
    assert name_server.asked("a.example") == 1


async def test_one_who_gives_up_does_not_take_the_answer_from_the_others(
    name_server: NameServer, resolver: Resolver
) -> None:
    name_server.names["a.example"] = Name(["1.1.1.1"], ready_after=0.1)
    impatient = asyncio.create_task(resolver.resolve("a.example"))
    patient = asyncio.create_task(resolver.resolve("a.example"))
    assert await until(lambda: name_server.asked("a.example") == 1)
    impatient.cancel()
    assert await patient == (ip_address("1.1.1.1"),)
    assert impatient.cancelled()


async def test_no_more_look_ups_run_at_once_than_allowed(name_server: NameServer) -> None:
    resolver = Resolver(FrozenClock(), servers=[name_server.address], at_once=3)
    hosts = [f"n{number}.example" for number in range(12)]
    for host in hosts:
        name_server.names[host] = Name(["1.1.1.1"], ready_after=0.05)
    await asyncio.gather(*(resolver.resolve(host) for host in hosts))
    assert name_server.most_waiting == 3
    await resolver.close()


async def test_it_forgets_the_oldest_answers_first(name_server: NameServer) -> None:
    resolver = Resolver(FrozenClock(), servers=[name_server.address], remember=2)
    for host in ("a.example", "b.example", "c.example"):
        name_server.names[host] = Name(["1.1.1.1"])
        await resolver.resolve(host)
    await resolver.resolve("c.example")
    await resolver.resolve("a.example")
    assert (name_server.asked("c.example"), name_server.asked("a.example")) == (1, 2)
    await resolver.close()


async def test_the_hosts_file_comes_before_the_name_server(name_server: NameServer, resolver: Resolver) -> None:
    name_server.names["localhost"] = Name(["9.9.9.9"])
    assert ip_address("127.0.0.1") in await resolver.resolve("localhost")
    assert name_server.questions == []


async def test_closing_ends_what_is_still_being_asked(name_server: NameServer) -> None:
    name_server.names["silent.example"] = Name(silent=BOTH)
    resolver = Resolver(FrozenClock(), servers=[name_server.address])
    waiting = asyncio.create_task(resolver.resolve("silent.example"))
    assert await until(lambda: name_server.asked("silent.example") == 1)
    await resolver.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
