"""A server beside another one of the same home: one works, the other says that it waits."""

import time
from pathlib import Path

from tests.api.conftest import second_server, server
from tests.stories.program import Terminal


def test_who_works_is_said(tmp_path: Path) -> None:
    home = tmp_path / "home"
    terminal = Terminal(home)
    idle = terminal.type("system", "workers").stdout
    assert idle.startswith("No workers, and no process of this data folder runs jobs.")
    assert "gossamer worker" not in idle, "there is no cluster they could belong to"
    with server(home, "--processes", "1") as first:
        assert "Jobs run in this process." in (home / "said.txt").read_text()
        pid = first.process.pid
        end = time.monotonic() + 60
        while "1 process, at most http " not in (told := terminal.type("system", "workers").stdout):
            assert time.monotonic() < end, told
            assert told.startswith(("Process ", "No workers"))
        (worker,) = terminal.ask("system", "workers")
        assert worker["lanes"]["http"] > 0
        assert not worker["silent"]
        with second_server(first, tmp_path / "second", "--processes", "1", settings={"GOSSAMER_HOME": str(home)}):
            said = (tmp_path / "second" / "said.txt").read_text()
            assert (
                f"Process {pid} runs the jobs of this data folder; this one takes over when that ends. Ctrl-C stops."
                in said
            )
        elsewhere = {"GOSSAMER_DATABASE_URL": f"sqlite:///{home}/gossamer.db"}
        with second_server(first, tmp_path / "third", "--processes", "1", settings=elsewhere):
            said = (tmp_path / "third" / "said.txt").read_text()
            assert (
                "A process of another data folder runs the jobs of this database; this one takes over when that ends."
                in said
            )
