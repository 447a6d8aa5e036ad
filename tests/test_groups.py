"""Tests that share something costly run in one process: the marks that say so must be heard."""

import subprocess
import sys
from pathlib import Path

_TESTS = """
import os
import pytest

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(6))
def test_it(number, tmp_path):
    with open(os.environ["SEEN"], "a") as seen:
        seen.write(f"{os.getpid()}\\n")
"""


def test_tests_of_a_group_run_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(_TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadgroup"]
    environment = {"PATH": "/usr/bin:/bin", "SEEN": str(tmp_path / "seen")}
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    processes = (tmp_path / "seen").read_text().split()
    assert (len(processes), len(set(processes))) == (6, 1)
