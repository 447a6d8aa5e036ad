"""A page through a provider: what is sent, what comes back, and what must never be sent."""

import gzip
import io
import json
from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.errors import UserError
from gossamer.fetch import FetchError
from gossamer.fetch.deny_list import DenyList
from gossamer.fetch.providers import ProviderAccess, Providers, open_provider
from gossamer.fetch.providers.base import ProviderAccount
from gossamer.gate.local import MemoryPlaces
from gossamer.logging import bound, configure
from gossamer.model.rungs import provider_of
from gossamer.model.trouble import Reason
from gossamer_sandbox.providers import Kind, Storm
from gossamer_sandbox.providers.flaresolverr import FlareSolverrEmulator
from gossamer_sandbox.web import SampleWeb, serve
from gossamer_sandbox.web.visitors import JS, POWERS, PREMIUM
from tests.fetch.loopback import Name, NameServer, Site, answer
from tests.fetch.providers.conftest import PROVIDER_RUNGS, RUNGS, OpenWay
from tests.sandbox.providers.recorded import HOST, JPEG, PAGE

WEB = SampleWeb(sites=140, seed=1, nasty=1.0, slow_seconds=0.05)
PRICES = {
    "scrapingbee-standard": 1,
    "scrapingbee-js": 5,
    "scrapingbee-premium": 10,
    "scrapingbee-premium-js": 25,
    "scrapingbee-stealth": 75,
    "scraperapi": 1,
    "scraperapi-js": 10,
    "scraperapi-premium": 10,
    "scraperapi-premium-js": 25,
    "scraperapi-ultra": 30,
    "scraperapi-ultra-js": 75,
    "flaresolverr": 0,
    "firecrawl": 1,
}


def host_with(quirk: str) -> str:
    number = next(n for n in WEB.sites.numbers if WEB.sites.profile(n).home_quirk == quirk)
    return WEB.sites.profile(number).name.primary


@pytest.mark.parametrize("rung", PROVIDER_RUNGS)
async def test_a_page_arrives_with_everything_that_describes_it_and_its_price(rung: str, open_way: OpenWay) -> None:
    way = await open_way(rung)
    response = await way.get()
    assert (response.status, response.content_type, response.rung) == (200, "text/html", rung)
    assert b"CRM software for everyone" in response.body
    assert (response.requested, response.url, response.hops) == (f"http://{HOST}/", f"http://{HOST}/", ())
    assert response.credits == way.running.bill.total == PRICES[rung]


async def test_every_rung_sees_of_the_sample_web_what_its_price_buys(open_way: OpenWay) -> None:
    wanted: dict[str, set[str]] = {
        "scrapingbee-standard": set(),
        "scrapingbee-js": {"shell"},
        "scrapingbee-premium": {"forbidden"},
        "scrapingbee-premium-js": {"shell", "forbidden", "cloudflare"},
        "scrapingbee-stealth": {"shell", "forbidden", "cloudflare", "akamai"},
        "scraperapi-ultra-js": {"shell", "forbidden", "cloudflare", "akamai"},
        "flaresolverr": {"shell", "cloudflare"},
        "firecrawl": {"shell"},
    }
    truth = {site["quirk"]: site for site in WEB.truth(visitor=POWERS)["sites"]}
    seen: dict[str, set[str]] = {}
    async with serve(WEB) as sample:
        for rung in wanted:
            way = await open_way(rung, connect_to=sample.connect_to)
            seen[rung] = set()
            for quirk in ("shell", "forbidden", "cloudflare", "akamai", "captcha-widget"):
                response = await way.get(f"http://{host_with(quirk)}/")
                # Links to other pages of the site are what the refusals do not have.
                if response.status == 200 and response.body.count(b"<a href") > 3:
                    seen[rung].add(quirk)
                    assert len(truth[quirk]["pages"]) > 1
    assert seen == wanted


@pytest.mark.parametrize("rung", ["scrapingbee-standard", "scraperapi"])
async def test_files_arrive_byte_by_byte(rung: str, open_way: OpenWay) -> None:
    response = await (await open_way(rung)).get(f"http://{HOST}/photo.jpg")
    assert (response.body, response.content_type) == (JPEG, "image/jpeg")


@pytest.mark.parametrize("rung", RUNGS)
async def test_a_redirect_on_the_site_was_followed_and_is_told(rung: str, open_way: OpenWay) -> None:
    response = await (await open_way(rung)).get(f"http://{HOST}/old")
    assert (response.requested, response.url) == (f"http://{HOST}/old", f"http://{HOST}/")
    assert response.hops == (f"http://{HOST}/old", f"http://{HOST}/")
    assert response.status == 200


