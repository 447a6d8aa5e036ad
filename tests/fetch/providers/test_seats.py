"""A plan's limit on calls at once holds over all sessions and processes, and is what the provider's books say."""

import asyncio
from datetime import timedelta

import pytest

from gossamer.clock import FrozenClock, SystemClock
from gossamer.fetch import ProviderBusy
from gossamer.fetch.forward_proxy import Permit, ProxyLimits
from gossamer.fetch.providers import ProviderAccess, Providers, open_provider
from gossamer.fetch.providers.concurrency import CallSlots, NoFreeSlot
from gossamer.fetch.providers.flaresolverr import FlareSolverr
from gossamer.gate.local import MemoryPlaces
from tests.fetch.providers.conftest import OpenWay
from tests.sandbox.providers.recorded import HOST

LONG = timedelta(seconds=60)
SHORT = timedelta(seconds=0.15)
WAY = Permit("http://127.0.0.1:8118", "a mark", ProxyLimits())


async def test_a_seat_is_given_back_however_the_call_ends() -> None:
    seats = CallSlots(MemoryPlaces(SystemClock()), "provider:x", "a", 1)
    for _ in range(3):
        with pytest.raises(KeyError):
            async with seats.one(LONG, SHORT):
                raise KeyError

    async def hold() -> None:
        async with seats.one(LONG, SHORT):
            await asyncio.sleep(60)

    task = asyncio.create_task(hold())
    await asyncio.sleep(0.01)
    with pytest.raises(NoFreeSlot):
        async with seats.one(LONG, SHORT):
            pass
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with seats.one(LONG, SHORT):
        assert seats.taken == 1
    assert seats.taken == 0


async def test_two_processes_share_the_seats() -> None:
    places = MemoryPlaces(SystemClock())
    one, other = (CallSlots(places, "provider:x", holder, 1) for holder in ("a", "b"))
    async with one.one(LONG, SHORT):
        with pytest.raises(NoFreeSlot):
            async with other.one(LONG, SHORT):
                pass
    async with other.one(LONG, SHORT):
        assert other.taken == 1


async def test_who_waits_gets_the_seat_that_comes_free() -> None:
    seats = CallSlots(MemoryPlaces(SystemClock()), "provider:x", "a", 2)
    most = running = 0

    async def call() -> None:
        nonlocal most, running
        async with seats.one(LONG, LONG):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.005)
            running -= 1

    await asyncio.gather(*(call() for _ in range(20)))
    assert (most, seats.taken) == (2, 0)


@pytest.mark.parametrize("rung", ["scrapingbee-standard", "scraperapi", "firecrawl", "flaresolverr"])
async def test_the_plans_limit_is_learned_before_the_first_call_and_never_passed(rung: str, open_way: OpenWay) -> None:
    """Three desks stand for three processes that share the places of one Gate."""
    places = MemoryPlaces(SystemClock())
    way = await open_way(rung, at_once=3, delay=0.03, places=places)
    name = rung.partition("-")[0]
    clock = SystemClock()
    # FlareSolverr has no books: what it takes is a setting.
    access = {name: ProviderAccess(way.running.key, way.running.url, 3 if name == "flaresolverr" else None)}
    desks = [Providers(access, clock, places, holder=f"worker-{number}", forward=way.forward) for number in range(3)]
    sessions = [open_provider(rung, desk, way.guard) for desk in desks for _ in range(4)]
    got = await asyncio.gather(
        *(session.fetch(f"http://{HOST}/", timeout=LONG, max_bytes=1_000_000) for session in sessions)
    )
    assert [response.status for response in got] == [200] * 12
    assert way.running.most <= 3


async def test_the_setting_holds_where_the_plan_allows_more(open_way: OpenWay) -> None:
    way = await open_way("scrapingbee-standard", at_once=50, delay=0.02)
    clock = SystemClock()
    access = {"scrapingbee": ProviderAccess(way.running.key, way.running.url)}
    desk = Providers(access, clock, MemoryPlaces(clock), holder="test", at_once=2)
    session = open_provider("scrapingbee-standard", desk, way.guard)
    await asyncio.gather(*(session.fetch(f"http://{HOST}/", timeout=LONG, max_bytes=1_000_000) for _ in range(8)))
    assert way.running.most == 2


async def test_a_refusal_lowers_the_limit_where_the_books_say_nothing(open_way: OpenWay) -> None:
    way = await open_way("flaresolverr", delay=0.1)
    client = way.desk._client("flaresolverr")
    assert client.slots.limit == 500
    provider = FlareSolverr(way.running.url, WAY)
    async with client.slots.one(LONG, SHORT), client.slots.one(LONG, SHORT), client.slots.one(LONG, SHORT):
        await client.too_many(provider)
    assert client.slots.limit == 3


async def test_a_limit_that_was_lowered_is_tried_again_after_a_while(frozen: FrozenClock) -> None:
    access = {"flaresolverr": ProviderAccess(url="http://127.0.0.1:9")}
    client = Providers(access, frozen, MemoryPlaces(frozen), holder="test", at_once=7)._client("flaresolverr")
    provider = FlareSolverr("http://127.0.0.1:9", WAY)
    await client.too_many(provider)
    await client.learn(provider)
    assert client.slots.limit == 1
    frozen.advance(61)
    await client.learn(provider)
    assert client.slots.limit == 7


async def test_without_a_free_seat_a_call_is_a_wait_and_nothing_is_sent(open_way: OpenWay) -> None:
    places = MemoryPlaces(SystemClock())
    way = await open_way("scrapingbee-standard", at_once=1, places=places, patience=SHORT)
    assert await places.enter("provider:scrapingbee", "somebody else", 1, LONG)
    error = await way.error()
    assert isinstance(error, ProviderBusy)
    assert (error.credits, error.trouble.detail) == (0, "ScrapingBee: all its seats are taken")
    assert way.running.bill.entries == []
    await places.leave("provider:scrapingbee", "somebody else")
    assert (await way.get()).status == 200


async def test_books_that_cannot_be_read_leave_the_setting_in_force(open_way: OpenWay) -> None:
    way = await open_way("scraperapi", key="wrong-key-of-a-test")
    await way.error()
    assert way.desk._client("scraperapi").slots.limit == 500
