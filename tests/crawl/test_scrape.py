"""The `scrape` recipe through the whole engine: exactly the listed pages, each with a result of its own."""

import asyncio
import os
import unicodedata
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gossamer.app import App, open_app, open_deps
from gossamer.crawl.audit import audit
from gossamer.exports.formats import FORMATS
from gossamer.exports.make import Order, make_file
from gossamer.intake import control
from gossamer.intake.addresses import read_addresses
from gossamer.intake.submit import submit
from gossamer.model.states import PageState
from gossamer.recipes.page_results import failed_after, read_result, read_results, results_after, with_files
from gossamer.recipes.scrape import PAGE
from gossamer.recipes.scrape.request import scrape_request
from gossamer.recipes.scrape.tables import SCRAPED
from gossamer.settings import Settings
from gossamer.store import counters, jobs
from gossamer.store.given_pages import ScrapedPage
from tests.crawl.scripted import work_until_over

WORDS = " ".join(["Readable sentences about lamps, chairs and tables, as people write them."] * 12)
PRODUCT = (
    "<html lang=en><head><title>{title}</title><link rel=canonical href='http://shop.test/canonical'></head><body>"
    "<nav><a href=/elsewhere>Elsewhere</a></nav><main><h1>{title}</h1><p class=price>€ 1.234,50</p>"
    f"<p>{WORDS}</p></main></body></html>"
)
ANSWERS: dict[str, tuple[int, dict[str, str], str]] = {
    "/robots.txt": (200, {"content-type": "text/plain"}, "User-agent: *\nDisallow: /private"),
    "/moved": (302, {"location": "http://other.test/landing"}, ""),
    "/here": (301, {"location": "/one"}, ""),
    "/gone": (404, {}, "<h1>Not found</h1>"),
    "/data.json": (200, {"content-type": "application/json"}, '{"lamps": 3}'),
    "/hostile": (
        200,
        {},
        "<html><head><title>Hostile\x07 lamp</title><meta property=og:image content='javascript:alert(1)'>"
        "<meta property=og:title content='JavaScript: The Good Parts'><script type='application/ld+json'>"
        '{"@type": "Book", "name": "\\u001bJava\\u009bScript: a book", "url": "javascript:alert(1)"}</script></head>'
        "<body><main><h1>\x1bRed\u0085lamp</h1><h2>JavaScript: The Good Parts</h2>"
        f"<p>{WORDS} <a href='java\tscript: alert(1)'>one\x9b</a> <a href='/two'>t\x1bwo</a></p></main></body></html>",
    ),
    "/bare": (200, {}, f"<html><title>Bare</title><body><p>{WORDS}</p></body></html>"),
}


