"""Programs written for other products, and those products' own clients, against a real server of ours."""

import time
from typing import Any

import httpx
import orjson
import pytest
from firecrawl import Firecrawl
from firecrawl.v2.types import PaginationConfig, ScrapeOptions
from firecrawl.v2.utils.error_handler import (
    BadRequestError,
    FirecrawlError,
    RequestTimeoutError,
    UnauthorizedError,
    WebsiteNotSupportedError,
)
from scrapingbee import ScrapingBeeClient

from gossamer.api.dialects.fire_shapes import pattern_of
from gossamer.api.dialects.scrapingbee import read_rules
from gossamer.errors import UserError
from gossamer.frontier.candidates import UrlScope
from tests.api.conftest import Server
from tests.api.town import WORDS

pytestmark = pytest.mark.xdist_group("api")  # they share a server


def bee(server: Server, key: str = "") -> Any:
    client: Any = ScrapingBeeClient(api_key=key or server.keys["default"]["submit"])
    client.HTML_API_URL, client.USAGE_API_URL = f"{server.url}/api/v1/", f"{server.url}/api/v1/usage"
    return client


def test_scrapingbees_own_client_gets_pages(working: Server) -> None:
    client = bee(working)
    page = client.html_api("http://bee.town/here", params={"render_js": False, "tag": "mine"})
    assert page.status_code == 200, page.text
    assert "<title>Lamp lamp</title>" in page.text
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["Spb-Cost"] == "1"
    assert page.headers["Spb-Initial-Status-Code"] == "200"
    assert page.headers["Spb-Resolved-Url"] == "http://bee.town/lamp"
    assert page.headers["Spb-Tag"] == "mine"
    picture = client.html_api("http://bee.town/picture.png")
    assert (picture.content[:4], picture.headers["content-type"]) == (b"\x89PNG", "image/png")
    markdown = client.html_api("http://bee.town/lamp", params={"return_page_markdown": True})
    assert markdown.text.startswith("# Lamp lamp")
    rules = {
        "name": "h1",
        "cost": {"selector": ".price", "type": "list"},
        "all": {"selector": "main", "output": {"p": "p"}},
    }
    fields = client.html_api("http://bee.town/lamp", params={"extract_rules": rules})
    assert fields.json() == {"name": "Lamp lamp", "cost": ["12.50"], "all": {"p": "12.50"}}
    wrapped = client.html_api(
        "http://bee.town/lamp", params={"json_response": True, "mode": "auto", "max_cost": 0}
    ).json()
    assert "<h1>Lamp lamp</h1>" in wrapped["body"]
    assert (wrapped["cost"], wrapped["initial-status-code"]) == (1, 200)
    assert wrapped["resolved-url"] == "http://bee.town/lamp"
    used = client.usage().json()
    assert used["used_api_credit"] > 0


def test_what_scrapingbee_says_when_it_cannot_is_said_here(working: Server) -> None:
    client = bee(working)
    gone = client.html_api("http://bee.town/gone")
    assert (gone.status_code, gone.headers["Spb-Cost"], gone.headers["Spb-Initial-Status-Code"]) == (404, "0", "404")
    assert gone.json()["message"] == "http://bee.town/gone: HTTP 404 Not Found."
    robots = client.html_api("http://bee.town/private")
    assert (robots.status_code, robots.json()["reason"]) == (403, "robots")
    assert "Spb-Initial-Status-Code" not in robots.headers
    late = client.html_api("http://late-bee.town/slow", params={"timeout": 1000})
    assert (late.status_code, late.json()["reason"]) == (500, "timeout")
    for params, reason in (
        ({"js_scenario": {"instructions": []}}, "dialect.parameter"),
        ({"country_code": "de"}, "dialect.parameter"),
        ({"render_js": True}, "lane-missing"),
        ({"premium_proxy": True}, "lane-missing"),
        ({"screenshot": True}, "lane-missing"),
        ({"extract_rules": {"rows": {"selector": "table", "output": "table_json"}}}, "dialect.rules"),
        ({"extract_rules": {"rows": "p["}}, "job.params"),
        ({"unheard_of": "1"}, "request.invalid"),
        ({"timeout": 1}, "request.invalid"),
    ):
        refused = client.html_api("http://bee.town/lamp", params=dict(params))
        assert (refused.status_code, refused.json()["reason"]) == (400, reason), refused.text
    assert client.html_api("http://127.0.0.1/").status_code == 400
    assert client.html_api("http://bee.town/lamp", headers={"X": "1"}).json()["reason"] == "dialect.parameter"
    nobody = bee(working, "gsk_" + "x" * 43).html_api("http://bee.town/lamp")
    assert (nobody.status_code, nobody.json()["reason"]) == (401, "auth.wrong")


