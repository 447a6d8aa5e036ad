"""A command that is forked from the loaded program is the same command."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import warm


def cold(arguments: tuple[str, ...], environment: Mapping[str, str]) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "gossamer", *arguments]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("job", "list"),
        ("job", "status", "ffffffff", "--json"),
        ("system", "alerts", "--json"),
        ("db", "restore", "no-such.db", "--yes"),
        ("explain", "no address"),
        ("job", "no such command"),
        ("job", "run", "--help"),
    ],
)
def test_it_says_what_the_program_says_that_loads_all_by_itself(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    environment = {**os.environ, "GOSSAMER_HOME": str(tmp_path / "home"), "COLUMNS": "77"}
    expected = cold(arguments, environment)
    assert "Traceback" not in expected[2]
    done = warm.run(arguments, environment, 60)
    assert (done.returncode, done.stdout, done.stderr) == expected


def test_each_has_its_own_settings_and_none_of_the_last(tmp_path: Path) -> None:
    for home in ("one", "other"):
        done = warm.run(("db", "upgrade", "--json"), {**os.environ, "GOSSAMER_HOME": str(tmp_path / home)}, 60)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / home / "gossamer.db").exists()
    bad = warm.run(("job", "list"), {**os.environ, "GOSSAMER_DOMAIN_RATE": "often"}, 60)
    assert (bad.returncode, "GOSSAMER_DOMAIN_RATE" in bad.stderr) == (2, True)
    assert warm.run(("job", "list"), os.environ, 60).returncode == 0


def test_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    environment = {**os.environ, "GOSSAMER_HOME": str(tmp_path / "home")}
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run(("job", "list"), environment, 0.001)
    assert warm.run(("job", "list"), environment, 60).returncode == 0


def test_what_is_read_when_a_process_starts_is_read(tmp_path: Path) -> None:
    environment = {**os.environ, "GOSSAMER_HOME": str(tmp_path / "home"), "PYTHONVERBOSE": "1"}
    assert "import 'site'" in warm.run(("--version",), environment, 60).stderr
