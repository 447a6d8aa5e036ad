"""Commands that cross each other: whatever the order, the job ends where it should, with the rows it should have."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stories.program import Terminal, Web, finish, quick_web, until

pytestmark = [pytest.mark.story, pytest.mark.xdist_group("corners")]

# As slow as in real life: also on a machine that is busy there is time to steer.
SLOW = {"GOSSAMER_DOMAIN_RATE": "0.5", "GOSSAMER_HTTP_TIMEOUT": "2s"}
CAPS = ("--max-pages-per-domain", "12", "--processes", "2")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    arguments = ("--sites", "10", "--seed", "7", "--nasty", "0", "--size-min", "8", "--size-max", "12")
    with quick_web(tmp_path_factory.mktemp("web"), *arguments) as web:
        yield web


@pytest.fixture(scope="module")
def undisturbed(web: Web, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    calm = Terminal(tmp_path_factory.mktemp("calm") / "home", web, {**SLOW, "GOSSAMER_DOMAIN_RATE": "200"})
    return calm.rows(calm.ask(*calm.prospect(*CAPS))["id"])


@pytest.fixture
def terminal(web: Web, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path / "home", web, SLOW)


def _goes_on(terminal: Terminal, job: str, undisturbed: list[dict[str, Any]], *command: str) -> None:
    """From here to the end, by somebody who may be quick; nothing is missing, nothing double."""
    quick = Terminal(terminal.home, terminal.web, {**SLOW, "GOSSAMER_DOMAIN_RATE": "200"})
    said = quick.type("job", *(command or ("resume",)), job, "--processes", "2").stdout
    assert "Completed: " in said
    assert terminal.rows(job) == undisturbed
    assert len(undisturbed) > 20
    assert terminal.type("job", "audit", job).returncode == 0


def test_a_pause_during_a_pause_waits_for_the_same(terminal: Terminal, undisturbed: list[dict[str, Any]]) -> None:
    running = terminal.begin(*terminal.prospect(*CAPS))
    job = terminal.until_read(5)
    pauses = [terminal.begin("job", "pause", job) for _ in range(2)]
    said = [finish(pause) for pause in pauses]
    for code, output in said:
        assert (code, f"Resume anytime with 'gossamer job resume {job[-8:]}'." in output) == (0, True), output
    assert any("Pausing... " in output and " finishing\n" in output for _, output in said)
    assert finish(running)[0] == 3
    assert terminal.ask("job", "status", job)["state"] == "paused"
    _goes_on(terminal, job, undisturbed)


def test_a_job_resumed_while_it_pauses_goes_on(terminal: Terminal, undisturbed: list[dict[str, Any]]) -> None:
    running = terminal.begin(*terminal.prospect(*CAPS))
    job = terminal.until_read(5)
    pausing = terminal.begin("job", "pause", job)
    terminal.until(job, lambda status: status["state"] != "running")
    resumed = terminal.ask("job", "resume", job, "--detach")
    assert resumed["state"] == "running"
    assert finish(pausing)[0] == 0
    code, output = finish(running)
    # Whoever worked it either never noticed, or saw the pause and left it to the runner in the background.
    assert code in (0, 3), output
    terminal.until(job, lambda status: status["state"] == "completed", 120)
    assert terminal.rows(job) == undisturbed
    assert terminal.type("job", "audit", job).returncode == 0


def test_a_paused_job_can_be_cancelled_and_gone_on_with(terminal: Terminal, undisturbed: list[dict[str, Any]]) -> None:
    running = terminal.begin(*terminal.prospect(*CAPS))
    job = terminal.until_read(5)
    terminal.type("job", "pause", job)
    assert finish(running)[0] == 3
    assert "Results so far are kept." in terminal.type("job", "cancel", job).stdout
    kept = terminal.ask("job", "status", job)
    assert (kept["state"], kept["pages"]["done"] >= 5) == ("cancelled", True)
    _goes_on(terminal, job, undisturbed)


def test_a_job_cancelled_in_flight_gives_the_same_in_the_end(
    terminal: Terminal, undisturbed: list[dict[str, Any]]
) -> None:
    running = terminal.begin(*terminal.prospect(*CAPS))
    job = terminal.until_read(8)
    assert "Cancelled at " in terminal.type("job", "cancel", job).stdout
    code, output = finish(running)
    assert (code, "Cancelled at " in output) == (1, True), output
    _goes_on(terminal, job, undisturbed)


def test_ctrl_c_twice_at_once_loses_nothing(terminal: Terminal, undisturbed: list[dict[str, Any]]) -> None:
    running = terminal.begin(*terminal.prospect(*CAPS))
    job = terminal.until_read(8)
    os.kill(running.pid, signal.SIGINT)
    os.kill(running.pid, signal.SIGINT)
    code, output = finish(running)
    assert code == 3, output
    _goes_on(terminal, job, undisturbed)


def test_ctrl_c_twice_before_anything_was_read_pauses(terminal: Terminal, undisturbed: list[dict[str, Any]]) -> None:
    running = terminal.begin(*terminal.prospect(*CAPS))
    job = terminal.until_read(0)
    until(lambda: "job.taken_up" in terminal.type("job", "history", job, "--json").stdout)
    os.kill(running.pid, signal.SIGINT)
    time.sleep(0.02)  # two of one kind that wait to be delivered would be one
    os.kill(running.pid, signal.SIGINT)
    code, output = finish(running)
    assert (code, "Paused at 0/10 domains" in output) == (3, True), output
    assert terminal.ask("job", "status", job)["state"] == "paused"
    _goes_on(terminal, job, undisturbed)


def test_a_job_that_has_not_begun_cannot_be_paused(terminal: Terminal, undisturbed: list[dict[str, Any]]) -> None:
    job = terminal.ask(*terminal.prospect(*CAPS, "--no-auto-start"))["id"]
    refused = terminal.type("job", "pause", job, check=False)
    assert refused.returncode == 2
    assert (
        f"Job {job[-8:]} is pending: it cannot be paused. Possible now: 'gossamer job start {job[-8:]}'"
        in refused.stderr
    )
    _goes_on(terminal, job, undisturbed, "start")
    refused = terminal.type("job", "resume", job, check=False)
    assert "is completed: it cannot be resumed." in refused.stderr
    assert f"'gossamer job retry-failed {job[-8:]}'" in refused.stderr