@pytest.mark.parametrize("rung", RUNGS)
async def test_what_comes_from_another_site_is_handed_back_as_the_redirect_it_was(
    rung: str, open_way: OpenWay, target: Site
) -> None:
    target.pages["/gone"] = answer(b"", b"Location: http://other.test/", status=b"302 Found")
    way = await open_way(rung)
    response = await way.get(f"http://{HOST}/gone")
    assert (response.status, response.header("location")) == (302, "http://other.test/")
    assert (response.url, response.body) == (f"http://{HOST}/gone", b"")
    assert response.credits == way.running.bill.total


@pytest.mark.parametrize("rung", RUNGS)
async def test_a_name_that_leads_inside_is_never_sent(rung: str, open_way: OpenWay, name_server: NameServer) -> None:
    name_server.names["inside.example"] = Name(["10.0.0.5"])
    way = await open_way(rung)
    for url in (
        "http://inside.example/",
        "http://169.254.169.254/latest/",
        "http://localhost/",
        "http://gone.example/",
    ):
        error = await way.error(url)
        assert error.trouble.reason in (Reason.FORBIDDEN_ADDRESS, Reason.DNS)
        assert error.credits == 0
    assert way.running.bill.entries == []


@pytest.mark.parametrize("rung", RUNGS)
async def test_what_is_on_the_never_send_list_is_never_sent(
    rung: str, open_way: OpenWay, tmp_path: Path, name_server: NameServer
) -> None:
    listed = tmp_path / "never-send.txt"
    listed.write_text("patients.test\n203.0.113.0/24\n93.184.216.0/24\n")
    name_server.names["clinic.example"] = Name(["93.184.216.34"])
    way = await open_way(rung, never_send=DenyList(listed, SystemClock(), "GOSSAMER_NEVER_SEND"))
    for url, entry in (
        ("http://www.patients.test/", "patients.test"),
        ("http://clinic.example/", "93.184.216.0/24"),
    ):
        error = await way.error(url)
        assert (error.trouble.reason, error.trouble.detail, error.credits) == (Reason.NEVER_SEND, entry, 0)
        with pytest.raises(FetchError):
            await way.session.admit(url)
    assert (await way.get()).status == 200
    assert [entry.target for entry in way.running.bill.entries] == [f"http://{HOST}/"]


def test_a_never_send_list_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"GOSSAMER_NEVER_SEND names .*/none.txt, which cannot be read"):
        DenyList(tmp_path / "none.txt", SystemClock(), "GOSSAMER_NEVER_SEND")


@pytest.mark.parametrize("rung", RUNGS)
async def test_a_page_over_the_limit_is_refused_or_cut_and_was_paid(rung: str, open_way: OpenWay) -> None:
    way = await open_way(rung)
    error = await way.error(max_bytes=50)
    assert error.trouble.sentence == "Response too large (over 50 bytes)"
    assert error.credits == way.running.bill.total
    assert (await way.get(max_bytes=50, truncate=True)).body == PAGE[:50]


@pytest.mark.parametrize("rung", ["scrapingbee-standard", "scraperapi"])
async def test_a_bomb_is_put_down(rung: str, open_way: OpenWay, target: Site) -> None:
    """One that the provider unpacks, and one that it packs itself."""
    target.pages["/bomb"] = answer(gzip.compress(bytes(30_000_000)), b"Content-Encoding: gzip")
    way = await open_way(rung)
    assert (await way.error(f"http://{HOST}/bomb")).trouble.reason in (Reason.TOO_LARGE, Reason.PROVIDER_FAILED)


@pytest.mark.parametrize("rung", RUNGS)
async def test_a_body_that_is_not_wanted_is_left(rung: str, open_way: OpenWay) -> None:
    asked: list[tuple[int, str]] = []

    def wanted(status: int, headers: object) -> bool:
        assert isinstance(headers, dict)
        asked.append((status, headers["content-type"].partition(";")[0]))
        return False

    response = await (await open_way(rung)).get(accept=wanted)
    assert (response.status, response.body, asked) == (200, b"", [(200, "text/html")])


@pytest.mark.parametrize("rung", RUNGS)
async def test_a_body_may_go_into_a_sink(rung: str, open_way: OpenWay) -> None:
    parts: list[bytes] = []

    async def sink(piece: bytes | memoryview) -> bool:
        parts.append(bytes(piece))
        return False

    response = await (await open_way(rung)).get(sink=sink)
    assert response.body == b""
    assert b"CRM software for everyone" in b"".join(parts)


