"""A scrape that nobody waits for: its job at once, its result in a file with a signed address, and a message."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest

from gossamer.webhooks.sender import LARGEST
from tests.api.conftest import Server, server
from tests.api.test_webhooks import add, read, until
from tests.api.town import LETTERS, town

pytestmark = pytest.mark.xdist_group("api")  # they share a server


def submit(client: httpx.Client, url: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/scrape", json={"url": url, "async": True, **more})
    assert answer.status_code == 202, answer.text
    made: dict[str, Any] = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{made['id']}"
    return made


def result_of(client: httpx.Client, job: str) -> dict[str, Any]:
    def made() -> Any:
        result = client.get(f"/v1/jobs/{job}").json()["result"]
        return result if result["state"] != "pending" else None

    found: dict[str, Any] = until(made, "there was never a result")
    return found


def test_the_result_lies_in_a_file_and_webhooks_carry_it(working: Server) -> None:
    path = f"/{uuid4().hex}"
    with working.client(right="submit") as client, working.stranger() as stranger:
        hook = add(client, path, events=["result.ready"])
        wanted = {"formats": ["markdown", "html"], "extract": {"price": ".price"}}
        job = submit(client, "http://async.town/here", timeout=0, **wanted)["id"]
        result = result_of(client, job)
        assert result["state"] == "done"
        assert result["url"].startswith(f"{working.url}/v1/files/exports/")
        assert stranger.get(result["url"].partition("?")[0]).status_code == 403
        got = stranger.get(result["url"])
        assert (got.status_code, len(got.content)) == (200, result["size_bytes"])
        page = got.json()
        # The very answer that somebody who waits is given.
        waited = client.post("/v1/scrape", json={"url": "http://async.town/here", **wanted}).json()
        assert shape(page) == shape(waited)
        assert page["data"]["html"] == waited["data"]["html"]
        assert page["data"]["extract"] == {"price": "12.50"}
        assert (page["status"], page["job_id"], page["method"], page["credits"]) == ("done", job, "direct", 1)
        assert page["final_url"] == "http://async.town/lamp"

        (letter,) = until(lambda: LETTERS.at(path), "the result was not told")
        told = read(hook["secret"], letter)
        assert (told["type"], told["data"]["job_id"]) == ("result.ready", job)
        assert told["data"]["result"] == page
        assert _file(working.url + told["data"]["url"]) == _file(result["url"])  # it does not know its own address
        assert stranger.get(told["data"]["url"]).content == got.content
        # What was forgotten is not said again.
        (sent,) = client.get(f"/v1/webhooks/{hook['id']}/deliveries").json()["items"]
        forgotten = client.delete("/v1/records", params={"url": "http://async.town/here", "job": job})
        assert forgotten.status_code == 200, forgotten.text
        assert stranger.get(result["url"]).status_code == 410
        assert client.get(f"/v1/jobs/{job}").json()["result"]["url"] is None
        client.post(f"/v1/webhooks/{hook['id']}/deliveries/{sent['id']}/replay")
        until(lambda: len(LETTERS.at(path)) == 2, "it was not sent once more")
        again = orjson.loads(LETTERS.at(path)[1][1])["data"]
        assert (again["result"], again["url"]) == (None, None)
        client.delete(f"/v1/webhooks/{hook['id']}")


def _file(link: str) -> str:
    return link.partition("?")[0]


def shape(page: dict[str, Any]) -> list[list[str]]:
    return [sorted(page), sorted(page["data"])]


def test_a_large_result_is_told_by_its_address_only(working: Server) -> None:
    path = f"/{uuid4().hex}"
    with working.client(right="submit") as client:
        hook = add(client, path, events=["result.ready"])
        job = submit(client, "http://async.town/large", formats=["raw"])["id"]
        result = result_of(client, job)
        assert result["size_bytes"] > LARGEST
        (letter,) = until(lambda: LETTERS.at(path), "the result was not told")
        told = read(hook["secret"], letter)["data"]
        assert told["result"] is None
        assert _file(working.url + told["url"]) == _file(result["url"])
        client.delete(f"/v1/webhooks/{hook['id']}")


def test_a_page_that_cannot_be_had_has_a_result_that_says_why(working: Server) -> None:
    with working.client(right="submit") as client, working.stranger() as stranger:
        result = result_of(client, submit(client, "http://async.town/gone")["id"])
        page = stranger.get(result["url"]).json()
        assert (page["status"], page["error"], page["credits"]) == ("failed", "HTTP 404 Not Found", 0)


def test_under_one_key_it_is_one_job_and_another_account_sees_nothing_of_it(working: Server) -> None:
    key = uuid4().hex
    with working.client(right="submit", **{"Idempotency-Key": key}) as client:
        first, again = (submit(client, "http://async.town/once") for _ in range(2))
        assert first == again
        waiting = client.post("/v1/scrape", json={"url": "http://async.town/once"})
        assert (waiting.status_code, waiting.json()["code"]) == (409, "job.key_taken")
    with working.client("other", "read") as other:
        assert other.get(f"/v1/jobs/{first['id']}").status_code == 404


def test_a_job_that_ends_without_one_says_so(api: Server) -> None:
    with api.client() as client:
        job = submit(client, "http://a.test/")["id"]
        assert client.get(f"/v1/jobs/{job}").json()["result"]["state"] == "pending"
        client.post(f"/v1/jobs/{job}/cancel")
        assert client.get(f"/v1/jobs/{job}").json()["result"]["state"] == "none"
        waited = client.post("/v1/scrape", json={"url": "http://a.test/", "timeout": 0}).json()["id"]
        assert client.get(f"/v1/jobs/{waited}").json()["result"] is None


def test_where_there_is_object_storage_the_result_lies_there(storage_server: str, tmp_path: Path) -> None:
    """Its address leads there and not to us, and nothing of it stays on our disk."""
    with town() as port:
        settings = {
            "GOSSAMER_CONNECT_TO": f"*.town=127.0.0.1:{port}",
            "GOSSAMER_STORAGE_URL": "s3://tests/scraped",
            "GOSSAMER_STORAGE_ENDPOINT": storage_server,
            "GOSSAMER_STORAGE_ACCESS_KEY": "key",
            "GOSSAMER_STORAGE_SECRET_KEY": "secret",
        }
        with server(tmp_path / "home", "--processes", "1", settings=settings) as one, one.client() as client:
            path = f"/{uuid4().hex}"
            hook = add(client, path, events=["result.ready"])
            result = result_of(client, submit(client, "http://async.town/lamp", formats=["html", "text"])["id"])
            assert result["url"].startswith(f"{storage_server}/tests/scraped/exports/")
            page = httpx.get(result["url"]).json()
            assert "<h1>Lamp lamp</h1>" in page["data"]["html"]
            assert httpx.get(_file(result["url"])).status_code == 403
            (letter,) = until(lambda: LETTERS.at(path), "the result was not told")
            told = read(hook["secret"], letter)["data"]
            assert told["result"] == page
            assert httpx.get(told["url"]).json() == page
            assert list((one.home / "files").rglob("*.jsonl")) == []
