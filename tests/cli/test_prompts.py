"""Ctrl-C at a question: a sentence, exit code 130, and nothing done."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.stories.program import LONGEST, Terminal

_ON_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


def interrupted(terminal: Terminal, prompt: str, *arguments: str) -> tuple[int, str]:
    """Exit code and all that was shown, of a command on a terminal that is interrupted when it asks."""
    command = [sys.executable, "-c", _ON_A_TERMINAL, sys.executable, "-m", "gossamer", *arguments]
    with subprocess.Popen(
        command, env=terminal.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as running:
        assert running.stdin
        assert running.stdout
        shown = b""
        while prompt.encode() not in shown:
            more = running.stdout.read(1_000)
            assert more, shown.decode()
            shown += more
        running.stdin.write(b"\x03")
        while more := running.stdout.read(1_000):
            shown += more
        return running.wait(LONGEST), shown.decode()


@pytest.mark.parametrize(
    ("prompt", "said", "command"),
    [
        ("Key to http://127.0.0.1:9", "Nothing was changed: you are not logged in.", ("login", "http://127.0.0.1:9")),
        ("Password", "Nothing was changed.", ("account", "add-user", "default", "--email", "ann@shop.example")),
    ],
)
def test_ctrl_c_at_a_question_ends_in_a_sentence(
    tmp_path: Path, prompt: str, said: str, command: tuple[str, ...]
) -> None:
    terminal = Terminal(tmp_path / "home", None, {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    code, shown = interrupted(terminal, prompt, *command)
    assert code == 130, shown
    assert shown.rstrip().endswith(said)
    assert "Traceback" not in shown
