"""Bad days: every one ends in a sentence, says whose fault it was, and never reports less than was charged."""

import asyncio
import io
import logging
import random
from collections.abc import Iterator
from datetime import timedelta

import pytest

from gossamer.app import start_log
from gossamer.billing.prices import usual_prices
from gossamer.fetch import FetchError, ProviderBusy, ProviderTrouble
from gossamer.fetch.errors import ProxyAway
from gossamer.logging import get_logger
from gossamer.logging.redact import redactor
from gossamer.model.trouble import Reason
from gossamer.settings import Settings
from gossamer_sandbox.providers import Kind, Storm
from tests.fetch.loopback import Site, answer
from tests.fetch.providers.conftest import RUNGS, OpenWay
from tests.sandbox.providers.recorded import HOST

log = get_logger("gossamer.test")
WORST = {"scrapingbee-standard": 1, "scraperapi": 1, "flaresolverr": 0, "firecrawl": 1}


@pytest.mark.parametrize("rung", ["scrapingbee-standard", "scraperapi", "firecrawl"])
async def test_a_bad_key_is_said_to_be_one(rung: str, open_way: OpenWay) -> None:
    way = await open_way(rung, key="wrong-key-of-a-test")
    error = await way.error()
    assert error.trouble.sentence.startswith("The provider does not accept the key (")
    assert (error.trouble.http_status, error.credits) == (401, 0)
    assert isinstance(error, ProviderTrouble)
    assert "wrong-key" not in str(error)


@pytest.mark.parametrize("rung", ["scrapingbee-standard", "scraperapi", "firecrawl"])
async def test_credits_that_are_used_up_are_said_to_be(rung: str, open_way: OpenWay) -> None:
    way = await open_way(rung, credits=1)
    assert (await way.get()).credits == 1
    error = await way.error()
    assert error.trouble.sentence.startswith("The provider's credits are used up (")
    assert error.credits == 0
    assert way.running.bill.total == 1


async def test_what_would_cost_more_than_was_put_aside_is_refused_for_nothing(open_way: OpenWay) -> None:
    """A domain of a class, behind protections: how ScraperAPI adds these up is not published."""
    worst = {rung: price.worst for rung, price in usual_prices().items()}
    dearer = {HOST: 30 + 10, "dearest.test": 30 + 10 + 10}
    way = await open_way("scraperapi-premium", worst=worst, options={"dearer": dearer})
    assert (await way.get()).credits == worst["scraperapi-premium"] == 50
    error = await way.error("http://dearest.test/")
    assert error.trouble.reason is Reason.PROVIDER_REFUSED
    said = "it would cost more than 50 credits, or the plan does not have it"
    assert error.trouble.sentence == f"The provider refuses the request (ScraperAPI: {said})"
    assert error.credits == 0
    assert way.running.bill.total == 50
    # Its other pages go on: nothing is wrong with the provider.
    assert way.desk.resting("scraperapi-premium") is None
    way.running.emulator.shop.credits = 60
    used_up = await way.error()
    assert used_up.trouble.reason is Reason.PROVIDER_CREDITS


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_provider_out_of_order_is_away(rung: str, status: int, open_way: OpenWay) -> None:
    way = await open_way(rung)
    way.running.storms.add(Storm(Kind.STATUS, status=status, times=3))
    for _ in range(3):
        error = await way.error()
        assert isinstance(error, ProviderTrouble)
        assert error.trouble.sentence.startswith("The provider does not answer (")
        assert f"HTTP {status}" in error.trouble.detail
    assert (await way.get()).status == 200


@pytest.mark.parametrize("rung", RUNGS)
async def test_a_slow_provider_is_given_up_and_may_have_charged(rung: str, open_way: OpenWay) -> None:
    way = await open_way(rung)
    way.running.storms.add(Storm(Kind.SLOW, seconds=30))
    error = await way.error(timeout=timedelta(seconds=0.3))
    assert isinstance(error, ProviderTrouble)
    assert "nothing for 0.3s" in error.trouble.sentence
    assert error.credits is None


@pytest.mark.parametrize("rung", RUNGS)
async def test_nobody_at_the_providers_address_costs_nothing(rung: str, open_way: OpenWay) -> None:
    way = await open_way(rung, url="http://127.0.0.1:9")
    error = await way.error()
    assert isinstance(error, ProviderTrouble)
    assert error.provider == rung.partition("-")[0]
    assert "no server answers there" in error.trouble.sentence
    assert error.credits == 0


@pytest.mark.parametrize("rung", RUNGS)
async def test_something_else_at_the_providers_address_is_no_page(rung: str, open_way: OpenWay) -> None:
    way = await open_way(rung)
    way.running.storms.add(Storm(Kind.NOT_HTTP))
    assert isinstance(await way.error(), ProviderTrouble)


@pytest.mark.parametrize("rung", ["scrapingbee-standard", "scraperapi"])
async def test_garbled_headers_leave_the_page_and_take_the_price(rung: str, open_way: OpenWay) -> None:
    way = await open_way(rung)
    way.running.storms.add(Storm(Kind.MALFORMED))
    response = await way.get()
    assert (response.status, response.credits) == (200, None)
    assert b"CRM software" in response.body


