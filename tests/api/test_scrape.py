"""Single pages and batches through the server, and everything that is refused on the way."""

import time
from typing import Any

import httpx
import pytest

from tests.api.conftest import Server
from tests.api.test_jobs import wait_for

pytestmark = pytest.mark.xdist_group("api")  # they share a server


def test_a_page_is_scraped_at_once(working: Server) -> None:
    with working.client(right="submit") as client:
        client.post("/v1/scrape", json={"url": "http://one.town/lamp"})  # from here on somebody works
        body = {"url": "http://one.town/here", "formats": ["markdown", "metadata", "html"], "extract": {"p": ".price"}}
        answer = client.post("/v1/scrape", json=body)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert page["status"] == "done"
        assert page["final_url"] == answer.headers["x-gossamer-final-url"] == "http://one.town/lamp"
        assert (answer.headers["x-gossamer-method"], answer.headers["x-gossamer-credits"]) == ("direct", "1")
        data = page["data"]
        assert "# Lamp lamp" in data["markdown"]
        assert "<h1>Lamp lamp</h1>" in data["html"]
        assert data["extract"] == {"p": "12.50"}
        assert data["metadata"]["description"] == "All about lamps"
        # Its job ended in the transaction of its page, and its bill was made up.
        assert client.get(f"/v1/jobs/{page['job_id']}").json()["state"] == "completed"
        bill = client.get("/v1/usage", params={"by": "request", "limit": 1}).json()["items"][0]
        assert (bill["job_id"], bill["outcome"], bill["open"], bill["credits"]) == (
            page["job_id"],
            "completed",
            False,
            1,
        )


def test_a_scrape_with_options_answers_content_and_meta(working: Server) -> None:
    with working.client(right="submit") as client:
        asked = {"url": "http://options.town/here", "options": {"formats": ["markdown"]}}
        answer = client.post("/v1/scrape", json=asked)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert sorted(page) == ["content", "meta"]
        assert "# Lamp lamp" in page["content"]
        meta = page["meta"]
        assert (meta["url"], meta["final_url"]) == ("http://options.town/here", "http://options.town/lamp")
        assert (meta["status_code"], meta["title"], meta["method"]) == (200, "Lamp lamp", "direct")
        assert (meta["credits"], client.get(f"/v1/jobs/{meta['job_id']}").json()["state"]) == (1, "completed")

        several = {"formats": ["text", "links"], "extract": {"p": ".price"}}
        content = client.post("/v1/scrape", json={"url": "http://options.town/lamp", "options": several}).json()[
            "content"
        ]
        assert sorted(content) == ["extract", "links", "text"]
        assert content["extract"] == {"p": "12.50"}
        bare = client.post("/v1/scrape", json={"url": "http://options.town/lamp", "options": {}}).json()
        assert "# Lamp lamp" in bare["content"]

        both = client.post("/v1/scrape", json={**asked, "formats": ["text"]})
        assert (both.status_code, both.json()["code"]) == (400, "request.invalid")
        assert "formats stands beside options" in both.json()["detail"]
        later = client.post("/v1/scrape", json={"url": "http://options.town/lamp", "options": {"async": True}})
        assert later.status_code == 202
        gone = client.post("/v1/scrape", json={"url": "http://options.town/gone", "options": {}})
        assert (gone.status_code, gone.json()["code"]) == (422, "page-failed")


def test_the_same_scrape_under_one_key_is_fetched_once(working: Server) -> None:
    with working.client(right="submit", **{"Idempotency-Key": "scrape-1"}) as client:
        body = {"url": "http://two.town/lamp", "formats": ["text"]}
        first, again = (client.post("/v1/scrape", json=body) for _ in range(2))
        assert first.status_code == again.status_code == 200
        assert first.json() == again.json()


def test_what_takes_longer_becomes_a_job(working: Server) -> None:
    with working.client(right="submit") as client:
        answer = client.post("/v1/scrape", json={"url": "http://three.town/slow", "timeout": 0.2})
        assert answer.status_code == 202, answer.text
        job = answer.json()
        assert answer.headers["location"] == job["links"]["self"] == f"/v1/jobs/{job['id']}"
        ended = wait_for(client, job["links"]["self"])
        assert ended["state"] == "completed"
        assert ended["links"] == job["links"]
        (page,) = client.get(job["links"]["urls"]).json()["items"]
        assert (page["status"], page["data"]["title"]) == ("done", "Lamp slow")


