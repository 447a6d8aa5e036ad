"""What the commands that delete ask and say, and what others say of results that are gone."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import update

from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.schema import upgrade
from gossamer.db.tables import jobs
from gossamer.db.transactions import Tx
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.retention import queries as retention_queries
from tests.retention.finished import finished_job
from tests.stories.program import LONGEST, Terminal


def home_with(folder: Path, change: Callable[[Tx, Job], Any] | None = None) -> tuple[Terminal, str]:
    """A home with one completed job: a page of a.test and its match. The job's short id."""

    async def fill() -> Job:
        folder.mkdir(parents=True)
        database = SqliteDatabase(folder / "gossamer.db", SystemClock())
        await database.write(upgrade)
        job = await finished_job(database, "a.test", pages=1)
        if change:
            await database.write(change, job)
        await database.close()
        return job

    return Terminal(folder), short(asyncio.run(fill()).id)


def hide(tx: Tx, job: Job) -> None:
    tx.run(update(jobs).values(finished_at=tx.now - timedelta(hours=1)))
    kept = retention_queries.kept_job(tx, job.id)
    assert kept
    assert retention_queries.hide(tx, kept, tx.now, "")


def archive(tx: Tx, job: Job) -> None:
    assert retention_queries.archive(tx, job.id, tx.now, "", "user")


@pytest.mark.parametrize(("change", "code"), [(hide, "results.hidden"), (archive, "results.deleted")])
def test_nothing_is_told_of_results_that_are_gone(tmp_path: Path, change: Callable[[Tx, Job], Any], code: str) -> None:
    terminal, job = home_with(tmp_path / "home", change)
    late = Terminal(terminal.home, None, {"GOSSAMER_RETENTION": "1s"})
    for command in (("explain", "a.test/0", "--job", job), ("job", "politeness", job), ("job", "pages", job)):
        refused = late.type(*command, "--json", check=False)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert orjson.loads(refused.stderr)["error"]["code"] == code


def interrupted(terminal: Terminal, *arguments: str) -> tuple[int, str, str]:
    """A command at a terminal at which Ctrl-C is pressed as soon as it asks, and `y` typed after that."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "gossamer", *arguments],
            env=terminal.environment(),
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        asked = ""
        while not asked.endswith("]:"):
            letter = process.stderr.read(1)
            assert letter, f"it ended without asking: {asked}"
            asked += letter
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.write(ours, b"y\n")
        said, _ = process.communicate(timeout=LONGEST)
        return process.returncode, asked, said
    finally:
        os.close(ours)
        os.close(theirs)


def test_ctrl_c_at_the_question_ends_it_and_changes_nothing(tmp_path: Path) -> None:
    terminal, job = home_with(tmp_path / "home")
    code, asked, said = interrupted(terminal, "job", "delete", job)
    assert (code, said.endswith("\nNothing was changed.\n")) == (130, True)
    assert asked.startswith(f"Delete all of test ({job}): 1 match and 1 page?")
    code, _, said = interrupted(terminal, "job", "forget", "--domain", "a.test")
    assert (code, said.endswith("\nNothing was changed.\n")) == (130, True)
    assert said.startswith(f"test ({job}): 1 page, 1 match, ")
    assert len(terminal.rows(job)) == 1


def test_a_second_deletion_says_that_there_was_a_first(tmp_path: Path) -> None:
    terminal, job = home_with(tmp_path / "home")
    assert "still shows that" in terminal.type("job", "delete", job, "--yes").stdout
    again = terminal.type("job", "delete", job).stdout
    assert again.startswith(f"Nothing to do: job {job} was deleted already, on 20")


def test_what_is_no_address_cannot_be_forgotten(tmp_path: Path) -> None:
    for text in ("foo", "a b"):
        refused = Terminal(tmp_path / "home").type("job", "forget", "--url", text, "--json", check=False)
        assert refused.returncode == 2
        assert orjson.loads(refused.stderr)["error"]["code"] == "forget.url"


def test_forgotten_is_only_what_was_there_and_is_said_to_be(tmp_path: Path) -> None:
    terminal, job = home_with(tmp_path / "home")
    nothing = {"forgotten": False, "jobs": [], "files_left": 0}
    assert terminal.ask("job", "forget", "--url", "a.test/none", "--yes") == nothing
    assert terminal.ask("job", "forget", "--url", "a.test/0", "--dry-run")["forgotten"] is False
    assert terminal.ask("job", "forget", "--url", "a.test/0", "--yes")["forgotten"] is True
    told = terminal.type("explain", "a.test/0", "--job", job).stdout
    assert "Page        forgotten\n" in told
    assert "taken out with 'gossamer job forget' on 20" in " ".join(told.split())
