"""Nothing that is not public is asked for: not by any spelling, and not by any of the ways in that a server has."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import httpx
import pytest

from tests.api.conftest import Server
from tests.api.test_jobs import wait_for
from tests.api.town import LISTED
from tests.fetch.test_guard import FORBIDDEN, NOT_WEB
from tests.stories.program import Terminal

pytestmark = pytest.mark.xdist_group("api")  # they share a server

LEFT = ("failed", "skipped")
# A name without a scheme is taken for one of the web, what stands before an @ is left out, and nothing is no request.
MENDED = ("", "example.com", "//example.com/", "http://user:secret@example.com/", "http://127.0.0.1:80@example.com/")
NO_ADDRESS = [url for url in NOT_WEB if url not in MENDED]


@pytest.fixture(scope="module")
def canary() -> Iterator[tuple[list[str], list[str]]]:
    """Addresses of a server on this machine, each in another spelling, and everything it was ever asked for."""
    asked: list[str] = []

    class Canary(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"root:x:0:0")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Canary)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    spellings = ("127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]", "localhost", "0")
    yield [f"http://{host}:{server.server_port}/" for host in spellings], asked
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def inward(canary: tuple[list[str], list[str]]) -> list[str]:
    return [*FORBIDDEN, *canary[0]]


@pytest.fixture(autouse=True)
def nothing_came(canary: tuple[list[str], list[str]]) -> Iterator[None]:
    yield
    assert canary[1] == []


def pages_of(client: httpx.Client, answer: httpx.Response) -> dict[str, dict[str, Any]]:
    assert answer.status_code in (201, 202), answer.text
    job = answer.json()["id"]
    assert wait_for(client, f"/v1/jobs/{job}")["state"] == "completed"
    pages = client.get(f"/v1/jobs/{job}/urls", params={"limit": 500}).json()["items"]
    return {page["url"]: page for page in pages}


def taken(client: httpx.Client, urls: list[str]) -> list[str]:
    """Those that are addresses of the web at all: of others not even a job is made."""
    kept = []
    for url in urls:
        one = client.post("/v1/scrape", json={"url": url, "timeout": 0})
        assert one.status_code in (202, 400, 403), f"{url}: {one.status_code} {one.text}"
        # A quick server has looked by now, and says what came of it.
        if one.status_code == 202 or one.json()["code"] == "address-forbidden":
            kept.append(url)
        elif one.status_code == 400:
            assert one.json()["code"] in ("urls.bad", "request.invalid"), one.text
    return kept


def test_no_spelling_is_scraped_alone(working: Server, inward: list[str]) -> None:
    with working.client(right="submit") as client:
        for url in (*inward, *NO_ADDRESS):
            answer = client.post("/v1/scrape", json={"url": url})
            assert answer.status_code == 400, f"{url}: {answer.status_code} {answer.text}"
            assert answer.json()["code"] in ("urls.bad", "address-forbidden"), answer.text
            assert "root:" not in answer.text


def test_none_is_scraped_in_a_batch(working: Server, inward: list[str]) -> None:
    with working.client(right="submit") as client:
        for bad in NO_ADDRESS[:8]:
            assert client.post("/v1/batch", json={"urls": ["http://one.town/lamp", bad]}).status_code == 400
        pages = pages_of(client, client.post("/v1/batch", json={"urls": [*taken(client, inward), "http://one.town/"]}))
        good = pages.pop("http://one.town/")
        assert good["status"] == "done"  # each for itself
        assert len(pages) > 60
        assert {(page["status"], page["code"]) for page in pages.values()} == {("failed", "forbidden_address")}


def test_no_redirect_leads_there(working: Server, inward: list[str]) -> None:
    with working.client(right="submit") as client:
        hops = [
            f"http://hop.town/to/{url.encode().hex()}"
            for url in (*inward, *(url for url in NO_ADDRESS if "://" in url))
        ]
        pages = pages_of(client, client.post("/v1/batch", json={"urls": hops}))
        assert len(pages) == len(hops)
        for page in pages.values():
            where = bytes.fromhex(page["url"].rpartition("/")[2]).decode()
            assert page["status"] in LEFT, f"{where}: {page}"
            assert page["data"] == {}, where


def test_no_sitemap_leads_there(working: Server, inward: list[str], canary: tuple[list[str], list[str]]) -> None:
    with working.client(right="submit") as client:
        for url in (
            *canary[0],
            "http://169.254.169.254/latest/meta-data/",
            "http://[::1]/sitemap.xml",
            "file:///etc/passwd",
        ):
            answer = client.post("/api/jobs", json={"sitemap_url": url})
            assert answer.status_code == 400, f"{url}: {answer.text}"
        LISTED["inward"] = [*inward, "http://map.town/lamp"]
        pages = pages_of(client, client.post("/api/jobs", json={"sitemap_url": "http://map.town/lists/inward.xml"}))
        assert pages.pop("http://map.town/lamp")["status"] == "done"
        assert {page["status"] for page in pages.values()} <= set(LEFT)
        hop = f"http://map.town/to/{canary[0][0].encode().hex()}"
        assert client.post("/api/jobs", json={"sitemap_url": hop}).status_code == 400
        direct = client.post("/api/jobs", json={"sitemap_urls": [canary[0][0], "http://map.town/chair"]})
        assert sorted(page["status"] for page in pages_of(client, direct).values()) == ["done", "failed"]


def test_no_message_is_sent_there(working: Server, inward: list[str]) -> None:
    """The whole table goes through the guard of messages in tests/deliver; here, the way in that people have."""
    shell = Terminal(working.home)
    for url in (inward[0], inward[-1], "http://169.254.169.254/", "http://metadata.google.internal/"):
        refused = shell.type("webhook", "add", url, check=False)
        assert refused.returncode == 2, url
    assert shell.ask("webhook", "list") == []
