"""A key to Firecrawl that comes with a job: used for that job alone, sealed, never shown, gone with the job."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Server, server
from tests.api.test_jobs import wait_for
from tests.api.town import town
from tests.stories.test_provider_places import told_by

pytestmark = pytest.mark.xdist_group("api")  # they are many processes

KEY = "fc-0123456789abcdef-of-one-job"
OPERATORS = "fc-fedcba9876543210-of-the-operator"
WRONG = "fc-that-nobody-has-ever-given-out"


@contextmanager
def firecrawl(connect_to: str, key: str) -> Iterator[str]:
    command = [sys.executable, "-m", "gossamer_sandbox.providers", "firecrawl", "--connect-to", connect_to]
    process = subprocess.Popen([*command, "--key", key], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[1]
    finally:
        process.terminate()
        process.communicate(timeout=20)


def asked(host: str, key: str | None, **options: Any) -> dict[str, Any]:
    own = {"firecrawl_api_key": key} if key else {}
    return {"sitemap_urls": [f"http://{host}/shell"], "options": {"enable_firecrawl": True, **own, **options}}


def sealed_rows(home: Path) -> int:
    with closing(sqlite3.connect(home / "gossamer.db")) as database:
        return int(database.execute("SELECT count(*) FROM job_keys").fetchone()[0])


def holding(folder: Path, secret: str) -> list[str]:
    """The files in which a secret can be read."""
    return [path.name for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def shown_by_server(one: Server, job_id: str) -> str:
    with one.client() as client:
        paths = ["", "/urls", "/results", "/events", "/errors", "/cost", "/audit", "/history"]
        said = [client.get(f"/v1/jobs/{job_id}{path}").text for path in paths]
        said += [client.get(path).text for path in ("/v1/jobs", "/api/jobs", f"/api/jobs/{job_id}", "/v1/usage")]
        made = client.post(f"/v1/jobs/{job_id}/exports", json={"format": "json"})
        said.append(made.text)
    return "\n".join(said)


def shown_by_command_line(one: Server, job_id: str) -> str:
    said: list[str] = []
    env = {"GOSSAMER_HOME": str(one.home), "PATH": "/usr/bin:/bin"}
    copy = one.home / "copy.db"
    for typed in (
        ["job", "status", job_id, "--json"],
        ["job", "history", job_id],
        ["job", "export", job_id, "--format", "csv", "--wait"],
        ["db", "backup", str(copy)],
    ):
        command = [sys.executable, "-m", "gossamer", *typed]
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, (typed, done.stdout, done.stderr)
        said += [done.stdout, done.stderr]
    return "\n".join(said)


def test_a_key_of_its_own_pays_for_one_job_and_is_read_by_nobody(tmp_path: Path) -> None:
    with town() as port:
        rules = f"*.town=127.0.0.1:{port}"
        with firecrawl(rules, KEY) as provider:
            settings = {
                "GOSSAMER_CONNECT_TO": rules,
                "GOSSAMER_FIRECRAWL_URL": provider,
                "GOSSAMER_API_KEY_RATE": "0",
                "GOSSAMER_LOG_LEVEL": "debug",
            }
            with server(tmp_path / "home", "--processes", "1", settings=settings) as one:
                with one.client(right="submit") as client:
                    made = client.post("/api/jobs", json=asked("own.town", KEY))
                    assert made.status_code == 201, made.text
                    own = made.json()["id"]
                    none = client.post("/api/jobs", json=asked("none.town", None))
                    assert (none.status_code, none.json()["code"]) == (400, "keys.missing")
                    assert "options.firecrawl_api_key" in none.json()["hint"]
                    unwanted = client.post("/api/jobs", json=asked("unwanted.town", KEY, enable_firecrawl=False))
                    assert wait_for(client, f"/v1/jobs/{own}")["state"] == "completed"
                    assert wait_for(client, f"/v1/jobs/{unwanted.json()['id']}")["state"] == "completed"
                    done, left = (client.get(f"/api/jobs/{job}").json() for job in (own, unwanted.json()["id"]))
                assert (done["success_urls"], done["failed_urls"]) == (1, 0)
                assert (left["success_urls"], left["failed_urls"]) == (0, 1)
                assert [entry["target"] for entry in told_by(provider, "bill")] == ["http://own.town/shell"]
                assert sealed_rows(one.home) == 1  # that of the job that wanted it

                with one.client(right="submit") as client:
                    refused = client.post("/api/jobs", json=asked("wrong.town", WRONG)).json()["id"]
                    paused = wait_for(client, f"/v1/jobs/{refused}")
                    bad = [
                        client.post("/api/jobs", json=asked("bad.town", key))
                        for key in ("with a space", "ключ-который-не-ключ", f"{KEY}{'x' * 200}")
                    ]
                assert paused["state"] in ("pausing", "paused")
                assert "does not accept the key that came with this job" in paused["reason"]
                assert "GOSSAMER_FIRECRAWL_KEY" not in paused["reason"]
                assert [answer.status_code for answer in bad] == [400, 400, 400]

                shown = "\n".join([made.text, unwanted.text, *(answer.text for answer in bad)])
                shown += shown_by_server(one, own) + shown_by_server(one, refused) + shown_by_command_line(one, own)
                assert "own.town" in shown
                for secret in (KEY, WRONG, "with a space", "ключ"):
                    assert secret not in shown
                    assert holding(tmp_path, secret) == []

                assert sealed_rows(one.home) == 2
                with one.client() as client:
                    assert client.delete(f"/v1/jobs/{own}").status_code in (200, 202, 204)
                assert sealed_rows(one.home) == 1  # the other job's is still there
            assert holding(tmp_path, KEY) == []


def test_a_wrong_key_of_one_job_is_no_trouble_of_the_others(tmp_path: Path) -> None:
    """The operator's key works on while a job's own is refused; and neither stands in for the other."""
    with town() as port:
        rules = f"*.town=127.0.0.1:{port}"
        with firecrawl(rules, OPERATORS) as provider:
            settings = {
                "GOSSAMER_CONNECT_TO": rules,
                "GOSSAMER_FIRECRAWL_URL": provider,
                "GOSSAMER_FIRECRAWL_KEY": OPERATORS,
                "GOSSAMER_API_KEY_RATE": "0",
            }
            with (
                server(tmp_path / "home", "--processes", "1", settings=settings) as one,
                one.client(right="submit") as client,
            ):
                refused = client.post("/api/jobs", json=asked("wrong.town", WRONG)).json()["id"]
                assert wait_for(client, f"/v1/jobs/{refused}")["state"] in ("pausing", "paused")
                usual = client.post("/api/jobs", json=asked("usual.town", None)).json()["id"]
                assert wait_for(client, f"/v1/jobs/{usual}")["state"] == "completed"
                assert client.get(f"/api/jobs/{usual}").json()["success_urls"] == 1
            paid = [entry["target"] for entry in told_by(provider, "bill") if entry["credits"]]
            assert paid == ["http://usual.town/shell"]


def test_a_server_whose_workers_could_not_read_the_key_does_not_take_it(tmp_path: Path) -> None:
    settings = {"GOSSAMER_REDIS_URL": "redis://127.0.0.1:1/0", "GOSSAMER_API_KEY_RATE": "0"}
    with (
        server(tmp_path / "home", "--api-only", settings=settings) as one,
        one.client(right="submit") as client,
    ):
        refused = client.post("/api/jobs", json=asked("own.town", KEY))
    assert refused.json()["code"] == "keys.no_secret"
    assert KEY not in refused.text
    assert sealed_rows(one.home) == 0
