"""What all emulated providers have: bills, limits, bad days, accounts, and the sample web as others do not see it."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from gossamer_sandbox.providers import EMULATORS, Kind, Storm, emulate, read_bill
from gossamer_sandbox.web import SampleWeb, serve
from gossamer_sandbox.web.patience import Patience
from gossamer_sandbox.web.replies import Replies
from gossamer_sandbox.web.visitors import JS, NOBODY, OPENED_BY, POWERS, PREMIUM
from tests.fetch.loopback import Site
from tests.sandbox.providers.asking import page, send
from tests.sandbox.providers.recorded import HOST, KEY, fill

WEB = SampleWeb(sites=140, seed=1, nasty=1.0, slow_seconds=0.05)
BEARER = {"Authorization": f"Bearer {KEY}"}


def host_with(quirk: str) -> str:
    number = next(n for n in WEB.sites.numbers if WEB.sites.profile(n).home_quirk == quirk)
    return WEB.sites.profile(number).name.primary


async def test_every_call_is_on_the_bill_paid_or_not(tmp_path: Path) -> None:
    async with Site() as site:
        fill(site)
        rules = f"{HOST}=127.0.0.1:{site.port}"
        async with emulate("scrapingbee", rules, bill=tmp_path / "bill.jsonl") as running:
            for path in ("", "missing", "away"):
                await page(running, f"http://{HOST}/{path}", render_js="true", transparent_status_code="true")
            told = await send(f"http://127.0.0.1:{running.port}/_emulator/bill")
    bill = read_bill(tmp_path / "bill.jsonl")
    assert [(entry.target, entry.credits, entry.charged, entry.way) for entry in bill] == [
        (f"http://{HOST}/", 5, True, "js"),
        (f"http://{HOST}/missing", 5, True, "js"),
        (f"http://{HOST}/away", 0, False, "js"),
    ]
    assert running.bill.entries == bill
    assert running.bill.of(f"http://{HOST}/") == 5
    assert [entry["credits"] for entry in told.json] == [5, 5, 0]


@pytest.mark.parametrize("name", ["scrapingbee", "scraperapi"])
async def test_one_call_too_many_is_refused_and_free(name: str) -> None:
    async with Site() as site:
        fill(site)
        async with emulate(name, f"{HOST}=127.0.0.1:{site.port}", at_once=2, delay=0.2) as running:
            got = await asyncio.gather(*(page(running, f"http://{HOST}/", render_js="false") for _ in range(5)))
    assert sorted(answer.status for answer in got) == [200, 200, 429, 429, 429]
    assert running.most > 2
    assert running.bill.total == 2


@pytest.mark.parametrize("name", ["flaresolverr", "firecrawl"])
async def test_these_two_let_calls_wait(name: str) -> None:
    asked = {"cmd": "request.get", "url": f"http://{HOST}/"} if name == "flaresolverr" else {"formats": ["rawHtml"]}
    async with Site() as site:
        fill(site)
        async with emulate(name, f"{HOST}=127.0.0.1:{site.port}", at_once=2, delay=0.05) as running:
            got = await asyncio.gather(*(page(running, f"http://{HOST}/", **asked) for _ in range(5)))
    assert [answer.status for answer in got] == [200] * 5
    assert running.most == 2


async def test_firecrawl_says_how_long_to_rest() -> None:
    async with Site() as site:
        fill(site)
        rules = f"{HOST}=127.0.0.1:{site.port}"
        async with emulate("firecrawl", rules, options={"per_minute": 1}) as running:
            first, second = [await page(running, f"http://{HOST}/", formats=["rawHtml"]) for _ in range(2)]
    assert (first.status, second.status) == (200, 429)
    assert 0 < int(second.headers["retry-after"]) <= 60


async def test_credits_come_to_an_end() -> None:
    async with Site() as site:
        fill(site)
        async with emulate("scrapingbee", f"{HOST}=127.0.0.1:{site.port}", credits=7) as running:
            statuses = [
                (await page(running, f"http://{HOST}/", render_js=js)).status for js in ("true", "true", "false")
            ]
    assert statuses == [200, 402, 200]
    assert running.bill.total == 6


async def test_accounts_say_what_the_bill_says() -> None:
    async with Site() as site:
        fill(site)
        rules = f"{HOST}=127.0.0.1:{site.port}"
        async with (
            emulate("scrapingbee", rules, credits=100, at_once=3) as bee,
            emulate("scraperapi", rules, credits=100, at_once=3) as api,
            emulate("firecrawl", rules, credits=100, at_once=3) as fire,
        ):
            await page(bee, f"http://{HOST}/")
            await page(api, f"http://{HOST}/", render="true")
            await page(fire, f"http://{HOST}/")
            usage = (await send(f"{bee.url}/usage", BEARER)).json
            account = (await send(f"{api.url}/account?api_key={KEY}")).json
            by_header = await send(f"{api.url}/account", {"x-sapi-api_key": KEY})
            cost = (await send(f"{api.url}/account/urlcost?api_key={KEY}&url=http://{HOST}/&premium=true")).json
            credit = (await send(f"{fire.url}/team/credit-usage", BEARER)).json
            queue = (await send(f"{fire.url}/team/queue-status", BEARER)).json
    assert (usage["used_api_credit"], usage["max_api_credit"], usage["max_concurrency"]) == (5, 100, 3)
    assert (account["requestCount"], account["requestLimit"], account["concurrencyLimit"]) == (10, 100, 3)
    assert by_header.status == 401
    assert cost == {"credits": 10}
    assert credit["data"]["remainingCredits"] == 99
    assert queue["maxConcurrency"] == 3


async def test_a_bad_day_can_be_sent_from_elsewhere() -> None:
    async with Site() as site:
        fill(site)
        async with emulate("scrapingbee", f"{HOST}=127.0.0.1:{site.port}") as running:
            control = f"http://127.0.0.1:{running.port}/_emulator"
            await send(f"{control}/storm", {}, {"kind": "status", "status": 502, "times": 2})
            statuses = [(await page(running, f"http://{HOST}/")).status for _ in range(3)]
            state = (await send(f"{control}/state")).json
    assert statuses == [502, 502, 200]
    assert (state["total"], state["storms"], state["most"]) == (5, 0, 1)


async def test_garbled_headers_are_charged_all_the_same() -> None:
    async with Site() as site:
        fill(site)
        async with emulate("scrapingbee", f"{HOST}=127.0.0.1:{site.port}") as running:
            running.storms.add(Storm(Kind.MALFORMED))
            got = await page(running, f"http://{HOST}/")
    assert not got.headers["spb-cost"].isdigit()
    assert running.bill.total == 5


async def test_auto_bills_the_tier_that_worked_and_no_other() -> None:
    async with serve(WEB) as sample, emulate("scrapingbee", sample.connect_to) as running:
        got = await page(running, f"http://{host_with('forbidden')}/", mode="auto")
        cheap = await page(running, f"http://{host_with('akamai')}/", mode="auto", max_cost="25")
    assert (got.status, got.headers["spb-auto-cost"]) == (200, "25")
    assert cheap.status == 500
    assert running.bill.total == 25


async def test_a_page_comes_wrapped_where_that_is_asked_for() -> None:
    async with Site() as site:
        fill(site)
        async with emulate("scrapingbee", f"{HOST}=127.0.0.1:{site.port}") as running:
            got = (await page(running, f"http://{HOST}/old", render_js="false", json_response="true")).json
    assert (got["initial-status-code"], got["resolved-url"], got["cost"]) == (301, f"http://{HOST}/", 1)
    assert "CRM software" in got["body"]


async def test_flaresolverr_sits_a_challenge_out_and_gives_up_on_a_block() -> None:
    async with serve(WEB) as sample, emulate("flaresolverr", sample.connect_to) as running:
        solved = await page(running, "", cmd="request.get", url=f"http://{host_with('cloudflare')}/")
        banned = await page(running, "", cmd="request.get", url=f"http://{host_with('cloudflare-1020')}/")
    assert solved.json["message"] == "Challenge solved!"
    assert (solved.json["solution"]["status"], solved.json["solution"]["headers"]) == (200, {})
    assert banned.status == 500
    assert "Cloudflare has blocked this request" in banned.json["message"]


async def test_sessions_of_flaresolverr_are_made_by_being_named() -> None:
    async with Site() as site:
        fill(site)
        async with emulate("flaresolverr", f"{HOST}=127.0.0.1:{site.port}") as running:
            await page(running, "", cmd="request.get", url=f"http://{HOST}/", session="a")
            again = await page(running, "", cmd="sessions.create", session="a")
            listed = await page(running, "", cmd="sessions.list")
            gone = await page(running, "", cmd="sessions.destroy", session="a")
            ready = await send(f"{running.url}/health")
    assert again.json["message"] == "Session already exists."
    assert listed.json["sessions"] == ["a"]
    assert gone.json["message"] == "The session has been removed."
    assert ready.json == {"status": "ok"}


def test_who_says_nothing_sees_what_everybody_sees() -> None:
    for quirk in ("shell", "forbidden", "cloudflare", "akamai", "captcha-widget"):
        host = host_with(quirk)
        replies = Replies(WEB.sites, Patience())
        plain = replies.reply(host, "/", gzip=False)
        opened = replies.reply(host, "/", gzip=False, visitor=POWERS)
        assert replies.reply(host, "/", gzip=False) == plain
        # Nobody solves captchas here.
        assert (opened == plain) == (quirk == "captcha-widget")


def test_a_visitor_sees_what_its_powers_open() -> None:
    web = SampleWeb(sites=40, seed=1, nasty=1.0)
    truth, rendered, all_opened = (web.truth(visitor=powers) for powers in (NOBODY, frozenset((JS,)), POWERS))

    def readable(found: dict[str, object]) -> set[str]:
        sites = found["sites"]
        assert isinstance(sites, list)
        return {page["url"] for site in sites for page in site["pages"] if page["reachable"] and not page["reasons"]}

    assert readable(truth) < readable(rendered) < readable(all_opened)
    assert web.truth() == truth
    assert all(needed & {JS, PREMIUM} for needed in OPENED_BY.values())


async def test_the_command_line_serves_all_of_them_until_it_is_told_to_stop(tmp_path: Path) -> None:
    async with Site() as site:
        fill(site)
        server = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gossamer_sandbox.providers", "--connect-to", f"{HOST}=127.0.0.1:{site.port}",
            "--key", "another", "--credits", "50", "--at-once", "2", "--bills", str(tmp_path),
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert server.stdout is not None
        async with asyncio.timeout(60):
            urls = dict([(await server.stdout.readline()).decode().split() for _ in EMULATORS])
            assert (await server.stdout.readline()).decode() == "ready\n"
            assert list(urls) == list(EMULATORS)
            got = await send(f"{urls['scrapingbee']}/?url=http://{HOST}/", {"Authorization": "Bearer another"})
            server.send_signal(signal.SIGTERM)
            assert await server.wait() == 0
    assert got.headers["spb-cost"] == "5"
    line = json.loads((tmp_path / "scrapingbee.jsonl").read_text())
    assert (line["target"], line["credits"]) == (f"http://{HOST}/", 5)
