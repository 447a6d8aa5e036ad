"""The clients read the recorded answers: whose failure it was, what the site said, what was charged."""

import json
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from gossamer.fetch import FetchError, ProviderBusy, ProviderTrouble
from gossamer.fetch.forward_proxy import Permit, ProxyLimits
from gossamer.fetch.providers.base import Head, ProviderAccount, ProviderApi, Told
from gossamer.fetch.providers.firecrawl import Firecrawl
from gossamer.fetch.providers.flaresolverr import FlareSolverr, status_of
from gossamer.fetch.providers.scraperapi import WAYS as SCRAPERAPI_WAYS
from gossamer.fetch.providers.scraperapi import ScraperApi
from gossamer.fetch.providers.scrapingbee import WAYS as SCRAPINGBEE_WAYS
from gossamer.fetch.providers.scrapingbee import ScrapingBee
from gossamer.model.rungs import Lane, provider_of, providers
from gossamer.model.trouble import Cure, Reason
from gossamer_sandbox.providers import Kind, Storm, emulate
from tests.fetch.loopback import Site
from tests.fetch.providers.conftest import PROVIDER_RUNGS
from tests.sandbox.providers.asking import Got, call
from tests.sandbox.providers.recorded import ALL, HOST, IDS, KEY, RECORDED, Recorded, fill

TIMEOUT = timedelta(seconds=60)
OURS = frozenset(reason for reason in Reason if reason.name.startswith("PROVIDER_"))
ABOUT_PAGES = [pytest.param(*one, id=name) for one, name in zip(ALL, IDS, strict=True) if one[1].page or one[1].reason]
WAY = Permit("http://127.0.0.1:8118", "a mark", ProxyLimits())
CLIENTS: dict[str, ProviderApi] = {
    "scrapingbee": ScrapingBee("scrapingbee-js", KEY),
    "scraperapi": ScraperApi("scraperapi-js", KEY),
    "flaresolverr": FlareSolverr("http://127.0.0.1:8191", WAY),
    "firecrawl": Firecrawl("firecrawl", KEY),
}


def read(provider: str, got: Got) -> Told | FetchError:
    try:
        return CLIENTS[provider].read(Head(got.status, got.headers), got.body)
    except FetchError as error:
        return error


async def replayed(provider: str, recorded: Recorded) -> Got:
    """The answer as the emulator gives it: tests/sandbox/providers hold it against the recording."""
    async with Site() as site:
        fill(site)
        async with emulate(provider, f"{HOST}=127.0.0.1:{site.port}", **recorded.state) as running:
            if recorded.storm:
                running.storms.add(Storm(Kind.STATUS, status=recorded.storm))
            return await call(running, recorded)


@pytest.mark.parametrize(("provider", "recorded"), ABOUT_PAGES)
async def test_a_recorded_answer_is_understood(provider: str, recorded: Recorded) -> None:
    told = read(provider, await replayed(provider, recorded))
    assert told.credits == recorded.credits
    if isinstance(told, Told):
        assert (told.status, recorded.reason) == (recorded.page, None)
        return
    assert told.trouble.reason is recorded.reason
    # Whose failure it is decides whether a breaker opens.
    assert isinstance(told, ProviderTrouble) == (recorded.reason in OURS)
    assert isinstance(told, ProviderBusy) == (recorded.reason is Reason.PROVIDER_BUSY)


@pytest.mark.parametrize("recorded", RECORDED["scrapingbee"] + RECORDED["scraperapi"], ids=lambda each: each.name)
def test_headers_alone_are_enough(recorded: Recorded) -> None:
    """The same, without the emulator: what was recorded is what is read."""
    provider = "scrapingbee" if "spb-cost" in recorded.headers else "scraperapi"
    headers = {name: value for name, value in recorded.headers.items() if value is not None}
    told = read(provider, Got(recorded.status, headers, recorded.body or b""))
    assert told.credits == recorded.credits
    status = told.status if isinstance(told, Told) else None
    assert (status, None if isinstance(told, Told) else told.trouble.reason) == (recorded.page, recorded.reason)


