"""Running a program and learning what it cost: wall time, and the CPU of it and of all it waited for."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from bench.figure import BenchFailed

ROOT = Path(__file__).resolve().parent.parent
GOSSAMER = (sys.executable, "-m", "gossamer")

_GLANCE = 0.2  # seconds between looks at a program that is watched: looking takes CPU from what is measured


class Overtime(Exception):
    """A benchmark took longer than it may."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that has ended. `cpu` is user and system time, its children's included if it waited for them."""

    wall: float
    cpu: float
    out: bytes
    err: bytes


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises Overtime inside when the time is over, wherever the main thread is then."""

    def ring(_: int, __: FrameType | None) -> None:
        raise Overtime(f"not done after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def keep_bytecode(folder: Path) -> None:
    """Programs started from here find their modules compiled, as on any machine where they were installed.

    Whether this machine keeps bytecode, and from which run, would otherwise decide every figure that has a start in it.
    """
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a home of our own: nothing of what the person at the keyboard has set for gossamer."""
    others = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_") and name not in others
    }
    return {**kept, "GOSSAMER_HOME": str(home), "GOSSAMER_REMOTE": "local", **more}


def run(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    cwd: Path = ROOT,
    watch: Callable[[int], None] | None = None,
) -> Ran:
    """Run to the end; BenchFailed if that end is bad. `watch` is called with the process id again and again."""
    # Files instead of pipes: nobody has to read while the clock runs.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        process = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            cpu = _wait(process, watch)
            wall = time.perf_counter() - began
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()
        out.seek(0)
        err.seek(0)
        ran = Ran(wall, cpu, out.read(), err.read())
    if process.returncode:
        last = ran.err.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise BenchFailed(f"{' '.join(command[1:4])} ended with {process.returncode}: {last[0]}")
    return ran


def _wait(process: "subprocess.Popen[bytes]", watch: Callable[[int], None] | None) -> float:
    """Seconds of CPU, from the system's account of the ended process, which Popen does not keep."""
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG if watch else 0)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        if watch:
            watch(process.pid)
        time.sleep(_GLANCE)


def fastest(runs: Sequence[Ran]) -> Ran:
    """The run the machine disturbed least: least wall time and least CPU, be they of two runs."""
    return Ran(min(one.wall for one in runs), min(one.cpu for one in runs), runs[-1].out, runs[-1].err)


def largest_memory() -> int:
    """Bytes, of this program alone: what the system counts for a process begins with its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
