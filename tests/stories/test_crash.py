"""A worker that dies alone is replaced by its runner, and nobody notices but the log."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from gossamer_sandbox.web.proof import compare
from tests.stories.program import Terminal, finish, sample_web


@pytest.mark.story
def test_a_killed_worker_is_replaced_and_nothing_is_missing(tmp_path: Path) -> None:
    arguments = ("--sites", "20", "--seed", "4", "--nasty", "0", "--size-max", "8", "--pages-per-site", "20")
    with sample_web(tmp_path / "web", *arguments) as web:
        terminal = Terminal(tmp_path / "home", web, {"GOSSAMER_DOMAIN_RATE": "4"})
        running = terminal.begin(*terminal.prospect("--max-pages-per-domain", "20", "--processes", "2"))
        job = terminal.until_read(20)
        workers = [child for child in psutil.Process(running.pid).children() if "gossamer.worker" in child.cmdline()]
        assert len(workers) == 2
        os.kill(workers[0].pid, signal.SIGKILL)
        code, output = finish(running)
        assert code == 0, output
        rows = [(row["url"], row["keyword"], row["frequency"]) for row in terminal.rows(job)]
        assert compare(rows, web.truth).exact
        terminal.assert_clean(job)
        assert "worker.died" in (terminal.home / "logs" / "gossamer.log").read_text()
