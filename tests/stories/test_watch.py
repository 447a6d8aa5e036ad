"""A second terminal that only looks: it never works, it never harms, it always says what is going on."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from tests.stories.program import Terminal, Web, finish, kill, quick_web

pytestmark = [pytest.mark.story, pytest.mark.xdist_group("watch")]

QUICK = {"GOSSAMER_DOMAIN_RATE": "2", "GOSSAMER_HTTP_TIMEOUT": "2s"}
# A job outlasts the start of some commands, also on a machine that is busy.
STEADY = {**QUICK, "GOSSAMER_DOMAIN_RATE": "0.5"}
SLOW = {**QUICK, "GOSSAMER_DOMAIN_RATE": "0.2"}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    arguments = ("--sites", "5", "--seed", "3", "--nasty", "0", "--size-min", "6", "--size-max", "8")
    with quick_web(tmp_path_factory.mktemp("web"), *arguments) as web:
        yield web


def test_it_shows_a_job_to_its_end_and_ends_as_it_does(web: Web, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home", web, STEADY)
    running = terminal.begin(*terminal.prospect())
    job = terminal.until_read(1)
    watching, telling = terminal.begin("job", "watch", job), terminal.begin("job", "watch", job, "--json")
    code, output = finish(watching)
    assert (code, "Completed: 5 succeeded, 0 failed." in output) == (0, True), output
    assert "/5 domains" in output
    code, output = finish(telling)
    lines = [orjson.loads(line) for line in output.splitlines()]
    assert (code, lines[-1]["state"], lines[0]["state"]) == (0, "completed", "running")
    assert len({orjson.dumps([line["pages"], line["domains"], line["state"]]) for line in lines}) == len(lines) > 2
    assert finish(running)[0] == 0


def test_ctrl_c_leaves_and_the_job_goes_on(web: Web, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home", web, SLOW)
    running = terminal.begin(*terminal.prospect())
    job = terminal.until_read(1)
    watching = terminal.begin("job", "watch", job)
    assert watching.stdout is not None
    watching.stdout.readline()
    os.kill(watching.pid, signal.SIGINT)
    code, output = finish(watching)
    assert code == 3, output
    assert f"The job goes on; look again with 'gossamer job watch {job[-8:]}'." in output
    assert terminal.ask("job", "status", job)["shown_state"] == "running"
    watching = terminal.begin("job", "watch", job)
    terminal.type("job", "cancel", job)
    code, output = finish(watching)
    assert (code, "Cancelled at " in output) == (1, True), output
    assert finish(running)[0] == 1


def test_a_job_nobody_works_is_not_taken_up(web: Web, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home", web, SLOW)
    running = terminal.begin(*terminal.prospect())
    job = terminal.until_read(1)
    kill(running)
    terminal.until(job, lambda status: status["shown_state"] == "stopped: no worker")
    watched = terminal.type("job", "watch", job, check=False)
    assert watched.returncode == 3
    assert "Stopped: no worker, at " in watched.stdout
    assert f"'gossamer job resume {job[-8:]}'" in watched.stdout
    assert terminal.ask("job", "status", job)["shown_state"] == "stopped: no worker"


def test_a_job_that_was_not_started_is_said_to_be_so(web: Web, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home", web, SLOW)
    job = terminal.ask(*terminal.prospect("--no-auto-start"))["id"]
    watched = terminal.type("job", "watch", job, check=False)
    assert watched.returncode == 3
    assert f"The job has not been started. Start it with 'gossamer job start {job[-8:]}'." in watched.stdout


def test_a_job_of_another_home_is_watched_through_the_database(
    web: Web, tmp_path: Path, new_postgres: Callable[[], str]
) -> None:
    settings = {**QUICK, "GOSSAMER_DATABASE_URL": new_postgres()}
    one, two = (Terminal(tmp_path / name, web, settings) for name in ("one", "two"))
    running = one.begin(*one.prospect())
    job = two.until(_newest(two), lambda status: status["pages"]["done"] > 0)
    assert job["shown_state"] == "running"  # although nobody works the home that asks
    code, output = finish(two.begin("job", "watch", job["id"]))
    assert (code, "Completed: 5 succeeded, 0 failed." in output) == (0, True), output
    assert finish(running)[0] == 0


def _newest(terminal: Terminal) -> str:
    """The id of a job that another home is about to create."""
    while not (found := terminal.ask("job", "list")):
        time.sleep(0.1)
    return str(found[0]["id"])
