"""A rung that comes by GOSSAMER_PLUGINS alone does all that those of the program do: it is `tests/toy_rung.py`."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gossamer_sandbox.providers import Running, emulate
from gossamer_sandbox.providers.running import EMULATORS
from gossamer_sandbox.providers.shop import Sale, Shop
from gossamer_sandbox.providers.target import TooLarge, TooSlow, Unreachable
from gossamer_sandbox.providers.wire import Answer, Request, json_answer
from gossamer_sandbox.web import serve
from gossamer_sandbox.web.visitors import JS
from tests.api.conftest import server
from tests.crawl.test_paid_rungs import WEB, opened_by_scripts
from tests.servers import RedisServer
from tests.stories.cluster import Rows, instance
from tests.stories.program import Terminal
from tests.stories.test_keys import written

KEY = "toy-c0ffee5d41402abc4b2a76b9719d911017"
PLUGIN = {
    "GOSSAMER_PLUGINS": "tests.toy_rung:TOY",
    "PYTHONPATH": str(Path(__file__).parents[2]),
    "GOSSAMER_DOMAIN_RATE": "500",
}
PRICE = 3


class ToyEmulator:
    """`GET /page?url=...` and `GET /account`, by HTTP on loopback."""

    path = ""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop

    async def answer(self, request: Request) -> Answer:
        if request.header("x-toy-key") != self.shop.key:
            return Answer(401)
        if request.path == "/account":
            return json_answer(200, {"left": self.shop.left, "at_once": self.shop.at_once})
        return await self.shop.sell(lambda: self._sale(request.query["url"]), Answer, lambda answer: answer)

    async def _sale(self, url: str) -> Sale:
        try:
            page = await self.shop.target.visit(url, frozenset((JS,)), seconds=20, follow=True)
        except (Unreachable, TooSlow, TooLarge):
            return Sale(Answer(500), url)
        told = (("toy-status", str(page.status)), ("toy-credits", str(PRICE)), ("content-type", "text/html"))
        return Sale(Answer(200, told, page.body), url, PRICE)


@asynccontextmanager
async def toymaker(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Running, dict[str, str]]]:
    """The provider and a small web behind it, and the settings with which both are met."""
    monkeypatch.setitem(EMULATORS, "toymaker", ToyEmulator)
    async with serve(WEB) as web:
        rules = f"*.test=127.0.0.1:{web.port}"
        async with emulate("toymaker", rules, key=KEY) as provider:
            yield provider, {**PLUGIN, "GOSSAMER_CONNECT_TO": rules, **toy_settings(provider)}


def toy_settings(provider: Running) -> dict[str, str]:
    return {"GOSSAMER_TOY_KEY": KEY, "GOSSAMER_TOY_URL": provider.url}


def lists(folder: Path) -> tuple[str, ...]:
    domains, keywords = folder / "domains.txt", folder / "keywords.txt"
    domains.write_text("\n".join(opened_by_scripts()), encoding="utf-8")
    keywords.write_text("\n".join(WEB.keywords), encoding="utf-8")
    return ("--domains", str(domains), "--keywords", str(keywords))


async def test_a_job_climbs_to_it_and_everything_that_reports_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with toymaker(monkeypatch) as (provider, settings):
        terminal = Terminal(tmp_path / "home", settings={**settings, "GOSSAMER_LOG_LEVEL": "debug"})
        await asyncio.to_thread(_work, terminal, lists(tmp_path), tmp_path)
        total = provider.bill.total
        await asyncio.to_thread(_report, terminal, tmp_path, total, 1_000_000 - total)
    assert total
    leaks = [name for name, text in written(tmp_path) if KEY.encode() in text]
    assert leaks == []
    assert any(name.endswith("gossamer.log") for name, _ in written(tmp_path))


def _work(terminal: Terminal, given: tuple[str, ...], folder: Path) -> None:
    checks = {one["check"]: one for one in terminal.ask("doctor")["checks"]}
    assert checks["providers"]["sentence"] == "Toymaker takes the key. 1,000,000 credits left there."
    assert checks["settings"]["level"] == "ok"
    # Nothing was said of a mode: with a provider at hand it is hybrid.
    estimate = terminal.type("job", "estimate", *given[:2]).stdout
    assert "Toymaker credits" in estimate
    assert "based on hybrid mode" in estimate
    told = terminal.type("job", "run", "--name", "toy", *given, "--yes").stdout
    assert "Toymaker (JS rendering)" in told


def _report(terminal: Terminal, folder: Path, total: int, left: int) -> None:
    job = terminal.newest()
    terminal.assert_clean(job)
    methods = {row["crawl_method"] for row in terminal.rows(job)}
    assert "toy" in methods
    rows = terminal.ask("job", "cost-report", job)
    assert sum(int(row["total_credits"]) for row in rows) == total
    assert sum(int(row["js_rendering_requests"]) for row in rows) == total // PRICE
    credits = terminal.type("system", "credits").stdout
    assert "Toymaker" in credits
    assert f"Left at Toymaker: {left:,} credits." in credits
    prices = terminal.ask("system", "credits")["prices"]
    assert prices["toy"] == {"worst_credits": 4, "usual_credits": 3, "usd_per_credit": 0.01}
    terminal.type("job", "export", job, "--output", str(folder / "results.xlsx"))
    terminal.type("job", "summary", job, "--html", str(folder / "report.html"))
    assert "Toymaker (JS rendering)" in (folder / "report.html").read_text(encoding="utf-8")
    # What it did is still told where it is not known any more.
    without = Terminal(terminal.home, settings={"PYTHONPATH": PLUGIN["PYTHONPATH"]})
    for command in ("status", "summary", "cost-report", "audit"):
        without.type("job", command, job)
    assert "Toy " in without.type("job", "summary", job).stdout
    assert {row["crawl_method"] for row in without.rows(job)} == methods


async def test_without_its_key_it_is_not_to_be_had_and_its_settings_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with toymaker(monkeypatch) as (_, settings):
        del settings["GOSSAMER_TOY_KEY"]
        terminal = Terminal(tmp_path / "home", settings=settings)
        given = lists(tmp_path)

        def refused(*more: str, **changed: str) -> str:
            terminal.settings = {**settings, **changed}
            done = terminal.type("job", "run", "--name", "toy", *given, *more, check=False)
            assert done.returncode == 2
            return done.stderr

        said = await asyncio.to_thread(refused, "--ladder", "direct,toy")
        assert "--ladder: toy is not configured here." in said
        said = await asyncio.to_thread(refused, GOSSAMER_TOY_KEY="two words of a key")
        assert "GOSSAMER_TOY_KEY cannot be used, expected a key without spaces." in said
        assert "two words" not in said
        said = await asyncio.to_thread(refused, "--ladder", "direct,toy", GOSSAMER_PLUGINS="")
        assert "--ladder: there is no method 'toy'." in said


async def test_the_api_knows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with toymaker(monkeypatch) as (provider, settings):
        before = provider.bill.total
        await asyncio.to_thread(_ask_api, tmp_path / "home", settings)
        assert provider.bill.total == before + PRICE


def _ask_api(home: Path, settings: dict[str, str]) -> None:
    url = f"http://{opened_by_scripts()[0]}/"
    with server(home, "--processes", "1", settings=settings) as running, running.client() as client:
        answer = client.post("/v1/scrape", json={"url": url, "ladder": "toy", "formats": ["text"]})
        assert answer.status_code == 200, answer.text
        assert (answer.json()["method"], answer.json()["credits"]) == ("toy", 7)
        refused = client.post("/v1/scrape", json={"url": url, "ladder": "toys"})
        assert refused.status_code == 400
        assert "toy" in refused.json()["hint"]
        usage: Any = client.get("/v1/usage").json()
        assert usage


@pytest.mark.story
async def test_workers_of_a_cluster_know_it(
    tmp_path: Path, new_postgres: Callable[[], str], redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with toymaker(monkeypatch) as (provider, settings):
        await asyncio.to_thread(_work_in_a_cluster, tmp_path, new_postgres(), redis_server.url, settings)
        assert provider.bill.total


def _work_in_a_cluster(folder: Path, url: str, redis: str, settings: dict[str, str]) -> None:
    cluster = {
        "GOSSAMER_DATABASE_URL": url,
        "GOSSAMER_REDIS_URL": redis,
        "GOSSAMER_REDIS_PREFIX": "toy-story",
        "GOSSAMER_API_SECRET": "a-secret-that-all-of-them-share-here",
    }
    terminal = Terminal(folder / "home", settings={**settings, **cluster})
    with ExitStack() as stack:
        log = folder / "instance.log"
        stack.enter_context(instance(terminal, log, "--lanes", "http:4,desk:1", "--processes", "2"))
        rows = Rows(url)
        rows.until("SELECT count(*) FROM workers", lambda count: count == 2)
        terminal.type("job", "run", "--name", "toy", *lists(folder), "--ladder", "direct,toy", "--yes", "--detach")
        rows.until("SELECT count(*) FROM jobs WHERE state = 'completed'", lambda count: count == 1, 120)
        assert rows.ask("SELECT 1 FROM pages WHERE rung = 'toy' AND state = 'done' LIMIT 1")
        assert KEY not in log.read_text()
