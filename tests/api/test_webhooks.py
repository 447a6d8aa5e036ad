"""Webhooks through the server: added, heard from, looked at, replayed, switched off and removed."""

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest
from standardwebhooks import Webhook

from tests.api.conftest import Server
from tests.api.town import LETTERS

pytestmark = pytest.mark.xdist_group("api")  # they share a server


def until(found: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.1)
    raise AssertionError(what)


def add(client: httpx.Client, path: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/webhooks", json={"url": f"http://hooks.town{path}", **more})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def read(secret: str, letter: tuple[dict[str, str], bytes]) -> Any:
    headers, body = letter
    return Webhook(secret).verify(body, headers)


def test_a_program_hears_of_a_job_and_can_have_it_said_again(working: Server) -> None:
    path = f"/{uuid4().hex}"
    with working.client(right="submit") as client:
        hook = add(client, path, events=["job.started", "job.completed"])
        place = f"/v1/webhooks/{hook['id']}"
        assert hook["secret"].startswith("whsec_")
        assert "secret" not in client.get(place).json()
        tried = client.post(f"{place}/test")
        assert (tried.status_code, tried.json()["state"]) == (202, "pending")
        sent = until(lambda: _delivered(client, place, tried.json()["id"]), "the test never arrived")
        assert sent["attempts"][0]["http_status"] == 204
        job = client.post("/v1/batch", json={"urls": ["http://one.town/heard"], "formats": ["text"]}).json()["id"]

        def ours() -> list[tuple[dict[str, str], bytes]]:
            """The messages without those about jobs of other tests, which may end meanwhile."""
            bodies = ((one, read(hook["secret"], one)) for one in LETTERS.at(path))
            return [one for one, body in bodies if body["type"] == "webhook.test" or body["data"]["job_id"] == job]

        letters = until(lambda: len(ours()) >= 3 and ours(), "the job was not told")
        told = [read(hook["secret"], one) for one in letters]
        assert [one["type"] for one in told] == ["webhook.test", "job.started", "job.completed"]
        assert told[2]["data"]["job_id"] == job
        assert told[2]["data"]["pages"] == {"done": 1, "failed": 0, "skipped": 0}
        ids = [one[0]["webhook-id"] for one in letters]
        log = [one for one in _log(client, place) if one["message_id"] in ids]
        assert [one["type"] for one in log] == ["job.completed", "job.started", "webhook.test"]
        last = log[0]
        assert client.post(f"{place}/deliveries/{last['id']}/replay").status_code == 202
        again = until(lambda: len(ours()) >= 4 and ours()[3], "it was not said again")
        assert again[0]["webhook-id"] == last["message_id"] == letters[2][0]["webhook-id"]
        assert again[1] == letters[2][1]
        # A new secret signs, and the one before beside it.
        assert client.post(f"{place}/rotate").status_code == 403  # a secret is for those who may make keys, too
        with working.client() as owner:
            new = owner.post(f"{place}/rotate", json={"overlap_hours": 1}).json()["secret"]
        client.post(f"{place}/test")
        both = until(lambda: len(ours()) >= 5 and ours()[4], "the second test never arrived")
        assert read(new, both) == read(hook["secret"], both)
        assert client.delete(place).status_code == 204
        assert (client.get(place).status_code, client.get(place).json()["code"]) == (404, "webhook.not_found")


def _log(client: httpx.Client, place: str) -> list[dict[str, Any]]:
    """All deliveries of a webhook, two at a time."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = client.get(f"{place}/deliveries", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        found += page["items"]
        if not page["has_more"]:
            return found
        cursor = page["next_cursor"]


def test_who_asks_for_pages_hears_of_them_in_batches(working: Server) -> None:
    path = f"/{uuid4().hex}"
    with working.client(right="submit") as client:
        hook = add(client, path, events=["job.pages", "job.completed"])
        urls = [f"http://batch{number}.town/lamp" for number in range(3)] + ["http://batch0.town/gone"]
        job = client.post("/v1/batch", json={"urls": urls, "formats": ["text"]}).json()["id"]

        def all_told() -> Any:
            told = [read(hook["secret"], one) for one in LETTERS.at(path)]
            mine = [one for one in told if one["data"]["job_id"] == job]
            return mine if mine and mine[-1]["type"] == "job.completed" else None

        *batches, _ = until(all_told, "the end was not told")
        assert {one["type"] for one in batches} == {"job.pages"}
        assert sum(one["data"]["batch"] for one in batches) == 4
        assert batches[-1]["data"]["pages"] == {"done": 3, "failed": 1, "skipped": 0}
        client.delete(f"/v1/webhooks/{hook['id']}")


def _delivered(client: httpx.Client, place: str, delivery: str) -> dict[str, Any] | None:
    one: dict[str, Any] = client.get(f"{place}/deliveries/{delivery}").json()
    return one if one["state"] == "delivered" else None


def test_what_was_given_up_is_sent_once_it_is_switched_on(working: Server) -> None:
    path = f"/{uuid4().hex}"
    LETTERS.refusing.add(path)
    with working.client(right="submit") as client:
        hook = add(client, path)
        place = f"/v1/webhooks/{hook['id']}"
        lost = client.post(f"{place}/test").json()["id"]
        until(lambda: client.get(f"{place}/deliveries/{lost}").json()["attempts"], "it was never tried")
        assert client.get(place).json()["failures"] == 1
        assert client.patch(place, json={"enabled": False}).json()["state"] == "off"
        assert client.get(f"{place}/deliveries", params={"state": "failed"}).json()["items"][0]["id"] == lost
        off = client.post(f"{place}/test")
        assert (off.status_code, off.json()["code"]) == (409, "webhook.off")
        LETTERS.refusing.discard(path)
        changed = client.patch(place, json={"enabled": True, "events": ["job.failed"]}).json()
        assert (changed["state"], changed["events"]) == ("active", ["job.failed"])
        later = {"since": "2999-01-01T00:00:00Z"}
        assert client.post(f"{place}/replay-failed", params=later).json() == {"replayed": 0}
        assert client.post(f"{place}/replay-failed").json() == {"replayed": 1}
        until(lambda: _delivered(client, place, lost), "it was not sent once more")
        assert orjson.loads(LETTERS.at(path)[-1][1])["type"] == "webhook.test"
        client.delete(place)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1:9/", "webhook.address"),
        ("http://169.254.169.254/latest/", "webhook.address"),
        ("http://[::1]/", "webhook.address"),
        ("http://user:secret@hooks.town/", "webhook.address"),
        ("ftp://hooks.town/", "webhook.url"),
    ],
)
def test_nothing_is_ever_sent_where_nothing_may_be_fetched(working: Server, url: str, code: str) -> None:
    with working.client(right="submit") as client:
        answer = client.post("/v1/webhooks", json={"url": url})
        assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
        wrong = client.post("/v1/webhooks", json={"url": "http://hooks.town/", "events": ["job.sneezed"]})
        assert (wrong.status_code, wrong.json()["code"]) == (400, "webhook.event")
        mine = add(client, "/mine")
        moved = client.patch(f"/v1/webhooks/{mine['id']}", json={"url": url})
        assert (moved.status_code, moved.json()["code"]) == (400, code)
        assert client.get(f"/v1/webhooks/{mine['id']}").json()["url"] == "http://hooks.town/mine"
        client.delete(f"/v1/webhooks/{mine['id']}")
    with working.client(right="read") as reader:
        assert reader.post("/v1/webhooks", json={"url": "http://hooks.town/"}).status_code == 403
        assert reader.get("/v1/webhooks").status_code == 200