async def test_flaresolverr_keeps_no_browser_and_a_session_ends_once(open_way: OpenWay) -> None:
    way = await open_way("flaresolverr", session=7)
    await way.get()
    emulator = way.running.emulator
    assert isinstance(emulator, FlareSolverrEmulator)
    assert emulator.sessions == {}  # one that is made anew after a restart would have no proxy
    await way.session.close()
    await way.session.close()
    with pytest.raises(RuntimeError):
        await way.get()


async def test_no_page_of_flaresolverr_can_be_had_past_the_guard() -> None:
    clock = SystemClock()
    access = {"flaresolverr": ProviderAccess(url="http://127.0.0.1:8191")}
    desk = Providers(access, clock, MemoryPlaces(clock), holder="test")
    with pytest.raises(RuntimeError, match="without a forward proxy"):
        open_provider("flaresolverr", desk, None)  # type: ignore[arg-type]
    assert await desk.account("flaresolverr") is None


@pytest.mark.parametrize("rung", PROVIDER_RUNGS)
def test_a_provider_that_is_not_set_up_says_what_is_missing(rung: str) -> None:
    clock = SystemClock()
    desk = Providers({}, clock, MemoryPlaces(clock), holder="test")
    assert desk.rungs == ()
    with pytest.raises(UserError, match=f"The method {rung} cannot be used here: GOSSAMER_") as caught:
        open_provider(rung, desk, None)  # type: ignore[arg-type]
    assert caught.value.code == "provider.missing"


def test_the_desk_knows_which_rungs_can_be_used() -> None:
    clock = SystemClock()
    access = {"scrapingbee": ProviderAccess("some-key"), "flaresolverr": ProviderAccess(url="http://127.0.0.1:8191")}
    desk = Providers(access, clock, MemoryPlaces(clock), holder="test")
    assert {provider_of(rung) for rung in desk.rungs} == {"scrapingbee", "flaresolverr"}
    assert "some-key" not in repr(access)


async def test_what_is_left_is_asked_of_the_provider(open_way: OpenWay) -> None:
    bee = await open_way("scrapingbee-js", credits=100, at_once=7)
    await bee.get()
    account = await bee.desk.account("scrapingbee")
    assert account == ProviderAccount(5, 100, 95, 7, 0, "2026-12-01T00:00:00.000000")
    api = await open_way("scraperapi", credits=100)
    assert await api.desk.account("scraperapi") == ProviderAccount(0, 100, 100, 5, 0, "2026-11-01T00:00:00.000Z")
    fire = await open_way("firecrawl", credits=100)
    assert await fire.desk.account("firecrawl") == ProviderAccount(remaining=100, at_once=5, running=0)
    assert await (await open_way("flaresolverr")).desk.account("flaresolverr") is None


async def test_powers_are_told_to_the_sample_web_and_to_nobody_else(open_way: OpenWay, target: Site) -> None:
    """A site that does not know the header gets it and minds nothing; direct requests never carry it."""
    await (await open_way("scrapingbee-premium-js")).get()
    assert target.seen[-1].header("x-sample-visitor") == f"{JS},{PREMIUM}"
    await (await open_way("scrapingbee-standard")).get()
    assert target.seen[-1].header("x-sample-visitor") == ""


async def test_a_cut_answer_of_the_provider_was_perhaps_paid(open_way: OpenWay) -> None:
    way = await open_way("scrapingbee-standard")
    way.running.storms.add(Storm(Kind.CUT))
    error = await way.error()
    assert error.trouble.reason is Reason.PROVIDER_AWAY
    assert error.credits == way.running.bill.total == 1  # the headers had come


@pytest.mark.usefixtures("logging_as_it_was")
async def test_every_failed_call_is_one_line_in_the_words_of_its_answer(open_way: OpenWay) -> None:
    way = await open_way("scrapingbee-standard")
    way.running.storms.add(Storm(Kind.STATUS, times=2, status=503))
    written = io.StringIO()
    configure("line", "ERROR", stream=written)
    with bound(worker="w-42", job="abc123"):
        await way.error(f"http://{HOST}/page")
    line = f"[ERROR] Job:abc123 Worker:w-42 URL:{HOST}/page ScrapingBee: HTTP 503 Service Unavailable\n"
    assert written.getvalue().partition(" ")[2] == line
    written = io.StringIO()
    configure("json", "ERROR", stream=written)
    await way.error(f"http://{HOST}/page")
    event = json.loads(written.getvalue())
    assert (event["event"], event["provider"], event["status"]) == ("provider.error", "scrapingbee", 503)
    assert event["error"] in Reason.__members__
