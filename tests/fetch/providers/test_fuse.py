"""What an answer of a provider says about the provider, and when a call that failed is no try of its page."""

from datetime import timedelta

import orjson
import pytest
from sqlalchemy import select

from gossamer.clock import FrozenClock
from gossamer.db.tables import places
from gossamer.db.transactions import Tx
from gossamer.fetch.errors import FetchError, ProviderTrouble, ProviderUnusable, ProxyAway
from gossamer.fetch.providers.base import failed
from gossamer.fetch.providers.circuit_breaker import ProviderBreaker
from gossamer.gate.breakers import MemoryBreakers
from gossamer.model.breaker import PROVIDER
from gossamer.model.trouble import Reason, Trouble
from gossamer.store.named_slots import StoredBreakers
from gossamer_sandbox.providers.storms import Kind, Storm
from tests.conftest import AnyDatabase
from tests.fetch.providers.conftest import OpenWay

BELIEVED = timedelta(minutes=5)


def trouble(reason: Reason, credits: int | None = 0) -> ProviderTrouble:
    return failed("bee", "Bee", reason, credits=credits, why="said so")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def breakers(clock: FrozenClock) -> MemoryBreakers:
    return MemoryBreakers(clock)


@pytest.fixture
def fuse(breakers: MemoryBreakers, clock: FrozenClock) -> ProviderBreaker:
    return ProviderBreaker(breakers, "bee", PROVIDER, clock, BELIEVED)


async def test_the_first_failure_may_be_the_pages_and_the_next_in_a_row_is_not(fuse: ProviderBreaker) -> None:
    first = trouble(Reason.PROVIDER_AWAY)
    assert await fuse.failed(first) is first
    second = await fuse.failed(trouble(Reason.PROVIDER_AWAY, credits=None))
    assert isinstance(second, ProviderUnusable)
    assert (second.credits, second.heard) == (None, True)
    await fuse.worked()
    third = trouble(Reason.PROVIDER_AWAY)
    assert await fuse.failed(third) is third, "it works for others"


async def test_ten_in_a_row_and_nobody_calls_for_half_a_minute(fuse: ProviderBreaker, clock: FrozenClock) -> None:
    for _ in range(10):
        await fuse.ask()
        assert fuse.resting() is None
        await fuse.failed(trouble(Reason.PROVIDER_AWAY))
    with pytest.raises(ProviderUnusable) as caught:
        await fuse.ask()
    assert caught.value.wait == timedelta(seconds=30)
    assert (caught.value.trouble.sentence, caught.value.credits, caught.value.heard) == (
        "The provider does not answer (Bee: said so)", 0, False
    )  # fmt: skip
    clock.advance(29)
    resting = fuse.resting()
    assert resting
    assert resting.wait == timedelta(seconds=1)
    clock.advance(2)
    assert fuse.resting() is None
    for _ in range(3):
        await fuse.ask()
        await fuse.worked()
    assert await fuse.failed(first := trouble(Reason.PROVIDER_AWAY)) is first


@pytest.mark.parametrize("reason", [Reason.PROVIDER_KEY, Reason.PROVIDER_CREDITS])
async def test_what_a_person_must_mend_stops_everybody_at_once(
    fuse: ProviderBreaker, breakers: MemoryBreakers, clock: FrozenClock, reason: Reason
) -> None:
    assert isinstance(await fuse.failed(trouble(reason)), ProviderUnusable)
    other = ProviderBreaker(breakers, "bee", PROVIDER, clock, BELIEVED)
    with pytest.raises(ProviderUnusable) as caught:
        await other.ask()
    assert caught.value.trouble.reason is reason


async def test_pages_that_cannot_be_fetched_open_it_only_if_ten_visits_meet_nothing_else(fuse: ProviderBreaker) -> None:
    for _ in range(30):
        poor = trouble(Reason.PROVIDER_FAILED)
        assert await fuse.failed(poor, again=True) is poor, "one visit alone"
    for _ in range(9):
        poor = trouble(Reason.PROVIDER_FAILED)
        assert await fuse.failed(poor) is poor
    assert isinstance(await fuse.failed(trouble(Reason.PROVIDER_FAILED)), ProviderUnusable)


async def test_who_fetches_nothing_for_longer_than_jobs_wait_is_believed(
    fuse: ProviderBreaker, breakers: MemoryBreakers, clock: FrozenClock
) -> None:
    for _ in range(10):
        last = await fuse.failed(trouble(Reason.PROVIDER_FAILED))
    assert isinstance(last, ProviderUnusable)
    clock.advance(BELIEVED.total_seconds() - 40)
    await fuse.ask()
    assert isinstance(await fuse.failed(trouble(Reason.PROVIDER_FAILED)), ProviderUnusable)
    clock.advance(41)
    for number in range(PROVIDER.probes):
        assert (await breakers.look("provider:bee")).open
        await fuse.ask()
        poor = trouble(Reason.PROVIDER_FAILED)
        assert await fuse.failed(poor, again=number > 0) is poor, "a try of its page"
    assert not (await breakers.look("provider:bee")).open
    await fuse.failed(trouble(Reason.PROVIDER_KEY))
    clock.advance(BELIEVED.total_seconds() + 31)
    await fuse.ask()
    assert isinstance(await fuse.failed(trouble(Reason.PROVIDER_AWAY)), ProviderUnusable), "one that is away is not"


async def test_what_is_not_about_the_provider_changes_nothing(fuse: ProviderBreaker, breakers: MemoryBreakers) -> None:
    for _ in range(5):
        await fuse.failed(trouble(Reason.PROVIDER_AWAY))
    for error in (trouble(Reason.PROVIDER_BUSY), trouble(Reason.PROVIDER_REFUSED), ProxyAway(Trouble(Reason.PROXY))):
        assert await fuse.failed(error) is error
    assert (await breakers.look("provider:bee")).in_a_row == 5
    site = FetchError(Trouble(Reason.UNREACHABLE, "Bee"), 0)
    assert await fuse.failed(site) is site
    assert (await breakers.look("provider:bee")).in_a_row == 0, "a site that is away shows that the provider is not"


def requests(tx: Tx) -> tuple[int, int]:
    """Of how many is known, and how many of them failed."""
    counted = orjson.loads(tx.run(select(places.c.holder)).scalar_one())["counted"]
    return sum(one[1] for one in counted), sum(one[2] for one in counted)


async def test_while_all_is_well_it_is_said_now_and_then(database: AnyDatabase, clock: FrozenClock) -> None:
    breakers = StoredBreakers(database)
    fuse = ProviderBreaker(breakers, "bee", PROVIDER, clock, BELIEVED)
    for _ in range(20):
        await fuse.worked()
    assert await database.read(requests) == (1, 0)
    await fuse.failed(trouble(Reason.PROVIDER_AWAY))
    assert await database.read(requests) == (21, 1)


async def test_a_call_is_not_made_while_it_rests(open_way: OpenWay) -> None:
    clock = FrozenClock()
    way = await open_way("scrapingbee-standard", breakers=MemoryBreakers(clock))
    way.running.storms.add(Storm(Kind.STATUS, status=402))
    assert isinstance(await way.error(), ProviderUnusable)
    assert isinstance(await way.error(), ProviderUnusable)
    assert way.desk.resting("scrapingbee-js")
    assert way.desk.resting("direct") is None
    assert len(way.running.bill.entries) == 1
    clock.advance(31)
    assert (await way.get()).status == 200
