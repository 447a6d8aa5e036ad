"""`job history` and `system dead-letters`, typed as a person would, on a home with a visit that was given up."""

from pathlib import Path
from uuid import UUID

import pytest

from gossamer.clock import SystemClock
from gossamer.db.schema import ready_database
from gossamer.model.states import JobState
from gossamer.store import jobs, reclaim
from tests.jobs import claim_all, make_job
from tests.stories.program import Terminal

WHY = "worker ended with SIGKILL"
Home = tuple[Terminal, str, str]
"""Where to type, the job, and its dead visit."""


@pytest.fixture
async def home(tmp_path: Path) -> Home:
    """A completed job of two domains, of which one was given up."""
    database = await ready_database(f"sqlite:///{tmp_path}/home/gossamer.db", SystemClock())
    try:
        job = await database.write(make_job, "a.test", "b.test")
        dead: UUID | None = None
        for _ in range(3):
            held = {visit.host: visit for visit in await database.write(claim_all)}
            dead = held["a.test"].id
            await database.write(reclaim.take_back, {dead: held["a.test"].lease}, WHY)
            await database.write(reclaim.void_home, "home")
        await database.write(jobs.move, job.id, JobState.PAUSING, "enough for today", "user")
        await database.write(jobs.move, job.id, JobState.PAUSED)
    finally:
        await database.close()
    return Terminal(tmp_path / "home"), job.id.hex[-8:], str(dead)


async def test_the_history_is_told_oldest_first(home: Home) -> None:
    terminal, job, _ = home
    said = terminal.type("job", "history", job).stdout.splitlines()
    times, kinds = [line[:23] for line in said], [line.split()[2] for line in said]
    assert times == sorted(times)
    assert kinds[:2] == ["job.created", "job.running"]
    assert kinds[-2:] == ["job.pausing", "job.paused"]
    assert said[-2].endswith("enough for today (user)")
    assert any(line.split()[2:4] == ["visit.dead", "a.test"] and line.endswith(f"{WHY} (home/0-1)") for line in said)
    assert len(said) == 17  # nothing is hidden: no line about it


async def test_the_history_of_one_domain_and_the_last_of_many(home: Home) -> None:
    terminal, job, visit = home
    of_one = terminal.ask("job", "history", job, "--site", "www.A.test")
    assert {event["domain"] for event in of_one} == {"a.test"}
    assert [event["kind"] for event in of_one][-2:] == ["visit.dead", "site.failed"]
    assert {event["visit"] for event in of_one} == {visit, None}
    short = terminal.type("job", "history", job, "--limit", "2").stdout.splitlines()
    assert [line.split()[2] for line in short[:-1]] == [
        *("job.created", "job.running"),
        *("site.failed", "visit.ready"),
        *("job.pausing", "job.paused"),
    ]
    assert short[-1].startswith("Of domains and visits, only the last 2 events are shown.")
    refused = terminal.type("job", "history", job, "--site", "c.test", check=False)
    assert (refused.returncode, "'c.test' is not a domain of job" in refused.stderr) == (2, True)


async def test_a_dead_letter_is_listed_shown_and_retried(home: Home) -> None:
    terminal, job, visit = home
    listed = terminal.type("system", "dead-letters", "list").stdout
    assert all(part in listed for part in (visit[-8:], job, "a.test", WHY))
    shown = terminal.type("system", "dead-letters", "show", visit[-8:]).stdout
    for part in (visit, f"({job}), paused", WHY, f"gossamer job history {job} --site a.test", f"retry {visit[-8:]}"):
        assert part in shown
    as_json = terminal.ask("system", "dead-letters", "show", visit)
    assert (as_json["id"], as_json["domain"], as_json["deaths"], as_json["pages"]) == (visit, "a.test", 3, 0)
    retried = terminal.type("system", "dead-letters", "retry", visit[-8:]).stdout
    assert f"Job {job} is running." in retried
    assert f"'gossamer job resume {job}'" in retried
    assert "No dead letters" in terminal.type("system", "dead-letters", "list").stdout
    again = terminal.type("system", "dead-letters", "retry", visit[-8:], check=False)
    assert (again.returncode, "There is no dead letter" in again.stderr) == (2, True)


async def test_a_dead_letter_can_be_dropped(home: Home) -> None:
    terminal, job, visit = home
    assert "a.test stays failed" in terminal.type("system", "dead-letters", "drop", visit[-8:]).stdout
    assert terminal.ask("system", "dead-letters", "list") == []
    assert terminal.ask("job", "history", job, "--site", "a.test")[-1]["kind"] == "visit.dropped"
    wrong = terminal.type("system", "dead-letters", "show", "xyz", check=False)
    assert (wrong.returncode, "is not the id of a dead letter" in wrong.stderr) == (2, True)
