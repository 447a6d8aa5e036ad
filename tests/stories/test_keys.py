"""Providers' keys are in no log, no database, no file and no answer, whatever goes wrong with them."""

import asyncio
import zipfile
from collections.abc import Iterator
from pathlib import Path

from gossamer_sandbox.providers import emulate
from gossamer_sandbox.providers.storms import Kind, Storm
from gossamer_sandbox.web import serve
from tests.crawl.test_paid_rungs import WEB, opened_by_scripts
from tests.stories.program import Terminal

# As providers hand them out; one has characters that an address spells otherwise.
BEE = "BEE5Q2V8L1ZK7XJ4N9T3W6R0P8Y2H5D1"
API = "api+c0ffee/5d41402abc4b2a76b9719d911017"
CRAWL = "fc-8b1a9953c4611296a827abf8c47804d7"
SPELLINGS = [key.encode() for key in (BEE, API, "api%2Bc0ffee%2F5d41402abc4b2a76b9719d911017", CRAWL)]


def written(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below, and what is in those that are archives."""
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        yield str(path), path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield from ((f"{path}:{name}", archive.read(name)) for name in archive.namelist())


async def test_no_key_is_ever_written_down(tmp_path: Path) -> None:
    home, domains, keywords = (tmp_path / name for name in ("home", "domains.txt", "keywords.txt"))
    domains.write_text("\n".join(opened_by_scripts()), encoding="utf-8")
    keywords.write_text("\n".join(WEB.keywords), encoding="utf-8")
    async with serve(WEB) as web:
        rules = f"*.test=127.0.0.1:{web.port}"
        async with (
            emulate("scrapingbee", rules, key=BEE) as bee,
            emulate("scraperapi", rules, key="another") as api,
            emulate("firecrawl", rules, key=CRAWL) as crawl,
        ):
            for storm in (Storm(Kind.MALFORMED), Storm(Kind.STATUS, status=500), Storm(Kind.STATUS, status=402)):
                bee.storms.add(storm)
            crawl.storms.add(Storm(Kind.CUT))
            given = {"CONNECT_TO": rules, "DOMAIN_RATE": "500", "LOG_LEVEL": "debug"}
            for name, key, provider in (
                ("SCRAPINGBEE", BEE, bee),
                ("SCRAPERAPI", API, api),
                ("FIRECRAWL", CRAWL, crawl),
            ):
                given |= {f"{name}_KEY": key, f"{name}_URL": provider.url}
            terminal = Terminal(home, settings={f"GOSSAMER_{name}": value for name, value in given.items()})
            answers = await asyncio.to_thread(_work, terminal, domains, keywords, tmp_path)
            assert bee.bill.entries, "the first provider was never asked"
    assert "Left at ScrapingBee: " in answers
    assert "Left at ScraperAPI: not known (It does not accept the key (HTTP 401))." in answers
    found = dict(written(tmp_path))
    for needed in ("gossamer.db", "gossamer.log", "report.html", "results.xlsx:xl/workbook.xml"):
        assert any(name.endswith(needed) for name in found), sorted(found)
    assert b"scrapingbee" in next(text for name, text in found.items() if name.endswith("gossamer.log"))
    leaks = [name for name, text in {**found, "answers": answers.encode()}.items() for key in SPELLINGS if key in text]
    assert leaks == []


def _work(terminal: Terminal, domains: Path, keywords: Path, folder: Path) -> str:
    """A job through all of them, its reports, and what is left; everything that was answered."""
    lists = ("--domains", str(domains), "--keywords", str(keywords), "--processes", "1")
    ladder = ("--ladder", "direct,scrapingbee-js,scraperapi-js,firecrawl")
    # Whether it ends or pauses for what the providers do is not what this is about.
    done = [terminal.type("job", "run", "--name", "keys", *lists, *ladder, check=False)]
    job = terminal.until_read(1)
    done += [
        terminal.type("job", "export", job, "--output", str(folder / "results.xlsx")),
        terminal.type("job", "summary", job, "--html", str(folder / "report.html")),
        terminal.type("system", "credits"),
    ]
    return "\n".join(one.stdout + one.stderr for one in done)
