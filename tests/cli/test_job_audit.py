"""`gossamer job audit` and what `job status` says of checkpoints."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from gossamer.cli.job_audit import audit_json, audit_lines
from gossamer.cli.report import checkpoint_line
from gossamer.crawl.audit import AuditReport, Check
from gossamer.model.job import Checkpoint, CheckpointCause
from gossamer.model.states import JobState
from tests.stories.program import Terminal

JOB = UUID("01a1e31f-9c52-7603-a036-9088d9f0a182")
CLEAN = Check("pages", {"pages": 1200, "done": 1199, "pending": 1})
WRONG = Check("open pages", {"pending": 0}, ("domains without: 2 (a.test, b.test)", "visits without: 1 (a.test)"))


def test_a_clean_report_ends_with_the_verdict() -> None:
    assert audit_lines(AuditReport(JOB, JobState.PAUSED, (CLEAN, Check("checkpoint", {})))) == [
        "ok     pages       1,200 pages = 1,199 done + 1 pending",
        "ok     checkpoint  none yet",
        "Clean: job d9f0a182 (paused) adds up, nothing is missing or double.",
    ]


def test_the_state_is_the_one_that_is_shown_elsewhere() -> None:
    last = audit_lines(AuditReport(JOB, JobState.RUNNING, (CLEAN,)), "stopped: no worker")[-1]
    assert last.startswith("Clean: job d9f0a182 (stopped: no worker) adds up")


def test_one_of_a_thing_is_not_several() -> None:
    figures = {"sites_partial": 1, "sites_done": 2, "bytes_in": 1, "records": 1}
    (line, _) = audit_lines(AuditReport(JOB, JobState.PAUSED, (Check("counters", figures),)))
    assert line == "ok     counters    1 site partial, 2 sites done, 1 byte in, 1 record"


def test_each_thing_that_is_wrong_has_its_line() -> None:
    report = AuditReport(JOB, JobState.RUNNING, (CLEAN, WRONG))
    assert audit_lines(report)[1:] == [
        "WRONG  open pages  0 pending",
        "       domains without: 2 (a.test, b.test)",
        "       visits without: 1 (a.test)",
        "Not clean: 1 of 2 checks of job d9f0a182 failed.",
    ]
    told = audit_json(report)
    assert (told["clean"], [check["clean"] for check in told["checks"]]) == (False, [True, False])
    assert told["checks"][1]["faults"] == WRONG.faults


def test_the_last_checkpoint_is_told_with_its_day_if_that_is_another() -> None:
    at = datetime(2026, 1, 18, 12, 3, 11).astimezone()
    figures = (5_000, 2_000, 300, 100, 9, 9, 9, 9)
    checkpoint = Checkpoint(at.astimezone(UTC), CheckpointCause.VISITS, JobState.RUNNING, *figures, last_at=at)
    done = "2,400 of 5,000 domains; nothing since then is lost either"
    assert checkpoint_line(checkpoint, at) == f"Last checkpoint: 12:03:11, {done}"
    later = checkpoint_line(checkpoint, at + timedelta(days=1))
    assert later == f"Last checkpoint: 2026-01-18 12:03:11, {done}"
    assert checkpoint_line(None, at) == "Last checkpoint: none yet"


@pytest.mark.story
def test_the_command_ends_with_one_if_the_rows_do_not_add_up(tmp_path: Path) -> None:
    (tmp_path / "domains.txt").write_text("a.example\nb.example\n")
    (tmp_path / "keywords.txt").write_text("CRM\n")
    terminal = Terminal(tmp_path / "home")
    given = ("--domains", str(tmp_path / "domains.txt"), "--keywords", str(tmp_path / "keywords.txt"))
    job = terminal.ask("job", "run", "--name", "audited", *given, "--no-auto-start")["id"]
    assert terminal.type("job", "audit", job).stdout.splitlines()[-1].startswith("Clean: job ")
    assert terminal.ask("job", "audit", job)["clean"] is True
    with closing(sqlite3.connect(tmp_path / "home" / "gossamer.db")) as rows, rows:
        rows.execute("UPDATE sites SET open_pages = 1 WHERE host = 'a.example'")
    found = terminal.type("job", "audit", job, check=False)
    assert (found.returncode, found.stderr) == (1, "")
    assert "pending pages: 1 (a.example)" in found.stdout
    assert terminal.type("job", "audit", job, "--json", check=False).returncode == 1
