"""Whatever tests have started ends with them, also if they are ended by a signal."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[1]

# A server in a session of its own; one that does not listen; and one whose parent is gone.
STARTED = """
import subprocess, sys, time
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(300)"
orphan = "import subprocess; print(subprocess.Popen(['sleep', '300'], stdout=subprocess.DEVNULL).pid)"
server = subprocess.Popen(["sleep", "300"], start_new_session=True)
other = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
other.stdout.readline()
"""
ORPHANED = 'left = int(subprocess.run([sys.executable, "-c", orphan], stdout=subprocess.PIPE, check=True).stdout)\n'
TOLD = "print(server.pid, other.pid, {left}, flush=True)\n"


@contextmanager
def begun(command: list[str]) -> Iterator[tuple["subprocess.Popen[str]", list[psutil.Process]]]:
    """A process that stands for pytest, and what it has started."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as tests:
        assert tests.stdout
        started = [psutil.Process(int(pid)) for pid in tests.stdout.readline().split()]
        try:
            yield tests, started
        finally:
            for one in started:
                with suppress(psutil.NoSuchProcess):
                    one.kill()
            tests.kill()


def lives(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def under_the_warden(script: str) -> list[str]:
    return [sys.executable, "-m", "tests.warden", sys.executable, "-c", script]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans cannot be adopted")
def test_nothing_outlives_tests_that_are_ended() -> None:
    with begun(under_the_warden(STARTED + ORPHANED + TOLD.format(left="left") + "time.sleep(300)")) as (tests, started):
        assert [lives(one) for one in started] == [True, True, True]
        tests.terminate()
        assert tests.wait(20) == 128 + signal.SIGTERM
        assert [one.pid for one in started if lives(one)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans cannot be adopted")
def test_nothing_outlives_tests_that_end() -> None:
    with begun(under_the_warden(STARTED + ORPHANED + TOLD.format(left="left") + "input(); sys.exit(5)")) as (
        tests,
        started,
    ):
        assert [lives(one) for one in started] == [True, True, True]
        tests.communicate("\n", timeout=20)
        assert tests.returncode == 5
        assert [one.pid for one in started if lives(one)] == []


def test_without_a_warden_what_was_started_ends_too() -> None:
    script = (
        "from tests.warden import take_along\ntake_along()\n" + STARTED + TOLD.format(left='""') + "time.sleep(300)"
    )
    with begun([sys.executable, "-c", script]) as (tests, started):
        assert [lives(one) for one in started] == [True, True]
        tests.terminate()
        assert tests.wait(20) == -signal.SIGTERM
        assert [one.pid for one in started if lives(one)] == []
