"""kill -9 in the middle: after `job resume` the rows are those of a run that nobody disturbed."""

import os
import time
from pathlib import Path

import pytest

from tests.stories.program import Terminal, kill, quick_web

ARGUMENTS = ("--sites", "24", "--seed", "5", "--nasty", "0.2", "--pages-per-site", "18")
SETTINGS = {"GOSSAMER_DOMAIN_RATE": "6", "GOSSAMER_HTTP_TIMEOUT": "2s"}
CAPS = ("--max-pages-per-domain", "18", "--processes", "2")


@pytest.mark.story
@pytest.mark.xdist_group("kill")
def test_nothing_is_missing_and_nothing_is_double_after_kill_9(tmp_path: Path) -> None:
    with quick_web(tmp_path / "calm", *ARGUMENTS) as web:
        calm = Terminal(tmp_path / "calm-home", web, SETTINGS)
        undisturbed = calm.rows(calm.ask(*calm.prospect(*CAPS))["id"])
    with quick_web(tmp_path / "rough", *ARGUMENTS) as web:
        rough = Terminal(tmp_path / "rough-home", web, SETTINGS)
        running = rough.begin(*rough.prospect(*CAPS))
        for enough in (40, 110):
            job = rough.until_read(enough)
            kill(running)
            _workers_are_gone(rough)
            assert rough.ask("job", "list")[0]["shown_state"] == "stopped: no worker"
            running = rough.begin("job", "resume", job, "--processes", "2")
        output, _ = running.communicate(timeout=120)
        assert running.returncode == 0, output
        assert rough.rows(job) == undisturbed
        assert len(undisturbed) > 50
        rough.assert_clean(job)


def _workers_are_gone(terminal: Terminal) -> None:
    """Children end with their runner, or two of them would share a domain without knowing of each other."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if not _processes_with(str(terminal.home)):
            return
        time.sleep(0.05)
    raise AssertionError("a worker has outlived its runner")


def _processes_with(home: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"gossamer.worker" in command and home.encode() in environment:
                found.append(int(entry.name))
    return found