class Town:
    """A few sites on one port. Remembers what was asked for, robots.txt apart."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, path: str) -> tuple[int, dict[str, str], str]:
        return ANSWERS.get(path) or (200, {}, PRODUCT.format(title=f"Lamp {path[1:]}"))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (first := await reader.readexactly(1)) != b"\x16":  # how TLS begins, which is not spoken here
                head = first + await reader.readuntil(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                path = lines[0].split(" ")[1]
                host = next(line.split(": ", 1)[1] for line in lines if line.lower().startswith("host: "))
                if path != "/robots.txt":
                    self.asked.append(f"http://{host}{path}")
                status, headers, body = self.answer(path)
                told = {"content-type": "text/html", "content-length": str(len(body.encode())), **headers}
                said = "".join(f"{name}: {value}\r\n" for name, value in told.items())
                writer.write(f"HTTP/1.1 {status} x\r\n{said}\r\n{body}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


class BackgroundSlots:
    """An open home on the town, and a worker for its jobs."""

    def __init__(self, app: App, town: Town) -> None:
        self.app = app
        self.town = town

    async def scrape(self, urls: Sequence[str], **asked: Any) -> UUID:
        listed = read_addresses(urls)
        job = await submit(self.app.database, self.app.recipes, scrape_request(listed, self.app.rungs, **asked))
        await self.work(job.id)
        return job.id

    async def work(self, job_id: UUID) -> None:
        async with open_deps(self.app.settings, 1) as deps:
            await work_until_over(deps, job_id)

    async def result(self, job_id: UUID, url: str) -> ScrapedPage:
        found = await read_result(self.app.database, job_id, PAGE.name, url)
        assert found
        return found


@asynccontextmanager
async def opened(tmp_path: Path, database_url: str) -> AsyncIterator[BackgroundSlots]:
    town = Town()
    server = await asyncio.start_server(town.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url = None if database_url.startswith("sqlite") else database_url
    place = f"127.0.0.1:{port}"
    settings = Settings(
        home=tmp_path / "home",
        domain_rate=500,
        connect_to=f"*.test={place}",
        database_url=url,
        test_rungs=f"browser={place}",
    )
    async with open_app(settings) as app:
        yield BackgroundSlots(app, town)
    server.close()


@pytest.fixture
async def desk(tmp_path: Path, database_url: str) -> AsyncIterator[BackgroundSlots]:
    async with opened(tmp_path, database_url) as desk:
        yield desk


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[BackgroundSlots]:
    async with opened(tmp_path, "sqlite:") as desk:
        yield desk


async def test_exactly_the_listed_pages_are_fetched_and_each_has_its_own_result(desk: BackgroundSlots) -> None:
    given = {name: f"http://shop.test/{name}" for name in ("one", "two", "moved", "here", "gone", "private")}
    given["other"] = "http://other.test/page"
    job_id = await desk.scrape(list(given.values()), formats=["markdown", "metadata"])

    results = await read_results(desk.app.database, job_id, PAGE.name, list(given.values()))
    by_url = {page.url: page for page in results}
    assert [page.url for page in results] == list(given.values())
    states = {name: by_url[url].state for name, url in given.items()}
    assert [name for name, state in states.items() if state is PageState.FAILED] == ["gone", "private"]
    assert all(state in (PageState.DONE, PageState.FAILED) for state in states.values())
    assert by_url[given["gone"]].error == "HTTP 404 Not Found"
    assert by_url[given["private"]].reason == "ROBOTS"

    # Two addresses that call themselves the same page are two results, as is one that redirects.
    assert [by_url[given[name]].data["title"] for name in ("one", "two", "here")] == [
        "Lamp one",
        "Lamp two",
        "Lamp one",
    ]
    moved = by_url[given["moved"]]
    assert (moved.data["url"], moved.data["final_url"]) == (given["moved"], "http://other.test/landing")
    assert "Readable sentences" in moved.data["markdown"]
    assert "Elsewhere" not in moved.data["markdown"]

    asked = {given[name] for name in given if name != "private"} | {"http://other.test/landing"}
    assert set(desk.town.asked) == asked
    progress = await desk.app.database.read(counters.progress, job_id)
    assert (progress.sites_total, progress.pages_done, progress.pages_failed) == (2, 5, 2)
    assert progress.pages_open == 0
    assert (await audit(desk.app.database, job_id, desk.app.recipes)).clean


async def test_markdown_is_of_the_whole_page_where_that_is_wanted(embedded: BackgroundSlots) -> None:
    job_id = await embedded.scrape(["http://shop.test/one"], formats=["markdown"])
    content = (await embedded.result(job_id, "http://shop.test/one")).data["markdown"]
    job_id = await embedded.scrape(["http://shop.test/one"], formats=["markdown"], only_main_content=False)
    whole = (await embedded.result(job_id, "http://shop.test/one")).data["markdown"]
    assert "Elsewhere" not in content
    assert whole.startswith("[Elsewhere](http://shop.test/elsewhere)\n\n# Lamp one")


async def test_results_are_read_page_by_page_without_missing_one(embedded: BackgroundSlots) -> None:
    urls = [f"http://{host}.test/{number}" for host in ("a", "b", "c") for number in range(4)]
    job_id = await embedded.scrape([*urls, "http://shop.test/moved"], formats=["links"])
    found: list[str] = []
    after, steps = "", 0
    while steps == 0 or after:
        listing = await results_after(embedded.app.database, job_id, PAGE.name, after, 5)
        found += [page.url for page in listing.pages]
        after, steps = listing.next, steps + 1
    assert (sorted(found), steps) == (sorted([*urls, "http://shop.test/moved"]), 3)


async def test_html_and_other_bodies_are_kept_in_files_and_swept_after_a_day(embedded: BackgroundSlots) -> None:
    page, data = "http://shop.test/one", "http://shop.test/data.json"
    job_id = await embedded.scrape([page, data], formats=["html", "raw", "text"])
    files = embedded.app.page_files()
    read = await with_files(files, job_id, await embedded.result(job_id, page))
    assert "html" not in (await embedded.result(job_id, page)).data
    assert read.data["html"] == read.data["raw"] == PRODUCT.format(title="Lamp one")
    assert read.data["text"].splitlines()[:2] == ["Elsewhere", "Lamp one"]
    other = await with_files(files, job_id, await embedded.result(job_id, data))
    assert (other.data["raw"], other.data["content_type"]) == ('{"lamps": 3}', "application/json")

    assert await files.sweep() == 0
    folder = embedded.app.settings.home / "files" / "pages"
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        os.utime(path, (0, 0))
    assert await files.sweep() == 3
    gone = await with_files(files, job_id, await embedded.result(job_id, page))
    assert gone.data["html"] is None
    assert gone.data["text"]


async def test_what_is_no_web_page_fails_unless_its_body_is_wanted(embedded: BackgroundSlots) -> None:
    job_id = await embedded.scrape(["http://shop.test/data.json"], formats=["text"])
    assert (await embedded.result(job_id, "http://shop.test/data.json")).reason == "NOT_HTML"


async def test_a_page_without_a_required_field_fails_and_names_it(embedded: BackgroundSlots) -> None:
    rules = {"price": {"css": ".price", "type": "price", "required": True}, "name": "h1"}
    urls = ["http://shop.test/one", "http://shop.test/bare"]
    job_id = await embedded.scrape(urls, rules=rules)
    good, bad = await read_results(embedded.app.database, job_id, PAGE.name, urls)
    assert good.data["extract"] == {"price": {"amount": 1234.5, "currency": "EUR"}, "name": "Lamp one"}
    assert bad.error == "Required field not found (price)"


async def test_pages_may_begin_in_another_lane(embedded: BackgroundSlots) -> None:
    urls = ["http://shop.test/one", "http://shop.test/two", "http://other.test/page"]
    job_id = await embedded.scrape(urls, ladder="browser", formats=["links"])
    found = await read_results(embedded.app.database, job_id, PAGE.name, urls)
    assert [(page.state, page.data["crawl_method"]) for page in found] == [(PageState.DONE, "browser")] * 3
    assert (await audit(embedded.app.database, job_id, embedded.app.recipes)).clean


async def test_a_page_without_the_screenshot_that_was_wanted_is_no_result(embedded: BackgroundSlots) -> None:
    job_id = await embedded.scrape(["http://shop.test/one"], formats=["screenshot"])
    page = await embedded.result(job_id, "http://shop.test/one")
    assert (page.state, page.reason) == (PageState.FAILED, "NOT_CONFIGURED")


async def test_what_failed_is_asked_for_again_and_the_rest_is_left_alone(embedded: BackgroundSlots) -> None:
    urls = ["http://shop.test/one", "http://shop.test/shaky"]
    ANSWERS["/shaky"] = (403, {}, "<h1>Forbidden</h1>")
    job_id = await embedded.scrape(urls, formats=["links"])
    assert (await embedded.result(job_id, urls[1])).reason == "FORBIDDEN"
    del ANSWERS["/shaky"]
    job = await embedded.app.database.read(jobs.get, job_id)
    assert job
    assert (await control.retry_failed(embedded.app.database, job)).pages == 1
    await embedded.work(job_id)
    assert (await embedded.result(job_id, urls[1])).data["title"] == "Lamp shaky"
    assert embedded.town.asked.count(urls[0]) == 1
    assert (await audit(embedded.app.database, job_id, embedded.app.recipes)).clean


async def test_what_steers_a_terminal_or_runs_when_clicked_is_in_no_value(embedded: BackgroundSlots) -> None:
    rules = {"to": "a@href", "said": "h1", "book": "h2", "all": {"css": "a", "list": True, "fields": {"to": "@href"}}}
    formats = ["text", "markdown", "links", "metadata", "structured"]
    job_id = await embedded.scrape(["http://shop.test/hostile"], formats=formats, rules=rules)
    data = (await embedded.result(job_id, "http://shop.test/hostile")).data
    said = str(data)
    for unwanted in ("\x1b", "\x9b", "\x07", "\\x", "alert(1)"):
        assert unwanted not in said, unwanted
    assert data["title"] == "Hostile lamp"
    assert data["extract"]["book"] == "JavaScript: The Good Parts"
    assert (data["extract"]["to"], data["extract"]["said"]) == ("/two", "Red lamp")
    assert data["metadata"]["open_graph"]["title"] == "JavaScript: The Good Parts"
    assert data["structured"]["json_ld"] == [{"@type": "Book", "name": "JavaScript: a book", "url": ""}]
    job = await embedded.app.database.read(jobs.get, job_id)
    assert job
    order = Order(job, SCRAPED, FORMATS["csv"])
    table = b"".join([chunk async for chunk in make_file(embedded.app.database, order, lambda _: None)]).decode()
    assert "alert(1)" not in table
    assert not [character for character in table if unicodedata.category(character) == "Cc" and character not in "\r\n"]


async def test_an_address_without_a_scheme_is_found_where_it_is(desk: BackgroundSlots) -> None:
    """As with the domains of a job: these sites answer by http alone."""
    job_id = await desk.scrape(["shop.test/one", "www.other.test"], formats=["text"])
    for asked, read in {
        "https://shop.test/one": "http://shop.test/one",
        "https://www.other.test/": "http://www.other.test/",
    }.items():
        found = await desk.result(job_id, asked)
        assert (found.state, found.url, found.data["final_url"]) == (PageState.DONE, asked, read)
    assert sorted(desk.town.asked) == ["http://shop.test/one", "http://www.other.test/"]
    listing = await results_after(desk.app.database, job_id, PAGE.name)
    assert sorted(page.url for page in listing.pages) == ["https://shop.test/one", "https://www.other.test/"]
    assert {page.state for page in listing.pages} == {PageState.DONE}
    assert (await failed_after(desk.app.database, job_id)).pages == []


async def test_what_was_written_with_a_scheme_is_taken_by_its_word(desk: BackgroundSlots) -> None:
    job_id = await desk.scrape(["https://shop.test/one"], formats=["text"])
    found = await desk.result(job_id, "https://shop.test/one")
    assert found.state is PageState.FAILED
    assert desk.town.asked == []


async def test_of_a_host_that_is_nowhere_one_failure_is_told(desk: BackgroundSlots) -> None:
    job_id = await desk.scrape(["nowhere.invalid/a"], formats=["text"])
    (failed,) = (await failed_after(desk.app.database, job_id)).pages
    assert (failed.url, failed.reason) == ("https://nowhere.invalid/a", "DNS")
    (listed,) = (await results_after(desk.app.database, job_id, PAGE.name)).pages
    assert listed.url == "https://nowhere.invalid/a"


async def test_an_address_of_several_spellings_is_a_single_page(desk: BackgroundSlots) -> None:
    await desk.scrape(["shop.test/one"], formats=["text"])
    assert len(desk.town.asked) == 1  # by http, after https
    assert await desk.app.database.read(jobs.recent, 10) == []
    assert await desk.app.database.read(jobs.any_single_page)
