"""A recipe from outside at every door: it enters by GOSSAMER_PLUGINS alone, and nothing in the program names it."""

import csv
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pytest

from gossamer.retention.service import Terms
from tests.stories.program import Terminal
from tests.toy_recipe import TOY
from tests.toy_recipe.world import ToyWorld, serve

ROOT = Path(__file__).parents[2]
SOURCE = "http://source.test/find"


@pytest.fixture(scope="module")
def world() -> Iterator[ToyWorld]:
    hosts = [f"shop-{number}.test" for number in range(6)]
    seen = ToyWorld(areas={"north": hosts[:3], "south": hosts[3:]}, secret="s3cret-of-the-source")
    seen.prices = {host: 10 * number for number, host in enumerate(hosts)}
    with serve(seen):
        yield seen


@pytest.fixture(scope="module")
def terminal(world: ToyWorld, tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    settings = {
        "GOSSAMER_PLUGINS": "tests.toy_recipe:TOY",
        "GOSSAMER_CONNECT_TO": f"*.test=127.0.0.1:{world.port}",
        "GOSSAMER_DOMAIN_RATE": "500",
        "GOSSAMER_SECRETS": f"source={world.secret}",
        "PYTHONPATH": str(ROOT),
    }
    return Terminal(tmp_path_factory.mktemp("toy") / "home", settings=settings)


@pytest.fixture(scope="module")
def job(terminal: Terminal) -> str:
    """A job that the recipe's own command has made and followed to its end."""
    areas = ("--area", "north", "--area", "south", "--credential", "source")
    told = terminal.type("toy", "run", "--name", "Shops", "--source", SOURCE, *areas).stdout
    assert "Completed: " in told
    assert "12 records" in told  # sightings among them
    return str(terminal.ask("job", "list")[0]["id"])


def test_its_command_is_listed_and_explained(terminal: Terminal) -> None:
    assert "toy" in terminal.type("--help").stdout
    assert "Find the shops of some areas." in terminal.type("toy", "--help").stdout
    told = terminal.type("toy", "run", "--help").stdout
    assert "--area NAME" in told
    assert "--max-credits N" in told
    assert "--domains" not in told
    assert "--change new|same|changed|gone" in terminal.type("job", "results", "--help").stdout


def test_a_wrong_parameter_is_named_by_its_option(terminal: Terminal) -> None:
    refused = terminal.type("toy", "run", "--name", "x", "--source", SOURCE, check=False)
    assert refused.returncode == 2
    assert refused.stderr == "Error: --area: it is missing. See 'gossamer toy run --help'.\n"


def test_the_terminal_speaks_its_nouns_and_shows_its_columns(terminal: Terminal, job: str) -> None:
    assert "Records: 12" in terminal.type("job", "status", job).stdout.splitlines()
    assert "Records" in terminal.type("job", "list").stdout.splitlines()[0]
    lines = terminal.type("job", "results", job).stdout.splitlines()
    assert lines[0].split() == ["Shop", "Areas", "Price"]
    assert ["shop-0", "north", "0"] in [line.split() for line in lines]
    assert "Shops 1 to 6 of 6." in lines
    assert len(terminal.ask("job", "results", job, "--change", "new")) == 6
    assert "No such shops." in terminal.type("job", "results", job, "--change", "gone").stdout
    refused = terminal.type("job", "results", job, "--keyword", "x", check=False).stderr
    assert (
        "whose results have no keywords and no verdicts. Leave out --keyword, --verdict and --unlinked-only." in refused
    )


def test_its_tables_become_files(terminal: Terminal, job: str, tmp_path: Path) -> None:
    path = tmp_path / "shops.csv"
    told = terminal.type("job", "export", job, "--output", str(path)).stdout
    assert told.startswith(f"Wrote 6 shops to {path}")
    rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert next(row for row in rows if row["name"] == "shop-3") == {
        "name": "shop-3",
        "areas": "south",
        "price": "30",
        "pages": "1",
        "change": "new",
        "price_before": "",
    }
    terminal.type("job", "export", job, "--type", "pages", "--output", str(tmp_path / "pages.jsonl"))
    book = tmp_path / "shops.xlsx"
    terminal.type("job", "export", job, "--output", str(book))
    assert [cell.value for cell in openpyxl.load_workbook(book)["shops"][1]] == list(rows[0])
    (automatic,) = [one for one in terminal.ask("job", "exports", job) if one["name"].startswith("shops-")]
    assert (automatic["format"], automatic["state"]) == ("csv", "done")
    refused = terminal.type("job", "export", job, "--type", "prospects", check=False).stderr
    assert "Use --type with one of shops, errors, pages, costs." in refused


def test_it_has_a_summary_and_a_report(terminal: Terminal, job: str, tmp_path: Path) -> None:
    told = terminal.type("job", "summary", job).stdout
    assert "Searched  2 areas" in told
    assert "Dearest shops" in told
    answer = terminal.ask("job", "summary", job)
    assert (answer["areas"], answer["shops"], answer["dearest"][0]["name"]) == (["north", "south"], 6, "shop-5")
    page = tmp_path / "report.html"
    terminal.type("job", "summary", job, "--html", str(page))
    said = page.read_text()
    assert "<h2>The dearest shops</h2>" in said
    assert "Shops by change" in said


def test_it_is_run_again_and_compared(terminal: Terminal, job: str, world: ToyWorld) -> None:
    world.prices["shop-1.test"] = 15
    terminal.type("job", "rerun", job)
    again = terminal.newest()
    assert again != job
    changed = terminal.ask("job", "results", again, "--change", "changed")
    assert [(one["name"], one["price"], one["price_before"]) for one in changed] == [("shop-1", 15, 10)]
    terminal.assert_clean(again)


def test_its_results_are_kept_as_long_as_it_says() -> None:
    terms, ended = Terms(usual=timedelta(days=90), recipes={"toy": TOY}), datetime(2026, 11, 17, tzinfo=UTC)
    assert terms.hides_at("toy", ended) == ended + timedelta(days=30)
    assert terms.hides_at("other", ended) == ended + timedelta(days=90)
    assert terms.shortest == timedelta(days=30)


@contextmanager
def _server(terminal: Terminal) -> Iterator[httpx.Client]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    key = terminal.ask("system", "keys", "create", "toy")["key"]
    command = [sys.executable, "-m", "gossamer", "serve", "--port", str(port)]
    with subprocess.Popen(command, env=terminal.environment(), stdout=subprocess.DEVNULL) as server:
        client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {key}"}, timeout=30
        )
        try:
            _until(lambda: client.get("/api/health").status_code == 200)
            yield client
        finally:
            client.close()
            server.terminate()
            server.wait(30)


