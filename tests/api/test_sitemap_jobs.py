"""The endpoints of sitemap jobs: the sitemap is really read, the pages are really fetched."""

import sqlite3
from contextlib import closing
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest

from gossamer.api.sitemap_jobs import _STATUS
from gossamer.model.states import JobState
from tests.api.conftest import Server
from tests.api.described import description
from tests.api.test_jobs import wait_for

pytestmark = pytest.mark.xdist_group("api")  # they share a server

FIELDS = [
    "created_at",
    "domain",
    "error_message",
    "failed_urls",
    "finished_at",
    "id",
    "residential_mb_used",
    "started_at",
    "status",
    "success_urls",
    "total_urls",
    "traffic_mb_used",
]


def test_a_sitemap_becomes_a_job_of_its_pages(working: Server) -> None:
    with working.client(right="submit") as client:
        body = {"sitemap_url": "http://map.town/sitemap.xml", "options": {"domain": "map.town"}}
        answer = client.post("/api/jobs", json=body)
        assert answer.status_code == 201, answer.text
        job = answer.json()
        assert sorted(job) == FIELDS
        assert (job["domain"], job["total_urls"]) == ("map.town", 4)
        path = f"/api/jobs/{job['id']}"
        with client.stream("GET", f"{path}/stream") as stream:
            said = [orjson.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
        assert said[-1] == {"type": "complete"}
        progress: dict[str, Any] = said[-2]
        assert sorted(progress["data"]) == ["job_id", "message", "progress"]
        told = " ".join(one["data"]["message"] for one in said[:-1])
        assert "site.done map.town" in told
        assert "job.completed" in told
        assert (progress["type"], progress["data"]["progress"]) == ("progress", 100)
        now = client.get(path).json()
        assert (now["status"], now["success_urls"], now["failed_urls"]) == ("succeeded", 3, 1)
        assert now["traffic_mb_used"] > 0
        assert job["id"] in [one["id"] for one in client.get("/api/jobs", params={"domain": "map.town"}).json()]
        assert client.get("/api/jobs", params={"domain": "nobody.town"}).json() == []
        refused = client.post(f"{path}/cancel")
        assert (refused.status_code, refused.json()["detail"]) == (409, "Cannot cancel job in status: succeeded")
        tables = client.get(f"{path}/exports")
        assert (tables.status_code, tables.json()["code"]) == (501, "recipe.missing")
        assert "recipe site" in tables.json()["detail"]


def test_states_are_spelled_as_these_endpoints_do() -> None:
    """What is neither running nor over waits: why it does stands in `error_message`."""
    assert {str(state): str(status) for state, status in _STATUS.items()} == {
        "pending": "queued",
        "running": "running",
        "pausing": "running",
        "paused": "queued",
        "completed": "succeeded",
        "archived": "succeeded",
        "failed": "failed",
        "cancelled": "cancelled",
    }
    assert set(_STATUS) == set(JobState)


def test_a_list_becomes_a_job_too(working: Server) -> None:
    with working.client(right="submit") as client:
        urls = [f"http://list.town/{number}" for number in range(4)]
        body = {"sitemap_urls": urls, "options": {"domain": "list.town", "max_urls": 2}}
        job = client.post("/api/jobs", json=body).json()
        assert job["total_urls"] == 2
        assert wait_for(client, f"/v1/jobs/{job['id']}")["state"] == "completed"
        slow = {"sitemap_urls": ["http://slow.town/slow"], "options": {"domain": "slow.town"}}
        again = client.post("/api/jobs", json=slow).json()
        cancelled = client.post(f"/api/jobs/{again['id']}/cancel")
        assert (cancelled.status_code, cancelled.json()) == (202, {"ok": True})
        assert client.get(f"/api/jobs/{again['id']}").json()["status"] == "cancelled"


@pytest.mark.parametrize("door", ["/api/jobs", "/v1/jobs"])
def test_no_more_requests_are_in_flight_than_a_job_wants(working: Server, door: str) -> None:
    urls = [f"http://{name}-at-once.town/slow" for name in "abcdef"]
    bodies = {
        "/api/jobs": {"sitemap_urls": urls, "options": {"max_concurrency": 2}},
        "/v1/jobs": {"recipe": "scrape", "name": "Two at a time", "urls": urls, "max_concurrency": 2},
    }
    with working.client(right="submit") as client, closing(sqlite3.connect(working.home / "gossamer.db")) as rows:
        job = client.post(door, json=bodies[door]).json()
        at_once = []
        while client.get(f"/v1/jobs/{job['id']}").json()["state"] not in ("completed", "failed"):
            in_hand = "SELECT count(*) FROM visits WHERE job_id = ? AND state IN ('issued', 'running')"
            at_once += rows.execute(in_hand, (UUID(job["id"]).bytes,)).fetchone()
        done = client.get(f"/v1/jobs/{job['id']}").json()
    assert max(at_once) == 2, at_once
    assert (done["state"], done["progress"]["pages"]["done"]) == ("completed", 6)


def test_no_job_without_pages(working: Server) -> None:
    with working.client(right="submit") as client:
        neither = client.post("/api/jobs", json={"options": {"domain": "map.town"}})
        assert (neither.status_code, neither.json()["detail"]) == (400, "Either sitemap_url or sitemap_urls required")
        urls = {"sitemap_url": None, "sitemap_urls": ["http://map.town/lamp"]}
        nobody = client.post("/api/jobs", json={**urls, "options": {"enable_firecrawl": True}})
        assert (nobody.status_code, nobody.json()["code"]) == (400, "keys.missing")
        none = client.post("/api/jobs", json={**urls, "options": {"allow_residential": True}})
        assert (none.status_code, none.json()["code"]) == (400, "residential.missing")
        assert "proxies with residential addresses" in none.json()["detail"]
        for name in ("empty.xml", "lamp", "gone"):
            empty = client.post("/api/jobs", json={"sitemap_url": f"http://map.town/{name}"})
            assert (empty.status_code, empty.json()["code"]) == (400, "sitemap.empty"), name
        assert client.get(f"/api/jobs/{uuid4()}").status_code == 404


def test_a_sitemap_wins_over_a_list(working: Server) -> None:
    with working.client(right="submit") as client:
        body = {"sitemap_url": "http://map.town/sitemap.xml", "sitemap_urls": ["http://map.town/lamp"] * 9}
        made = client.post("/api/jobs", json={**body, "options": {"domain": "wins.town"}})
        assert (made.status_code, made.json()["total_urls"]) == (201, 4), made.text


@pytest.mark.parametrize("unknown", ["0192f3a1-7b2c-7d4e-8f5a-6b7c8d9e0f1a", "1", "no-such-job", "%20", "x" * 150])
def test_an_unknown_id_of_any_shape_is_a_job_that_was_not_found(api: Server, unknown: str) -> None:
    with api.client() as client:
        for verb, rest in (("GET", ""), ("POST", "/cancel"), ("GET", "/exports"), ("GET", "/stream")):
            answer = client.request(verb, f"/api/jobs/{unknown}{rest}")
            assert (answer.status_code, answer.json()["detail"]) == (404, "Job not found"), (verb, rest, answer.text)


def test_health_asks_the_database(working: Server) -> None:
    with working.stranger() as client:
        health = client.get("/api/health").json()
        assert sorted(health) == ["database", "live", "ready", "status", "version", "workers"]
        assert (health["status"], health["database"], health["live"], health["ready"]) == ("ok", "ok", True, True)
        assert health["workers"] in ("ok", "idle")
        assert client.get("/").json() == {"status": "ok", "service": "gossamer", "docs": "/docs"}
        people = client.get("/", headers={"Accept": "text/html"})
        assert (people.status_code, people.headers["location"]) == (307, "/docs")


def test_options_have_the_usual_values() -> None:
    shape = description()["components"]["schemas"]["Options"]["properties"]
    assert {name: one["default"] for name, one in shape.items() if "default" in one and name != "domain"} == {
        "max_urls": 10_000,
        "max_concurrency": 2,
        "allow_residential": False,
        "enable_firecrawl": False,
        "traffic_budget_mb": 100,
        "residential_limit_mb": 50,
    }
    listed = description()["paths"]["/api/jobs"]["get"]["parameters"]
    assert {one["name"]: one["schema"].get("default") for one in listed} == {"domain": None, "limit": 50}
