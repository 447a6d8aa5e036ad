"""What is left at the providers, as their own books say: asked for now, briefly, and without a word about keys."""

import asyncio
from pathlib import Path

import orjson
import pytest

from gossamer.app import open_app
from gossamer.cli.here import LocalHome
from gossamer.cli.spending import balance_lines, show_spending
from gossamer.questions import system
from gossamer.questions.view import View
from gossamer.settings import Settings
from gossamer_sandbox.providers import emulate
from tests.servers import free_port

KEYS = {"bee": "bee-key-5f1e0d9c8b7a", "api": "api-key-0a1b2c3d4e5f", "crawl": "crawl-key-99887766"}


async def test_credits_left_at_each_provider_or_why_nobody_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with (
        emulate("scrapingbee", "", key=KEYS["bee"], credits=1_000) as bee,
        emulate("firecrawl", "", key="another key") as crawl,
    ):
        settings = Settings(
            home=tmp_path,
            scrapingbee_key=KEYS["bee"],
            scrapingbee_url=bee.url,
            scraperapi_key=KEYS["api"],
            scraperapi_url=f"http://127.0.0.1:{free_port()}",  # where nobody is
            firecrawl_key=KEYS["crawl"],
            firecrawl_url=crawl.url,
            flaresolverr_url="http://127.0.0.1:1/v1",  # keeps no books, and is not asked
        )
        async with open_app(settings) as app:
            await show_spending(LocalHome(app), 20, as_json=False)
            said = capsys.readouterr()
            assert [line for line in said.out.splitlines() if line.startswith("Left at")] == [
                "Left at ScrapingBee: 1,000 of 1,000 credits, until 2026-12-01.",
                "Left at ScraperAPI: not known (Could not connect).",
                "Left at Firecrawl: not known (It does not accept the key (HTTP 401)).",
            ]
            await show_spending(LocalHome(app), 20, as_json=True)
            told = orjson.loads(capsys.readouterr().out)["accounts"]
            assert told["scrapingbee"]["remaining"] == 1_000
            assert told["scrapingbee"]["at_once"] == 5
            assert told["firecrawl"] == {"error": "HTTP 401"}
            await show_spending(LocalHome(app), 20, as_json=False, ask=False)
            assert "Left at" not in capsys.readouterr().out
        assert not any(key in said.out + said.err for key in KEYS.values())
        assert bee.bill.total == 0


async def test_firecrawl_says_what_is_left_and_not_of_how_many(tmp_path: Path) -> None:
    async with emulate("firecrawl", "", key=KEYS["crawl"], credits=321) as crawl:
        settings = Settings(home=tmp_path, firecrawl_key=KEYS["crawl"], firecrawl_url=crawl.url)
        async with open_app(settings) as app:
            assert balance_lines((await system.spending(View(app))).books) == ["Left at Firecrawl: 321 credits."]


async def test_a_provider_that_never_answers_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def keep_waiting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    monkeypatch.setattr(system, "_LONGEST", 0.2)
    async with await asyncio.start_server(keep_waiting, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        settings = Settings(home=tmp_path, scraperapi_key=KEYS["api"], scraperapi_url=f"http://127.0.0.1:{port}")
        async with open_app(settings) as app:
            told = (await system.spending(View(app))).books
    assert balance_lines(told) == ["Left at ScraperAPI: not known (No answer in 0.2 s)."]


async def test_without_a_provider_nobody_is_asked(tmp_path: Path) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        assert (await system.spending(View(app))).books == {}