def test_every_error_of_a_batch_is_about_an_address_of_it(working: Server) -> None:
    led_on = f"http://errors1.town/to/{b'http://errors2.town/gone'.hex()}"
    led_well = f"http://errors1.town/to/{b'http://errors2.town/lamp'.hex()}"
    expected = {
        "http://errors1.town/gone": "not_found",
        led_on: "not_found",
        "http://errors3.town/private/x": "robots",
        "http://nowhere.invalid/": "dns",
        "http://nowhere.invalid/b": "dns",
    }
    with working.client(right="submit") as client:
        urls = [*expected, led_well, "http://errors1.town/lamp"]
        job = client.post("/v1/batch", json={"urls": urls}).json()
        assert wait_for(client, job["links"]["self"])["state"] == "completed"
        path = job["links"]["errors"]
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = client.get(path, params={"limit": 2, "cursor": cursor}).json()
            found += page["items"]
            cursor = page["next_cursor"]
        assert {one["url"]: one["code"] for one in found} == expected
        assert len(found) == len(expected)
        assert {one["url"]: one["domain"] for one in found}[led_on] == "errors1.town"
        states = {one["url"]: one["status"] for one in client.get(job["links"]["urls"]).json()["items"]}
        assert {url for url, state in states.items() if state != "done"} == set(expected)
        sites = client.get(path, params={"of": "sites"}).json()["items"]
        assert {one["domain"]: one["url"] for one in sites}["nowhere.invalid"] is None


def test_robots_are_obeyed_and_cost_nothing(working: Server) -> None:
    with working.client(right="submit") as client:
        answer = client.post("/v1/scrape", json={"url": "http://four.town/private/x"})
        assert (answer.status_code, answer.json()["code"]) == (403, "robots-disallowed")
        assert answer.headers["x-gossamer-credits"] == "0"
        gone = client.post("/v1/scrape", json={"url": "http://four.town/gone"})
        assert (gone.status_code, gone.json()["code"]) == (422, "page-failed")
        assert "HTTP 404 Not Found" in gone.json()["detail"]
        assert gone.json()["hint"] == f"See GET /v1/jobs/{gone.headers['x-gossamer-job']}/urls for more."


REFUSED = [
    "http://127.0.0.1/",
    "http://localhost/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://0x7f000001/",
    "http://2130706433/",
    "http://0/",
    "http://five.town/to-loopback",
    "http://five.town/to-metadata",
    "file:///etc/passwd",
    "gopher://one.town/",
    "ftp://one.town/",
    "http://user:secret@/",
]