def _until(wanted: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            if wanted():
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_server_takes_its_jobs_by_its_own_schema(terminal: Terminal, world: ToyWorld) -> None:
    with _server(terminal) as client:
        known = {one["name"]: one for one in client.get("/v1/recipes").json()["items"]}
        assert known["toy"]["records"] == ["sighting", "shop"]
        assert set(known["toy"]["params"]["required"]) == {"source", "areas"}
        wrong = client.post("/v1/jobs", json={"recipe": "toy", "name": "x", "params": {"source": SOURCE}})
        assert wrong.status_code == 400
        assert wrong.json()["errors"][0]["pointer"] == "#/body/params/areas"
        params = {"source": SOURCE, "areas": ["north"], "credential": "source", "compare_with": "none"}
        given = client.post("/v1/jobs", json={"recipe": "toy", "name": "x", "params": params, "domains": ["a.test"]})
        assert given.json()["code"] == "job.targets"
        made = client.post("/v1/jobs", json={"recipe": "toy", "name": "By the server", "params": params})
        assert made.status_code == 201, made.text
        path = f"/v1/jobs/{made.json()['id']}"
        _until(lambda: client.get(path).json()["state"] == "completed")
        found = client.get(f"{path}/results", params={"kind": "shop"}).json()
        assert sorted(one["name"] for one in found["items"]) == [f"shop-{number}" for number in range(3)]
        file = client.post(f"{path}/exports", json={"type": "shops", "format": "jsonl"}).json()["items"][0]
        _until(lambda: client.get(f"{path}/exports/{file['id']}").json()["state"] == "done")
        lines = client.get(f"{path}/exports/{file['id']}/file", follow_redirects=True).text.splitlines()
        assert len(lines) == 3