@pytest.mark.parametrize("rung", ["flaresolverr", "firecrawl"])
async def test_a_garbled_document_is_no_page(rung: str, open_way: OpenWay) -> None:
    way = await open_way(rung)
    way.running.storms.add(Storm(Kind.MALFORMED))
    error = await way.error()
    assert error.trouble.reason is Reason.PROVIDER_UNREADABLE


async def test_a_provider_that_moved_is_not_followed_with_the_key(open_way: OpenWay, target: Site) -> None:
    target.pages["/moved/"] = answer(b"", b"Location: http://elsewhere.test/", status=b"302 Found")
    way = await open_way("scrapingbee-standard", url=f"http://127.0.0.1:{target.port}/moved")
    assert (await way.error()).trouble.reason is Reason.PROVIDER_UNREADABLE
    assert {seen.target.partition("?")[0] for seen in target.seen} == {"/moved/", "/moved/usage"}


async def test_a_call_too_many_is_a_wait_and_no_failure(open_way: OpenWay) -> None:
    way = await open_way("scrapingbee-standard")
    way.running.storms.add(Storm(Kind.STATUS, status=429))
    error = await way.error()
    assert isinstance(error, ProviderBusy)
    assert error.trouble.sentence.startswith("The provider takes no more calls at the moment (ScrapingBee")
    assert error.credits == 0


async def test_the_rest_firecrawl_asks_for_is_told(open_way: OpenWay) -> None:
    way = await open_way("firecrawl", options={"per_minute": 1})
    await way.get()
    error = await way.error()
    assert isinstance(error, ProviderBusy)
    assert error.trouble.retry_after is not None
    assert 0 < error.trouble.retry_after <= 60


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rung", RUNGS)
async def test_through_any_storm_no_less_is_reported_than_was_charged(
    rung: str, seed: int, open_way: OpenWay, target: Site
) -> None:
    dice = random.Random(seed)
    way = await open_way(rung, at_once=3)
    storms = [
        Storm(Kind.STATUS, status=status) for status in (400, 401, 402, 403, 404, 408, 410, 429, 500, 502, 503, 504)
    ] + [Storm(Kind.MALFORMED), Storm(Kind.CUT), Storm(Kind.NOT_HTTP), Storm(Kind.SLOW, seconds=0.01)]  # fmt: skip
    for storm in dice.choices(storms, k=25):
        way.running.storms.add(storm)
    said: list[int | None] = []

    async def fetch(path: str) -> None:
        try:
            said.append((await way.get(f"http://{HOST}{path}")).credits)
        except FetchError as error:
            said.append(error.credits)

    paths = dice.choices(("/", "/missing", "/busy", "/away", "/closed", "/old"), k=40)
    await asyncio.gather(*map(fetch, paths))
    told = sum(credits for credits in said if credits is not None)
    unknown = said.count(None)
    assert told <= way.running.bill.total <= told + unknown * WORST[rung]
    assert way.running.most <= 3


@pytest.fixture
def logging_as_it_was() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("gossamer")
    before = (root.handlers[:], root.level, ours.level, redactor._values, redactor._known)
    yield
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    for handler in before[0]:
        root.addHandler(handler)
    root.setLevel(before[1])
    ours.setLevel(before[2])
    redactor._values, redactor._known = before[3:]


@pytest.mark.usefixtures("logging_as_it_was")
@pytest.mark.parametrize("rung", ["scrapingbee-standard", "scraperapi", "firecrawl"])
async def test_no_log_shows_a_key(rung: str, open_way: OpenWay, tmp_path: object) -> None:
    key = "s3cret-key+of/a=customer"
    stream = io.StringIO()
    names = {"scrapingbee": "scrapingbee_key", "scraperapi": "scraperapi_key", "firecrawl": "firecrawl_key"}
    given = {names[rung.partition("-")[0]]: key}
    start_log(Settings(home=tmp_path, log_level="debug", **given), stream=stream)
    way = await open_way(rung, key=key, url="http://127.0.0.1:9")
    error = await way.error()
    log.error("provider.tried", error=error, cause=error.__cause__, exc_info=error)
    log.warning("provider.tried", url=f"https://api.example/?api_key={key}", headers={"x": f"Bearer {key}"})
    log.warning("provider.tried", told=f"it said {key} is wrong", call=way.session)
    log.warning("provider.said", said=f"{key} is wrong")
    written = stream.getvalue()
    assert written.count("provider.tried") == 3
    assert "account_unread" in written
    for spelling in (key, "s3cret", "s3cret-key%2Bof%2Fa%3Dcustomer"):
        assert spelling not in written


async def test_a_proxy_that_is_away_is_our_own_trouble(open_way: OpenWay) -> None:
    # A server on this machine is reached without the proxy, one elsewhere is not.
    near = await open_way("scrapingbee-standard", proxy="http://127.0.0.1:9")
    assert (await near.get()).status == 200
    far = await open_way("scrapingbee-standard", proxy="http://127.0.0.1:9", url="http://bee.example/api/v1")
    error = await far.error()
    assert isinstance(error, ProxyAway)
    assert error.credits == 0