def test_a_key_in_the_address_is_taken_here_only_and_not_written_down(working: Server) -> None:
    key = working.keys["default"]["submit"]
    with working.stranger() as client:
        page = client.get("/api/v1", params={"api_key": key, "url": "http://bee.town/lamp", "return_page_text": "true"})
        assert (page.status_code, page.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert page.text.startswith("Lamp lamp")
        assert client.get("/api/v1/", params={"url": "http://bee.town/lamp"}).status_code == 401
        assert client.get("/v1/jobs", params={"api_key": key, "access_token": key}).status_code == 401
        reader = {"api_key": working.keys["default"]["read"], "url": "http://bee.town/lamp"}
        assert client.get("/api/v1/", params=reader).status_code == 403
    assert key not in (working.home / "said.txt").read_text()


def fire(server: Server, key: str = "") -> Any:
    return Firecrawl(api_key=key or server.keys["default"]["submit"], api_url=f"{server.url}/firecrawl")


def test_firecrawls_own_client_gets_pages(working: Server) -> None:
    client = fire(working)
    document = client.scrape("http://fire.town/here", formats=["markdown", "html", "rawHtml", "links"], wait_for=5)
    assert document.markdown is not None
    assert document.markdown.startswith("# Lamp lamp")
    assert WORDS[:40] in document.markdown
    assert document.html == document.raw_html
    assert "<h1>Lamp lamp</h1>" in (document.html or "")
    assert document.links == []
    about = document.metadata_typed
    assert (about.title, about.description, about.language) == ("Lamp lamp", "All about lamps", "en")
    assert (about.source_url, about.url) == ("http://fire.town/here", "http://fire.town/lamp")
    assert (about.status_code, about.credits_used, about.proxy_used, about.cache_state) == (200, 1, "basic", "miss")
    assert document.warning == "Without effect here: waitFor."
    for only in (True, False):
        whole = client.scrape("http://fire.town/whole", only_main_content=only)
        assert (whole.warning, "Elsewhere" in (whole.markdown or "")) == (None, not only)
    gone = client.scrape("http://fire.town/gone")
    assert (gone.markdown, gone.metadata_typed.status_code, gone.metadata_typed.credits_used) == (None, 404, 0)
    with pytest.raises(WebsiteNotSupportedError, match=r"robots\.txt"):
        client.scrape("http://fire.town/private")
    with pytest.raises(RequestTimeoutError):
        client.scrape("http://late-fire.town/slow", timeout=1000)
    with pytest.raises(BadRequestError, match="json"):
        client.scrape("http://fire.town/lamp", formats=[{"type": "json", "prompt": "all", "schema": {}}])
    with pytest.raises(BadRequestError, match="actions"):
        client.scrape("http://fire.town/lamp", actions=[{"type": "wait", "milliseconds": 1}])
    with pytest.raises(BadRequestError, match="not configured"):
        client.scrape("http://fire.town/lamp", proxy="stealth")
    with pytest.raises(UnauthorizedError):
        fire(working, "gsk_" + "y" * 43).scrape("http://fire.town/lamp")
    left = client.get_queue_status()
    assert left.max_concurrency == 20


def test_firecrawls_own_client_runs_a_batch(working: Server) -> None:
    client = fire(working)
    urls = [f"http://fire{number}.town/lamp" for number in range(4)] + ["http://fire9.town/gone", "http://no address/"]
    started = client.start_batch_scrape(urls, formats=["markdown"], idempotency_key="a-batch-of-fire")
    assert started.invalid_urls == ["http://no address/"]
    again = client.start_batch_scrape(urls, formats=["markdown"], idempotency_key="a-batch-of-fire")
    assert again.id == started.id
    job = _ended(client, started.id)
    assert (job.status, job.total, job.completed) == ("completed", 5, 4)
    assert sorted(str(one.metadata_typed.source_url) for one in job.data) == sorted(urls[:4])
    assert all((one.markdown or "").startswith("# Lamp") for one in job.data)
    errors = client.get_batch_scrape_errors(started.id)
    assert [(one.url, one.error) for one in errors.errors] == [("http://fire9.town/gone", "HTTP 404 Not Found")]
    with pytest.raises(FirecrawlError, match="completed already"):
        client.cancel_batch_scrape(started.id)


def _ended(client: Any, job_id: str) -> Any:
    until = time.monotonic() + 60
    while True:
        job = client.get_batch_scrape_status(job_id)
        if job.status != "scraping" or time.monotonic() > until:
            return job
        time.sleep(0.2)


def test_firecrawls_own_client_crawls_what_lies_below_an_address(working: Server) -> None:
    client = fire(working)
    options = ScrapeOptions(formats=["markdown", "links"])
    job = client.crawl(
        "http://guided.town/guide/",
        limit=20,
        scrape_options=options,
        exclude_paths=["private"],
        poll_interval=1,
        timeout=90,
    )
    assert job.status == "completed"
    read = {str(one.metadata_typed.source_url): one for one in job.data}
    assert sorted(read) == [f"http://guided.town/guide/{name}" for name in ("", "one", "two")]
    assert job.completed == 3
    assert read["http://guided.town/guide/"].links[:2] == [
        "http://guided.town/guide/one",
        "http://guided.town/guide/two",
    ]
    assert [one.url for one in client.get_crawl_errors(job.id).errors] == ["http://guided.town/guide/gone"]
    with pytest.raises(BadRequestError, match="webhook"):
        client.start_crawl("http://guided.town/", webhook="https://example.com/hook")
    with pytest.raises(BadRequestError, match="more than is understood"):
        client.start_crawl("http://guided.town/", include_paths=["(a|b)+"])
    few = client.crawl("http://counted.town/guide/", limit=2, poll_interval=1, timeout=90)
    assert (few.status, len(few.data)) == ("completed", 2)
    one = client.get_crawl_status(few.id, PaginationConfig(auto_paginate=False))
    assert one.next is None
    stopped = client.start_crawl("http://slow-crawl.town/slow", limit=2)
    assert stopped.id in [one.id for one in client.get_active_crawls().crawls]
    assert client.cancel_crawl(stopped.id) is True
    assert client.get_crawl_status(stopped.id).status == "cancelled"


def test_errors_of_a_dialect_are_in_its_own_words(api: Server) -> None:
    with api.client(right="submit") as client, api.stranger() as stranger:
        answer = client.post("/firecrawl/v2/scrape", content=b"{", headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["success"], answer.json()["code"]) == (400, False, "request.invalid")
        assert client.get("/firecrawl/v2/crawl/not-an-id").json()["success"] is False
        assert stranger.post("/firecrawl/v2/scrape", json={"url": "http://a.test/"}).json()["code"] == "auth.missing"
        assert stranger.get("/api/v1/").json()["reason"] == "auth.missing"


@pytest.mark.parametrize(
    ("expression", "fits", "fails"),
    [
        ("^/blog/.*", ["/blog/", "/blog/a/b?c=1"], ["/a/blog/", "/blog"]),
        ("/blog/.+$", ["/blog/a", "/x/blog/a"], ["/blogs/a"]),
        ("^/one$", ["/one"], ["/one/two", "/zone"]),
        ("news", ["/news", "/a/newsroom"], ["/nope"]),
        (r"^/a\.b/", ["/a.b/", "/a.b/c"], ["/aXb/"]),
        ("blog/*", [], []),
        ("^blog", [], []),
        ("[0-9]+", [], []),
    ],
)
def test_simple_expressions_over_paths_are_patterns(expression: str, fits: list[str], fails: list[str]) -> None:
    if not fits:
        with pytest.raises(UserError, match="more than is understood"):
            pattern_of(expression)
        return
    scope = UrlScope([pattern_of(expression)], [])
    assert [path for path in fits + fails if scope.wants(path)] == fits


def test_rules_of_scrapingbee_are_ours_in_other_words() -> None:
    given = {
        "a": "a@href",
        "b": {"selector": "//b", "type": "list"},
        "c": {"selector": "div", "selector_type": "css", "output": {"d": {"selector": "i", "output": "@class"}}},
        "e": {"selector": "p", "output": "html", "clean": False},
    }
    assert read_rules(orjson.dumps(given).decode()) == {
        "a": "a@href",
        "b": {"xpath": "//b", "list": True},
        "c": {"css": "div", "fields": {"d": {"css": "i", "attribute": "class"}}},
        "e": {"css": "p", "type": "html"},
    }
    for bad in ("[]", "{", '{"t": {"selector": "p", "output": "table_array"}}'):
        with pytest.raises(UserError):
            read_rules(bad)


def test_both_dialects_tell_how_much_is_left(api: Server) -> None:
    with api.client(right="read") as client:
        usage = client.get("/api/v1/usage").json()
        assert usage["max_concurrency"] == 5_000
        left: httpx.Response = client.get("/v2/team/credit-usage")
        assert left.json()["data"] == {"remainingCredits": 1_000_000_000, "planCredits": None}
