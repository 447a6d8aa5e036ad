"""A server whose database goes away: old answers are given again and marked, new jobs refused, and nothing is lost."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from gossamer.clock import SystemClock
from gossamer.db.schema import upgrade_database
from tests.api.conftest import server
from tests.api.town import town
from tests.chaos.postgres import postgres_server

PAGES = 8


@pytest.mark.xdist_group("api-outage")
def test_while_the_database_is_away_old_answers_are_marked_and_nothing_is_lost(tmp_path: Path) -> None:
    with postgres_server() as database, town() as port:
        url = database.create("outage")
        asyncio.run(upgrade_database(url, SystemClock()))
        settings = {
            "GOSSAMER_DATABASE_URL": url,
            "GOSSAMER_CONNECT_TO": f"*.town=127.0.0.1:{port}",
            "GOSSAMER_DOMAIN_RATE": "2",
        }
        with (
            server(tmp_path / "home", "--processes", "1", settings=settings) as one,
            one.client(right="submit") as client,
            one.client("other") as other,
        ):
            pages = [f"http://away.town/{number}" for number in range(PAGES)]
            job = client.post("/v1/batch", json={"urls": pages, "formats": ["text"]}).json()
            path = job["links"]["self"]
            _until(client, path, lambda found: found["progress"]["pages"]["done"] >= 1)
            listed = client.get("/v1/jobs").json()
            assert client.get(path).json()["as_of"] is None
            assert other.get("/v1/account").status_code == 200

            database.kill()
            old = _old_answer(client, path)
            assert old.json()["id"] == job["id"]
            assert old.json()["as_of"] == old.headers["x-gossamer-as-of"]
            assert old.headers["warning"] == '110 gossamer "Response is Stale"'
            assert int(old.headers["age"]) >= 0
            assert [item["id"] for item in client.get("/v1/jobs").json()["items"]] == [job["id"]]
            assert listed["items"][0]["id"] == job["id"]
            began = time.monotonic()
            for refused in (
                client.post("/v1/jobs", json={"recipe": "scrape", "name": "n", "urls": ["http://away.town/new"]}),
                client.post("/v1/scrape", json={"url": "http://away.town/new"}),
                client.post(f"{path}/cancel"),
                other.get(path),  # whose answer it was matters now as ever
                client.get("/v1/jobs?limit=7"),  # and what nobody has asked for is not known
            ):
                assert (refused.status_code, refused.json()["code"]) == (503, "database.away")
                assert refused.headers["retry-after"] == "5"
            assert time.monotonic() - began < 10, "nobody waits for what is known to be away"
            with one.stranger() as stranger:
                assert stranger.get(path).status_code == 401
                ends = time.monotonic() + 30  # the database is looked at every second, later on a busy machine
                while stranger.get("/api/ready").status_code != 503:
                    assert time.monotonic() < ends, "it is still called ready"
                    time.sleep(0.1)

            database.start()
            done = _until(client, path, lambda found: found["state"] == "completed" and found["as_of"] is None)
            assert (done["progress"]["pages"]["done"], done["progress"]["pages"]["failed"]) == (PAGES, 0)
            used = _until(client, "/v1/usage?by=request", lambda found: not found["items"][0]["open"])
            (use,) = used["items"]
            assert (use["job_id"], use["pages"], use["credits"], use["outcome"]) == (
                job["id"],
                PAGES,
                PAGES,
                "completed",
            )


def _old_answer(client: httpx.Client, path: str) -> httpx.Response:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        if "age" in answer.headers:
            return answer
        time.sleep(0.2)
    raise AssertionError("it was never answered from memory")


def _until(client: httpx.Client, path: str, happened: Callable[[Any], bool]) -> Any:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        answer = client.get(path)
        if answer.status_code == 200 and happened(answer.json()):
            return answer.json()
        time.sleep(0.2)
    raise AssertionError(answer.text)