def test_headers_of_the_site_come_through() -> None:
    headers = {
        "content-type": "text/html; charset=utf-8",
        "spb-cost": "1",
        "spb-initial-status-code": "429",
        "spb-retry-after": "120",
        "spb-content-encoding": "gzip",
        "spb-server": "nginx",
    }
    told = read("scrapingbee", Got(429, headers, b""))
    assert isinstance(told, Told)
    assert told.headers == {"content-type": "text/html; charset=utf-8", "retry-after": "120", "server": "nginx"}


@pytest.mark.parametrize("cost", ["", "-1", "1.5", "five", "٣", "9" * 30, "1000001", " "])
@pytest.mark.parametrize("provider", ["scrapingbee", "scraperapi"])
def test_a_cost_that_is_no_number_is_not_said(provider: str, cost: str) -> None:
    names = {"scrapingbee": ("spb-initial-status-code", "spb-cost"), "scraperapi": ("sa-statuscode", "sa-credit-cost")}
    reached, charged = names[provider]
    told = read(provider, Got(200, {reached: "200", charged: cost}, b"page"))
    assert isinstance(told, Told)
    assert told.credits is None


@pytest.mark.parametrize("provider", ["scrapingbee", "scraperapi"])
def test_a_page_of_which_nobody_says_whose_it_is_is_no_page(provider: str) -> None:
    told = read(provider, Got(200, {}, b"<p>CRM"))
    assert isinstance(told, ProviderTrouble)
    assert (told.trouble.reason, told.credits) == (Reason.PROVIDER_UNREADABLE, None)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b'{"status":"ok"}',
        b'{"status":"ok","solution":[]}',
        b'{"status":"ok","solution":{"response":null}}',
        b'{"success":true}',
        b'{"success":true,"data":[]}',
        b'{"success":true,"data":{"rawHtml":"x"}}',
        b'{"success":true,"data":{"rawHtml":"x","metadata":{"statusCode":"ok"}}}',
        b'{"success":true,"data":{"rawHtml":"x","metadata":{"statusCode":true}}}',
    ],
)
@pytest.mark.parametrize("provider", ["flaresolverr", "firecrawl"])
def test_a_document_that_makes_no_sense_is_the_providers_fault(provider: str, body: bytes) -> None:
    told = read(provider, Got(200, {}, body))
    assert isinstance(told, ProviderTrouble)
    assert told.trouble.reason in (Reason.PROVIDER_UNREADABLE, Reason.PROVIDER_FAILED)


def solved(page: str, message: str = "Challenge not detected!") -> bytes:
    solution = {"url": f"http://{HOST}/", "status": 200, "headers": {}, "response": page}
    return json.dumps({"status": "ok", "message": message, "solution": solution}).encode()


def test_what_flaresolverr_cannot_solve_is_the_sites_doing() -> None:
    def failed(text: str) -> FetchError:
        body = json.dumps({"status": "error", "message": f"Error: Error solving the challenge. {text}"}).encode()
        told = read("flaresolverr", Got(500, {}, body))
        assert isinstance(told, FetchError)
        assert not isinstance(told, ProviderTrouble)
        return told

    assert failed("Timeout after 60 seconds.").trouble.sentence == "Timeout after 60s"
    banned = failed("Cloudflare has blocked this request. Probably your IP is banned for this site, check it.")
    assert banned.trouble.sentence == "Blocked by bot protection (Cloudflare)"


@pytest.mark.parametrize(
    ("title", "status"),
    [
        ("403 Forbidden", 403),
        ("Forbidden: CRM software", 403),
        ("404 Not Found", 404),
        ("Error 404", 404),
        ("503 Service Temporarily Unavailable", 503),
        ("Bad Gateway", 502),
        ("CRM software", 200),
        ("500 ways to use a CRM", 200),
        ("404 - Example shop", 404),
        ("HTTP 500", 500),
        ("5000 ways", 200),
        ("", 200),
    ],
)
def test_a_small_error_page_gets_its_status_back(title: str, status: int) -> None:
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    told = read("flaresolverr", Got(200, {}, solved(page)))
    assert isinstance(told, Told)
    assert told.status == status
    # A page with something on it is a page whatever it is called.
    assert status_of(page + "<p>more</p>" * 1_000) == 200


