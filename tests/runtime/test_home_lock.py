"""One runner per home."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from gossamer.app import open_app
from gossamer.clock import SteadyClock, SystemClock
from gossamer.runtime.home_lock import HomeLock, home_name
from gossamer.settings import Settings

_HOLD = """
import sys, pathlib
from gossamer.runtime.home_lock import HomeLock
lock = HomeLock(pathlib.Path(sys.argv[1]))
print(lock.take(), flush=True)
sys.stdin.read()
"""


def _holder(home: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_only_one_process_holds_a_home_and_its_death_frees_it(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    assert lock.holder() is None
    with _holder(tmp_path) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert not lock.take()
        assert lock.holder() == other.pid
        other.kill()
    assert lock.take()
    assert HomeLock(tmp_path).holder() == os.getpid()
    lock.release()
    assert lock.holder() is None


def test_a_child_that_inherits_the_lock_keeps_it_after_its_parent(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    assert lock.take()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock.fileno(),))
    lock.release()
    assert not HomeLock(tmp_path).take()
    child.communicate(b"\n")
    assert HomeLock(tmp_path).take()


def test_a_home_keeps_its_name(tmp_path: Path) -> None:
    name = home_name(tmp_path / "home")
    assert name.startswith("home-")
    assert home_name(tmp_path / "home") == name
    assert home_name(tmp_path / "other") != name
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["name"]


async def test_commands_go_by_the_clock_of_the_runner(tmp_path: Path) -> None:
    ahead = HomeLock(tmp_path)
    ahead.clock = SteadyClock().offset - 3600  # it began before the wall clock was set forward by an hour
    assert ahead.take()
    async with open_app(Settings(home=tmp_path)) as app:
        assert app.clock.offset == ahead.clock
        assert timedelta(minutes=59) < SystemClock().now() - app.clock.now() < timedelta(minutes=61)
    ahead.release()
    async with open_app(Settings(home=tmp_path)) as app:
        assert abs(SystemClock().now() - app.clock.now()) < timedelta(seconds=5)
