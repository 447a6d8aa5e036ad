"""Steering from a second terminal, one runner per home, and what is left when everybody has gone."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.program import Terminal, Web, finish, kill, quick_web

pytestmark = [pytest.mark.story, pytest.mark.xdist_group("steering")]

# As slow as in real life, so that there is time to steer.
SLOW = {"GOSSAMER_DOMAIN_RATE": "1", "GOSSAMER_HTTP_TIMEOUT": "2s"}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    arguments = ("--sites", "12", "--seed", "3", "--nasty", "0", "--size-min", "14", "--size-max", "16")
    with quick_web(tmp_path_factory.mktemp("web"), *arguments) as web:
        yield web


@pytest.fixture
def terminal(web: Web, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path / "home", web, SLOW)


def _hurry(terminal: Terminal) -> Terminal:
    """The same home for somebody who has the sites' permission to be quick."""
    return Terminal(terminal.home, terminal.web, {**SLOW, "GOSSAMER_DOMAIN_RATE": "200"})


def test_pause_and_resume_from_a_second_terminal(terminal: Terminal) -> None:
    first = terminal.begin(*terminal.prospect())
    job = terminal.until_read(3)
    assert "Status: Running" in terminal.type("job", "status", job).stdout
    paused = terminal.type("job", "pause", job).stdout
    assert "Paused at " in paused
    assert "Resume anytime with 'gossamer job resume " in paused
    code, output = finish(first)
    assert code == 3, output
    assert "Paused at " in output
    before = terminal.ask("job", "status", job)
    assert (before["state"], before["shown_state"]) == ("paused", "paused")
    resumed = _hurry(terminal).type("job", "resume", job[-8:])
    assert "Completed: 12 succeeded, 0 failed." in resumed.stdout
    after = terminal.ask("job", "status", job)
    assert after["pages"]["open"] == 0
    assert after["pages"]["done"] > before["pages"]["done"]


def test_ctrl_c_pauses_cleanly(terminal: Terminal) -> None:
    running = terminal.begin(*terminal.prospect())
    job = terminal.until_read(3)
    os.kill(running.pid, signal.SIGINT)
    code, output = finish(running)
    assert code == 3, output
    assert f"gossamer job resume {job[-8:]}" in output
    assert terminal.ask("job", "status", job)["state"] == "paused"


def test_ctrl_c_twice_stops_at_once_and_loses_nothing(terminal: Terminal) -> None:
    running = terminal.begin(*terminal.prospect())
    job = terminal.until_read(3)
    os.kill(running.pid, signal.SIGINT)
    terminal.until(job, lambda status: status["state"] != "running")
    os.kill(running.pid, signal.SIGINT)
    code, output = finish(running)
    assert code == 3, output
    assert terminal.ask("job", "status", job)["state"] == "paused"
    assert "Completed" in _hurry(terminal).type("job", "resume", job).stdout


def test_a_second_job_is_worked_by_the_first_runner_and_carries_on_when_it_ends(terminal: Terminal) -> None:
    first = terminal.begin(*terminal.prospect("--max-pages-per-domain", "3", name="short"))
    terminal.until_read(1)
    second = _hurry(terminal).begin(*terminal.prospect(name="long"))
    code, output = finish(first)
    assert code == 0, output
    code, output = finish(second)
    assert code == 0, output
    assert {job["state"] for job in terminal.ask("job", "list")} == {"completed"}


def test_a_detached_job_survives_its_terminal(terminal: Terminal) -> None:
    said = _hurry(terminal).type(*terminal.prospect("--detach")).stdout
    assert "It runs in the background" in said
    job = terminal.newest()
    status = terminal.until(job, lambda status: status["state"] == "completed", 90)
    assert status["domains"]["succeeded"] == 12


def test_after_a_crash_one_command_resumes_everything(terminal: Terminal) -> None:
    running = terminal.begin(*terminal.prospect(name="one"))
    job = terminal.until_read(3)
    kill(running)
    terminal.until(job, lambda status: status["shown_state"] == "stopped: no worker")
    listed = terminal.type("job", "list").stdout
    assert "stopped: no worker" in listed
    assert "gossamer job resume --all" in listed
    assert "Completed" in _hurry(terminal).type("job", "resume", "--all").stdout


def test_a_job_nobody_works_can_be_paused_and_cancelled(terminal: Terminal) -> None:
    running = terminal.begin(*terminal.prospect())
    job = terminal.until_read(1)
    kill(running)
    terminal.until(job, lambda status: status["shown_state"] == "stopped: no worker")
    assert "Paused at " in terminal.type("job", "pause", job).stdout
    assert "Cancelled at " in terminal.type("job", "cancel", job).stdout
    refused = terminal.type("job", "pause", job, check=False)
    assert refused.returncode == 2
    assert "is cancelled: it cannot be paused." in refused.stderr
    assert "Completed" in _hurry(terminal).type("job", "resume", job).stdout


def test_a_job_can_be_created_first_and_started_later(terminal: Terminal) -> None:
    said = terminal.type(*terminal.prospect("--no-auto-start", "--max-pages-per-domain", "2")).stdout
    job = terminal.newest()
    assert f"gossamer job start {job[-8:]}" in said
    assert terminal.ask("job", "status", job)["state"] == "pending"
    assert "Completed" in _hurry(terminal).type("job", "start", job).stdout
    refused = terminal.type("job", "start", job, check=False)
    assert (refused.returncode, "is completed: it cannot be started." in refused.stderr) == (2, True)
