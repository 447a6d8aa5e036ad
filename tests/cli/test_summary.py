"""The whole job on one screen, and `job results` as it is typed."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.cells import cell_len
from sqlalchemy import update

from gossamer.cli.results import Conditions
from gossamer.cli.summary import screen
from gossamer.clock import SystemClock
from gossamer.errors import UserError
from gossamer.export.overview import survey
from gossamer.export.prospects import COLUMNS
from gossamer.export.table import Asked
from gossamer.model.job import Job
from gossamer.store import jobs, tables
from gossamer.store.database import SqliteDatabase
from gossamer.store.schema import upgrade
from tests.conftest import AnyDatabase
from tests.export.matches import job_with, match
from tests.jobs import make_job

ROWS = [
    *(match("a.test", f"{page}", "CRM") for page in range(5)),
    match("a-rather-long-name-of-a-site-that-never-ends.test", "x", "CRM", verdict="linked"),
]


@pytest.mark.parametrize("width", [60, 80, 100])
async def test_a_screen_has_everything_and_fits(database: AnyDatabase, width: int) -> None:
    job = await job_with(database, ROWS, failed=["down.test"])
    overview = await survey(database, Asked(job, COLUMNS))
    told = "12 requests to 3 domains; smallest gap 1.02 s (a.test); no disallowed address was requested."
    lines = [part for line in screen(overview, "running", [told], width) for part in line.plain.splitlines() or [""]]
    assert all(cell_len(line) <= width for line in lines)
    assert len(lines) < 40
    words = " ".join(" ".join(lines).split())
    for wanted in ("3 domains", "6 on 2 domains", "1 prospect", "DNS resolution failed 1 █", "CRM 6 █", told):
        assert wanted in words
    best = next(at for at, line in enumerate(lines) if line.startswith("Best prospects"))
    assert lines[best + 1].split()[:3] == ["a.test", "55.0", "5"]


@pytest.mark.parametrize(("client", "said"), [([], "Mentions"), (["acme.test"], "Unlinked")])
async def test_without_a_client_nothing_is_called_unlinked(database: AnyDatabase, client: list[str], said: str) -> None:
    rows = [match("a.test", "x", "CRM", verdict="unlinked" if client else "")]
    job = await job_with(database, rows)
    job = replace(job, params={**job.params, "client_domains": client})
    overview = await survey(database, Asked(job, COLUMNS))
    text = "\n".join(line.plain for line in screen(overview, "completed", [], 100))
    assert f"1 prospect with {'unlinked ' * bool(client)}mentions" in text
    assert f"Score  {said}" in text
    assert ("nlinked" in text) is bool(client)


@pytest.fixture
async def home(tmp_path: Path) -> tuple[Path, str]:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    database = SqliteDatabase(folder / "gossamer.db", SystemClock())
    await database.write(upgrade)
    job = await job_with(database, ROWS, failed=["down.test"])
    for_somebody = update(tables.jobs).values(params={**job.params, "client_domains": ["acme.test"]})
    await database.write(lambda tx: tx.run(for_somebody).rowcount)
    await database.close()
    return folder, str(job.id)


def typed(home: Path, *arguments: str, code: int = 0) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "gossamer", "job", *arguments],
        env={**os.environ, "GOSSAMER_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    return ran.stdout + ran.stderr


def test_results_are_read_page_by_page(home: tuple[Path, str]) -> None:
    folder, job = home
    rows: list[dict[str, Any]] = orjson.loads(typed(folder, "results", job, "--limit", "2", "--page", "3", "--json"))
    assert [row["url"] for row in rows] == ["https://a.test/3", "https://a.test/4"]
    said = typed(folder, "results", job, "--limit", "2", "--domain", "https://www.A.test/", "--keyword", "crm")
    assert "Matches 1 to 2." in said
    assert "--domain https://www.A.test/ --keyword crm --limit 2 --page 2\n" in said
    export = f"  gossamer job export {job[-8:]}"
    assert said.endswith(f"All in a file, those of other domains and keywords too:\n{export} --output results.csv\n")
    said = typed(folder, "results", job, "--unlinked-only", "--keyword", "crm")
    of_all = "All unlinked ones in a file, those of other keywords too:"
    assert said.endswith(f"{of_all}\n{export} --filter unlinked --output results.csv\n")
    assert typed(folder, "results", job).endswith(f"All in a file:\n{export} --output results.csv\n")
    nothing = typed(folder, "results", job, "--page", "9")
    assert nothing == "There is no page 9: the job has 6 matches, 20 a page.\n"
    nothing = typed(folder, "results", job, "--page", "9", "--verdict", "linked")
    assert nothing == "There is no page 9: the job has 1 such match, 20 a page.\n"
    assert typed(folder, "results", job, "--page", "9", "--verdict", "nofollow") == "No such matches yet.\n"
    assert "has no keyword 'boats'" in typed(folder, "results", job, "--keyword", "boats", code=2)


def test_the_summary_as_json_and_as_a_page(home: tuple[Path, str]) -> None:
    folder, job = home
    report = folder / "report.html"
    told = orjson.loads(typed(folder, "summary", job, "--html", str(report), "--json"))
    assert told["matches"] == 6
    assert told["domains"]["with_unlinked_mentions"] == 1
    assert told["failure_reasons"] == {"DNS resolution failed": 1}
    assert told["prospects"][0]["domain"] == "a.test"
    assert told["html"] == str(report)
    assert "<h1>test</h1>" in report.read_text()
    assert "names no file" in typed(folder, "summary", job, "--html", "-", code=2)
    nowhere = typed(folder, "summary", job, "--html", str(folder / "no" / "x.html"), code=2)
    assert nowhere.endswith("No such file or directory. Choose another place with --html.\n")


def conditions(**typed_in: Any) -> Conditions:
    return Conditions(**typed_in)


async def test_conditions_that_no_row_can_meet_are_refused(database: AnyDatabase) -> None:
    job: Job = await database.write(make_job, "a.test")
    refused = {
        "results.domain": conditions(domain="not a domain"),
        "results.keyword": conditions(keyword="ERP"),
        "results.verdict": conditions(verdict="maybe"),
        "results.no_client": conditions(unlinked_only=True),
        "usage": conditions(unlinked_only=True, verdict="linked"),
    }
    for code, one in refused.items():
        with pytest.raises(UserError) as error:
            one.where(job)
        assert error.value.code == code
    assert conditions(keyword=" crm ").where(job).keyword == "CRM"
    assert await database.read(jobs.get, job.id)
