"""A server beside another one of the same home: one works, the other says that it waits."""

import time
from pathlib import Path

from tests.api.conftest import second_server, server
from tests.stories.program import Terminal


def test_who_works_is_said(tmp_path: Path) -> None:
    home = tmp_path / "home"
    terminal = Terminal(home)
    idle = terminal.type("system", "workers").stdout
    assert idle.startswith("No workers, and nobody works this home.")
    assert "gossamer worker" not in idle, "there is no cluster they could belong to"
    with server(home, "--processes", "1") as first:
        assert "Jobs are worked here." in (home / "said.txt").read_text()
        pid = first.process.pid
        expected = f"No workers: process {pid} works this home with processes of its own.\n"
        end = time.monotonic() + 30
        while (told := terminal.type("system", "workers").stdout) != expected:
            assert time.monotonic() < end, told
        with second_server(first, tmp_path / "second", "--processes", "1", settings={"GOSSAMER_HOME": str(home)}):
            said = (tmp_path / "second" / "said.txt").read_text()
            assert f"Process {pid} works this home's jobs; this one takes over when that ends. Ctrl-C stops." in said
        elsewhere = {"GOSSAMER_DATABASE_URL": f"sqlite:///{home}/gossamer.db"}
        with second_server(first, tmp_path / "third", "--processes", "1", settings=elsewhere):
            said = (tmp_path / "third" / "said.txt").read_text()
            assert "Another home works this database's jobs; this one takes over when that ends." in said
