"""Hints name the program as it was called."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.stories.program import Terminal

SCRIPTS = Path(sys.executable).parent


def _called(name: str, terminal: Terminal, *arguments: str) -> str:
    """All that a command of this name prints."""
    done = subprocess.run(
        [SCRIPTS / name, *arguments], env=terminal.environment(), capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.story
@pytest.mark.parametrize("name", ["gossamer", "backlink-prospector"])
def test_every_hint_names_the_program_as_it_was_called(tmp_path: Path, name: str) -> None:
    terminal = Terminal(tmp_path / "home")
    (tmp_path / "domains.txt").write_text("a.test\n")
    (tmp_path / "keywords.txt").write_text("CRM\n")
    lists = ("--domains", str(tmp_path / "domains.txt"), "--keywords", str(tmp_path / "keywords.txt"))
    said = [
        made := _called(name, terminal, "job", "run", "--name", "x", *lists, "--no-auto-start"),
        status := _called(name, terminal, "job", "status", made.partition("short: ")[2][:8]),
        wrong := _called(name, terminal, "job", "status", "nope"),
        _called(name, terminal, "job", "status", "nope", "--json"),
        _called(name, terminal, "job", "nope"),
        shown := _called(name, terminal, "job", "run", "--help"),
        _called(name, terminal, "job", "--help"),
        _called(name, terminal, "system", "alerts"),
        _called(name, terminal, "system", "workers"),
    ]
    assert f"'{name} job start " in made
    assert f"'{name} job start " in status
    assert f"'{name} job list'" in wrong
    assert f"    {name} job run " in shown
    other = ({"gossamer", "backlink-prospector"} - {name}).pop()
    for text in said:
        assert f"{other} job" not in text
        assert f"{other} system" not in text