def test_the_browsers_own_error_page_is_none_of_the_site() -> None:
    nowhere = json.dumps({"status": "ok", "solution": {"url": "chrome-error://chromewebdata/", "response": "<p>No"}})
    told = read("flaresolverr", Got(200, {}, nowhere.encode()))
    assert isinstance(told, FetchError)
    assert told.trouble.reason is Reason.UNREACHABLE
    assert status_of("<html><body><div>This page isn't working</div><div>HTTP ERROR 403</div></body></html>") == 403


def asked(rung: str, timeout: timedelta = TIMEOUT, session: int | None = None) -> tuple[Any, dict[str, str]]:
    """What a client sends for a page: the parameters and the headers."""
    kinds: dict[str, Any] = {"scrapingbee": ScrapingBee, "scraperapi": ScraperApi, "firecrawl": Firecrawl}
    maker = kinds.get(provider_of(rung))
    place = "http://127.0.0.1:1"
    client = maker(rung, KEY, place, session) if maker else FlareSolverr(place, WAY)
    sent = client.ask(f"http://{HOST}/a?b=c%20d&e=ü#f", timeout)
    query = dict(parse_qsl(urlsplit(sent.url).query))
    return (json.loads(sent.body) if sent.body else query), dict(sent.headers)


@pytest.mark.parametrize("rung", SCRAPINGBEE_WAYS)
def test_a_browser_is_never_left_to_scrapingbees_default(rung: str) -> None:
    sent, headers = asked(rung)
    assert sent["render_js"] == ("true" if rung.endswith(("-js", "-stealth")) else "false")
    assert sent["transparent_status_code"] == "true"
    assert headers == {"Authorization": f"Bearer {KEY}"}
    # It takes no time limit with the best of its addresses.
    assert ("timeout" in sent) == (rung != "scrapingbee-stealth")


@pytest.mark.parametrize("rung", SCRAPERAPI_WAYS)
def test_the_key_to_scraperapi_is_in_no_address(rung: str) -> None:
    sent, headers = asked(rung)
    assert sent["render"] == ("true" if rung.endswith("-js") else "false")
    assert headers == {"x-sapi-api_key": KEY}
    assert KEY not in json.dumps(sent)


@pytest.mark.parametrize("rung", PROVIDER_RUNGS)
def test_the_address_is_encoded_once_and_providers_end_before_we_do(rung: str) -> None:
    ours = PROVIDER_RUNGS[rung].timeout
    sent, _ = asked(rung, ours)
    assert sent["url"] == f"http://{HOST}/a?b=c%20d&e=ü#f"
    theirs = sent.get("timeout") or sent.get("maxTimeout")
    if theirs is not None:
        assert timedelta(seconds=30) <= timedelta(milliseconds=int(theirs)) <= ours - timedelta(seconds=15)
    else:
        assert ours >= timedelta(seconds=100)  # theirs is 70, or 140 with another 30


@pytest.mark.parametrize("rung", PROVIDER_RUNGS)
def test_a_short_time_limit_is_still_one_they_take(rung: str) -> None:
    sent, _ = asked(rung, timedelta(seconds=1))
    assert int(sent.get("timeout") or sent.get("maxTimeout") or 1_000) == 1_000


def test_sessions_keep_an_address_where_that_can_be_had() -> None:
    assert asked("scrapingbee-js", session=10_000_005)[0]["session_id"] == "4"
    assert asked("scraperapi", session=7)[0]["session_number"] == "7"
    assert "session_number" not in asked("scraperapi-premium", session=7)[0]
    for rung in PROVIDER_RUNGS:
        assert not {"session", "session_id", "session_number"} & asked(rung)[0].keys()


def test_flaresolverr_is_told_to_go_through_our_proxy_in_every_call() -> None:
    sent, _ = asked("flaresolverr")
    assert sent["proxy"] == {"url": "http://127.0.0.1:8118", "username": WAY.name, "password": WAY.password}
    assert "session" not in sent  # with one, no other proxy is taken than that it was made with