def test_what_is_not_public_is_never_fetched(working: Server) -> None:
    with working.client(right="submit") as client:
        for url in REFUSED:
            answer = client.post("/v1/scrape", json={"url": url, "timeout": 30})
            assert answer.status_code in (400, 403, 422), f"{url}: {answer.status_code} {answer.text}"
            assert "root:" not in answer.text
        rows = [url for url in REFUSED if url.startswith("http://") and "@" not in url and "://0" not in url]
        batch = client.post("/v1/batch", json={"urls": rows})
        if batch.status_code == 202:
            wait_for(client, batch.json()["links"]["self"])
            pages = client.get(batch.json()["links"]["urls"]).json()["items"]
            assert {page["status"] for page in pages} <= {"failed", "skipped"}
        else:
            assert batch.json()["code"] == "urls.bad"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "not an address"}, "urls.bad"),
        ({"url": "http://one.town/", "formats": ["poem"]}, "scrape.format"),
        ({"url": "http://one.town/", "formats": ["screenshot"]}, "lane-missing"),
        ({"url": "http://one.town/", "extract": {"p": "p["}}, "job.params"),
        ({"url": "http://one.town/", "timeout": 61}, "request.invalid"),
        ({"url": "http://one.town/" + "x" * 9_000}, "request.invalid"),
        ({"url": "http://one.town/", "ladder": "browser"}, "job.rung_not_configured"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_fetched(
    working: Server, body: dict[str, Any], code: str
) -> None:
    with working.client(right="submit") as client:
        before = client.get("/v1/usage", params={"by": "request", "limit": 1000}).json()["items"]
        answer = client.post("/v1/scrape", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
        assert client.get("/v1/usage", params={"by": "request", "limit": 1000}).json()["items"] == before


def test_a_batch_has_a_result_for_each_address(working: Server) -> None:
    with working.client(right="submit") as client:
        urls = [f"http://site{number}.town/lamp" for number in range(5)] + ["http://six.town/gone"]
        answer = client.post("/v1/batch", json={"urls": [*urls, urls[0]], "formats": ["metadata"]})
        assert answer.status_code == 202, answer.text
        job = answer.json()
        assert (job["urls"], job["duplicates"]) == (6, 1)
        assert wait_for(client, job["links"]["self"])["state"] == "completed"
        seen: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = client.get(job["links"]["urls"], params={"limit": 2, "cursor": cursor}).json()
            seen += page["items"]
            cursor = page["next_cursor"]
        assert sorted(one["url"] for one in seen) == sorted(urls)
        assert {one["url"]: one["status"] for one in seen}["http://six.town/gone"] == "failed"
        assert sum(one["status"] == "done" for one in seen) == 5
        failed = client.get(f"{job['links']['self']}/errors", params={"of": "pages"}).json()["items"]
        assert [one["url"] for one in failed] == ["http://six.town/gone"]


def shape(value: Any) -> Any:
    return sorted(value)


def test_scrapersky_keeps_its_shapes(working: Server) -> None:
    with working.client(right="submit") as client:
        answer = client.post("/scrapersky", json={"url": "http://seven.town/lamp"})
        one = answer.json()
        assert (answer.status_code, shape(one)) == (202, ["job_id", "status", "status_url"])
        done = _until(client, one["status_url"], "completed")
        assert shape(done) == ["error", "job_id", "metadata", "status", "url"]
        assert (done["url"], done["error"]) == ("http://seven.town/lamp", None)
        assert done["metadata"]["title"] == "Lamp lamp"
        urls = ["http://eight.town/lamp", "http://eight.town/gone"]
        answer = client.post("/scrapersky/batch", json={"urls": urls})
        many = answer.json()
        assert (answer.status_code, shape(many)) == (202, ["batch_id", "status", "status_url"])
        over = _until(client, many["status_url"], "completed")
        assert shape(over) == ["batch_id", "completed", "failed", "pending", "results", "status", "total"]
        assert (over["total"], over["completed"], over["failed"], over["pending"]) == (2, 1, 1, 0)
        results = {result["url"]: result for result in over["results"]}
        assert all(shape(result) == ["error", "metadata", "status", "url"] for result in results.values())
        assert results["http://eight.town/gone"]["error"] == "HTTP 404 Not Found"
        wait_for(client, f"/v1/jobs/{many['batch_id']}")
        again = client.post(f"/scrapersky/batch/{many['batch_id']}/retry-failed")
        said = again.json()
        assert (again.status_code, shape(said)) == (202, ["batch_id", "message", "retried", "status", "status_url"])
        assert (said["retried"], said["status"]) == (0, "completed")
        assert said["message"] == "Nothing to retry: the 1 that failed would fail again."


def test_a_batch_of_scrapersky_keeps_its_order_and_says_what_is_tried_again(working: Server) -> None:
    names = ("z", "a", "m", "b", "y")
    urls = [f"http://{name}-order.town/{page}" for page in ("slow", "lamp") for name in names]
    urls[3:3] = ["http://shut-order.town/lamp", "http://c-order.town/gone"]
    with working.client(right="submit") as client:
        batch = client.post("/scrapersky/batch", json={"urls": urls}).json()
        retry = f"/scrapersky/batch/{batch['batch_id']}/retry-failed"
        early = client.post(retry)
        assert (early.status_code, early.json()["code"]) == (409, "job.state")
        assert early.json()["detail"].startswith("The batch is still running: ")
        wait_for(client, f"/v1/jobs/{batch['batch_id']}", longest=300)
        over = client.get(batch["status_url"]).json()
        assert [one["url"] for one in over["results"]] == urls
        assert (over["failed"], over["total"]) == (2, len(urls))
        again = client.post(retry).json()
        assert (again["retried"], again["status"]) == (1, "pending")
        assert again["message"] == "Tried again: 1 of the 2 that failed. The others would fail again."
        assert [one["url"] for one in client.get(batch["status_url"]).json()["results"]] == urls
        client.post(f"/v1/jobs/{batch['batch_id']}/cancel")


def _until(client: httpx.Client, path: str, status: str) -> dict[str, Any]:
    until = time.monotonic() + 60
    while True:
        found: dict[str, Any] = client.get(path).json()
        if found["status"] == status or time.monotonic() > until:
            assert found["status"] == status, found
            return found
        time.sleep(0.1)
