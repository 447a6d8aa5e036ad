"""A server is killed in the middle of everything: what it has accepted is done all the same, and told under one id."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.conftest import Server, second_server, server
from tests.api.town import town
from tests.stories.program import Terminal
from tests.webhooks.listener import Listener

ARGUMENTS = ("--processes", "1")
BATCH = [f"http://shop{number}.town/lamp" for number in range(30)] + [
    "http://shop1.town/slow",
    "http://shop2.town/slow",
]


class Accepted:
    """What the server has said yes to, as those who asked remember it."""

    def __init__(self) -> None:
        self.jobs: dict[str, int] = {}  # and how many pages of each there are
        self.read: dict[str, str] = {}  # titles that were answered at once, by job
        self.exports: list[tuple[str, str]] = []
        self._changed = threading.Condition()

    def note(self, job: str, pages: int, title: str = "") -> None:
        with self._changed:
            self.jobs[job] = pages
            if title:
                self.read[job] = title
            self._changed.notify_all()

    def until(self, jobs: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.jobs) >= jobs, 60), self.jobs


def ask_for_pages(one: Server, accepted: Accepted, name: str) -> None:
    """One page after the other, until nobody answers any more."""
    with one.client(right="submit") as client:
        for number in range(10_000):
            body = {"url": f"http://{name}{number}.town/lamp", "formats": ["metadata"], "timeout": 20}
            try:
                answer = client.post("/v1/scrape", json=body)
            except httpx.TransportError:
                return
            if answer.status_code == 200:
                page = answer.json()
                accepted.note(page["job_id"], 1, page["data"]["title"])
            elif answer.status_code == 202:
                accepted.note(answer.json()["id"], 1)


def ask_for_batches(one: Server, accepted: Accepted) -> None:
    with one.client(right="submit") as client:
        for _ in range(10_000):
            try:
                answer = client.post("/v1/batch", json={"urls": BATCH, "formats": ["metadata"]})
                if answer.status_code != 202:
                    continue
                job = answer.json()["id"]
                accepted.note(job, len(BATCH))
                ordered = client.post(f"/v1/jobs/{job}/exports", json={"type": "pages", "format": "csv"})
            except httpx.TransportError:
                return
            if ordered.status_code == 202:
                accepted.exports += [(job, item["id"]) for item in ordered.json()["items"]]
            time.sleep(0.5)


def until_over(client: httpx.Client, path: str, states: tuple[str, ...]) -> dict[str, Any]:
    end = time.monotonic() + 120
    while True:
        found: dict[str, Any] = client.get(path).raise_for_status().json()
        if found["state"] in states:
            return found
        assert time.monotonic() < end, found
        time.sleep(0.1)


@pytest.mark.story
def test_nothing_accepted_is_lost_and_messages_keep_their_ids(tmp_path: Path) -> None:
    dead = threading.Event()

    def never(_: BaseHTTPRequestHandler) -> None:
        dead.wait(60)

    home, accepted = tmp_path / "home", Accepted()
    with town() as port, Listener(never) as listener:
        rules = f"{listener.rule},*.town=127.0.0.1:{port}"
        settings = {
            "GOSSAMER_CONNECT_TO": rules,
            "GOSSAMER_API_KEY_RATE": "0",
            "GOSSAMER_API_IP_RATE": "0",
            "GOSSAMER_DOMAIN_RATE": "50",
        }
        shell = Terminal(home, None, {"GOSSAMER_CONNECT_TO": rules})
        with server(home, *ARGUMENTS, settings=settings) as first:
            secret = shell.ask("webhook", "add", listener.url(), "--events", "job.completed,export.ready")["secret"]
            with ThreadPoolExecutor(4) as people:
                asking = [people.submit(ask_for_pages, first, accepted, name) for name in ("ann", "ben", "cid")]
                asking.append(people.submit(ask_for_batches, first, accepted))
                accepted.until(12)
                listener.until(1)  # a message is under way, and its receiver has not answered
                first.process.kill()
                for one in asking:
                    one.result()
            dead.set()
        with second_server(first, home, *ARGUMENTS, settings=settings) as again, again.client() as client:
            assert len(accepted.exports) >= 1
            for job, pages in accepted.jobs.items():
                end = until_over(client, f"/v1/jobs/{job}", ("completed",))
                assert (end["progress"]["pages"]["done"], end["progress"]["pages"]["open"]) == (pages, 0)
                rows = client.get(f"/v1/jobs/{job}/urls", params={"limit": 500}).json()["items"]
                assert len({row["url"] for row in rows if row["status"] == "done"}) == len(rows) == pages
                if job in accepted.read:
                    assert rows[0]["data"]["title"] == accepted.read[job]
            for job, export in accepted.exports:
                end = until_over(client, f"/v1/jobs/{job}/exports/{export}", ("done", "failed"))
                assert end["state"] == "done", end
                assert client.get(f"/v1/jobs/{job}/exports/{export}/file").status_code == 200
            told = until_told(listener, secret, set(accepted.jobs))
        for job in accepted.jobs:
            shell.assert_clean(job)
    # Whoever was not answered may have been accepted all the same.
    assert all(len(ids) == 1 for ids in told.values()), told
    assert len({one.id for one in listener.received}) < len(listener.received)  # the one under way came again


def until_told(listener: Listener, secret: str, jobs: set[str]) -> dict[str, set[str]]:
    """The ids under which the end of each job was told, once that of all these was; of others it may be, too."""
    end = time.monotonic() + 60
    while True:
        told: dict[str, set[str]] = {}
        for one in list(listener.received):
            said = one.verified(secret)
            if said["type"] == "job.completed":
                told.setdefault(said["data"]["job_id"], set()).add(one.id)
        if jobs <= told.keys():
            return told
        assert time.monotonic() < end, jobs - told.keys()
        time.sleep(0.2)
