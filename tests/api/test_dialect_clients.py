"""Each method of the published clients, called once: it works, or it says in its own words that it does not here."""

import inspect
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from firecrawl.v2.utils.error_handler import FirecrawlError
from scrapingbee import ScrapingBeeClient

from tests.api.conftest import Server
from tests.api.test_dialects import bee, fire

pytestmark = [
    pytest.mark.xdist_group("api"),  # they share a server
    pytest.mark.filterwarnings("ignore:.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*:FutureWarning"),
]

URL = "http://methods.town/lamp"
SOME_ID = "0192f3a1-7b2c-7d4e-8f5a-6b7c8d9e0f1a"
# What is called with more than an address or an id.
GIVEN: Mapping[str, Mapping[str, Any]] = {
    "batch_scrape": {"urls": [URL], "poll_interval": 1},
    "batch_scrape_urls": {"urls": [URL]},
    "crawl": {"url": "http://methods.town/guide/", "limit": 1, "poll_interval": 1, "timeout": 90},
    "crawl_url": {"url": "http://methods.town/guide/", "params": {"limit": 1}},
    "create_monitor": {"name": "x", "schedule": {"cron": "* * * * *"}, "targets": [{"type": "scrape", "urls": [URL]}]},
    "extract": {"urls": [URL], "prompt": "x"},
    "interact": {"job_id": SOME_ID, "code": "x"},
    "parse": {"file": b"x", "filename": "x.html"},
    "scrape": {"url": URL},
    "scrape_alexandria": {"calls": [{"provider": "x", "capability": "x"}]},
    "scrape_execute": {"job_id": SOME_ID, "code": "x"},
    "start_extract": {"urls": [URL], "prompt": "x"},
}
WORKING = {
    *("scrape", "scrape_url", "batch_scrape", "batch_scrape_urls", "start_batch_scrape", "async_batch_scrape_urls"),
    *("crawl", "crawl_url", "start_crawl", "async_crawl_url", "active_crawls", "get_active_crawls", "map", "map_url"),
    *("get_concurrency", "get_credit_usage", "get_queue_status", "wait_crawl", "watcher"),
    *("get_batch_scrape_errors", "get_batch_scrape_status", "get_batch_scrape_status_page"),
    *("check_batch_scrape_errors", "check_batch_scrape_status", "check_crawl_errors", "check_crawl_status"),
    *("get_crawl_errors", "get_crawl_status", "get_crawl_status_page", "cancel_batch_scrape", "cancel_crawl"),
}


def methods(client: Any) -> list[str]:
    return [name for name, one in inspect.getmembers(client) if not name.startswith("_") and inspect.isroutine(one)]


def arguments(method: Callable[..., Any], ids: Mapping[str, str], name: str) -> dict[str, Any]:
    if name in GIVEN:
        return dict(GIVEN[name])
    found: dict[str, Any] = {}
    for one in inspect.signature(method).parameters.values():
        if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            found[one.name] = {"urls": [URL], "url": URL}.get(one.name, ids["batch" if "batch" in name else "crawl"])
            if one.name == "next_url":
                found[one.name] = ids["next_batch" if "batch" in name else "next_crawl"]
    return found


def test_each_method_of_firecrawls_client_works_or_says_that_it_does_not(working: Server) -> None:
    client = fire(working)
    batch, crawl = client.start_batch_scrape([URL]), client.start_crawl("http://methods.town/guide/", limit=1)
    client.wait_crawl(crawl.id, poll_interval=1, timeout=90)
    while client.get_batch_scrape_status(batch.id).status == "scraping":
        time.sleep(0.2)
    ids = {"batch": batch.id, "crawl": crawl.id}
    ids |= {
        "next_batch": f"{working.url}/v2/batch/scrape/{batch.id}",
        "next_crawl": f"{working.url}/v2/crawl/{crawl.id}",
    }
    # Started only when it is time to cancel them: the slow page does come in the end.
    running: Mapping[str, Callable[[], Any]] = {
        "cancel_batch_scrape": lambda: client.start_batch_scrape(["http://slow-methods.town/slow"]),
        "cancel_crawl": lambda: client.start_crawl("http://slow-methods.town/slow", limit=1),
    }
    for name in methods(client):
        if name in running:
            assert getattr(client, name)(running[name]().id) is True, name
            continue
        said = refusal(getattr(client, name), ids, name)
        if name in WORKING:
            assert said is None, (name, said)
        else:
            assert re.search("is not available here|it is missing", said or ""), (name, said)


def refusal(method: Callable[..., Any], ids: Mapping[str, str], name: str) -> str | None:
    """What the client raises; None if it is content."""
    try:
        method(**arguments(method, ids, name))
    except FirecrawlError as error:
        return str(error)
    return None


def test_firecrawls_map_lists_a_site_by_its_sitemap_and_its_links(working: Server) -> None:
    client = fire(working)
    urls = [one.url for one in client.map("http://map.town/guide/").links]
    assert urls[0] == "http://map.town/guide/"
    assert {"http://map.town/guide/one", "http://map.town/guide/two"} <= set(urls)  # links
    listed = {one.url for one in client.map("http://map.town/lamp", sitemap="only").links}
    assert len(listed) == 4  # those of the sitemap, of which the page itself is one
    assert not any("elsewhere.village" in one for one in listed)
    assert [one.url for one in client.map("http://map.town/guide/", sitemap="skip", search="TWO").links] == [
        "http://map.town/guide/two"
    ]
    assert len(client.map("http://map.town/guide/", limit=2).links) == 2
    with pytest.raises(FirecrawlError, match="location is not available here"):
        client.map("http://map.town/", location={"country": "DE"})
    private = client.map("http://map.town/private", sitemap="skip").links
    assert [one.url for one in private] == ["http://map.town/private"]  # which robots.txt does not let us read


def test_each_method_of_scrapingbees_client_works_or_says_that_it_does_not(working: Server) -> None:
    client = bee(working)
    for name in [one for one in dir(ScrapingBeeClient) if one.endswith("_API_URL")]:
        place = getattr(ScrapingBeeClient, name).partition("/api/v1/")[2]
        setattr(client, name, f"{working.url}/api/v1/{place}")
    for name in methods(client):
        method = getattr(client, name)
        if name == "request":
            answer = method("GET", client.USAGE_API_URL, {})
        else:
            needed = [one for one in inspect.signature(method).parameters.values() if one.default is one.empty]
            answer = method(**{one.name: URL for one in needed if one.kind is not one.VAR_KEYWORD})
        if name in ("get", "html_api", "request", "usage"):
            assert answer.status_code == 200, (name, answer.text)
        else:
            assert (answer.status_code, answer.json()["reason"]) == (501, "not_available"), (name, answer.text)
            assert "is not available here: there are GET /api/v1/" in answer.json()["message"]


def test_what_a_dialect_does_not_have_is_refused_in_its_shape(api: Server) -> None:
    with api.client(right="read") as client, api.stranger() as stranger:
        for path in ("/firecrawl/v2/search", "/v2/extract/1", "/firecrawl/v1/scrape"):
            answer = client.post(path, json={"query": "x"})
            assert (answer.status_code, answer.json()["success"]) == (501, False)
            assert answer.json()["code"] == "NOT_AVAILABLE"
            assert stranger.post(path).json()["code"] == "auth.missing"