def test_firecrawl_is_asked_for_the_page_as_it_is_now() -> None:
    sent, headers = asked("firecrawl")
    assert (sent["maxAge"], sent["formats"], sent["onlyMainContent"]) == (0, ["rawHtml"], False)
    assert (sent["skipTlsVerification"], sent["storeInCache"], sent["parsers"]) == (False, False, [])
    assert headers["Authorization"] == f"Bearer {KEY}"
    first = Firecrawl("firecrawl", KEY, "https://firecrawl.example/v1/").ask("http://a.test/", TIMEOUT)
    assert first.url == "https://firecrawl.example/v1/scrape"
    assert json.loads(first.body)["parsePDF"] is False


def test_files_are_said_to_be_files() -> None:
    client = ScraperApi("scraperapi", KEY)
    assert "binary_target=true" in client.ask("http://a.test/price-list.PDF?x=1", TIMEOUT).url
    assert "binary_target" not in client.ask("http://a.test/pdf", TIMEOUT).url


def test_nothing_shows_the_key() -> None:
    for made in (ScrapingBee("scrapingbee-js", KEY), ScraperApi("scraperapi", KEY), Firecrawl("firecrawl", KEY)):
        assert KEY not in repr(made.ask("http://a.test/", TIMEOUT)) + repr(made.ask_account())


def test_accounts_are_read() -> None:
    bee = b'{"max_api_credit":2500000,"used_api_credit":1200000,"max_concurrency":50,"current_concurrency":3}'
    assert ScrapingBee("scrapingbee-js", KEY).read_account((bee,)) == ProviderAccount(
        1_200_000, 2_500_000, 1_300_000, 50, 3
    )
    api = b'{"concurrentRequests":2,"requestCount":300,"failedRequestCount":1}'
    assert ScraperApi("scraperapi", KEY).read_account((api,)) == ProviderAccount(300, None, None, None, 2)
    credit, queue = b'{"success":true,"data":{"remaining_credits":99.5}}', b'{"maxConcurrency":5,"activeJobsInQueue":1}'
    assert Firecrawl("firecrawl", KEY).read_account((credit, queue)) == ProviderAccount(
        remaining=99, at_once=5, running=1
    )


@pytest.mark.parametrize("answer", [b"", b"[]", b"<html>", b'"x"'])
def test_books_that_make_no_sense_are_none(answer: bytes) -> None:
    for client in (ScrapingBee("scrapingbee-js", KEY), ScraperApi("scraperapi", KEY)):
        with pytest.raises(ValueError, match="no JSON"):
            client.read_account((answer,))
    with pytest.raises(ValueError, match="no account"):
        Firecrawl("firecrawl", KEY).read_account((answer, answer))


def test_every_rung_has_a_provider_and_a_way() -> None:
    assert tuple(providers()) == ("scrapingbee", "scraperapi", "flaresolverr", "firecrawl")
    for name in ("scrapingbee", "scraperapi"):
        ways = SCRAPINGBEE_WAYS if name == "scrapingbee" else SCRAPERAPI_WAYS
        assert [rung for rung in PROVIDER_RUNGS if provider_of(rung) == name] == list(ways)
    assert provider_of("direct") == ""
    assert all(rung.lane is Lane.HTTP for rung in PROVIDER_RUNGS.values())


def test_a_busy_provider_is_waited_for_and_a_broken_account_is_climbed_over() -> None:
    assert {reason.name: reason.cure for reason in OURS} == {
        "PROVIDER_BUSY": Cure.WAIT,
        "PROVIDER_AWAY": Cure.WAIT,
        "PROVIDER_FAILED": Cure.WAIT,
        "PROVIDER_UNREADABLE": Cure.WAIT,
        "PROVIDER_KEY": Cure.CLIMB,
        "PROVIDER_CREDITS": Cure.CLIMB,
        "PROVIDER_REFUSED": Cure.CLIMB,
    }
