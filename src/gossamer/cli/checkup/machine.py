"""The machine: its clock and limits, and what else is installed."""

import os
import platform
import resource
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

from gossamer import __version__
from gossamer.cli.checkup.finding import Finding, fail, ok, warn
from gossamer.fetch.limits import capacity
from gossamer.settings import Settings

_NOT_BEFORE = datetime(2026, 1, 1, tzinfo=UTC)  # older than any copy of this program
_MEGABYTE = 1024 * 1024
_PER_PROCESS = 150 * _MEGABYTE  # what a working process needs with all its visits open
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


async def check_version(_: Settings) -> list[Finding]:
    system = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return [ok("version", f"gossamer {__version__}, {system}.")]


async def check_clock(_: Settings) -> list[Finding]:
    now = datetime.now(UTC)
    if now < _NOT_BEFORE:
        return [fail("clock", f"This machine says it is {now:%Y-%m-%d}.", "Set its clock (timedatectl set-ntp true).")]
    before = time.monotonic()
    time.sleep(0.01)  # noqa: ASYNC251 - nothing else is going on
    if time.monotonic() <= before:
        return [fail("clock", "This machine's clock stands still.", "Restart the machine, or the container.")]
    return [ok("clock", f"It is {now:%Y-%m-%d %H:%M:%S} UTC.")]


async def check_limits(settings: Settings) -> list[Finding]:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = -(-settings.max_concurrency // settings.processes)
    unlimited = files == resource.RLIM_INFINITY
    if not unlimited and (fits := capacity(files)) < wanted:
        said = f"{files:,} open files allow {fits:,} visits at once per process, and {wanted:,} are wanted."
        found = [warn("open files", said, "Raise the limit ('ulimit -Hn'), or lower GOSSAMER_MAX_CONCURRENCY.")]
    else:
        found = [ok("open files", f"{'Any number of' if unlimited else f'{files:,}'} open files are allowed.")]
    return [*found, _cores(settings), *_memory(settings)]


def _cores(settings: Settings) -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    said = f"{settings.processes:,} working processes on {cores:,} cores"
    if settings.processes > 2 * cores:
        return warn("cores", f"{said} get in each other's way.", f"Set GOSSAMER_PROCESSES to {cores}.")
    return ok("cores", f"{said}.")


def _memory(settings: Settings) -> list[Finding]:
    free = available_memory()
    if free is None:
        return []
    said = f"{free / _MEGABYTE:,.0f} MB of memory are free"
    if free < settings.processes * _PER_PROCESS:
        need = f"{settings.processes * _PER_PROCESS / _MEGABYTE:,.0f} MB"
        step = "Close something, or set GOSSAMER_PROCESSES lower."
        return [warn("memory", f"{said}: {settings.processes} processes may need {need}.", step)]
    return [ok("memory", f"{said}.")]


def available_memory(meminfo: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that may still be used: of the machine, or of the container if that is less; None if nobody says."""
    found = []
    try:
        lines = dict(line.partition(":")[::2] for line in meminfo.read_text().splitlines())
        found.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError, IndexError):
        pass
    try:
        most, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        found.append(int(most) - int(used))  # "max": no limit
    except (OSError, ValueError):
        pass
    return max(0, min(found)) if found else None


async def check_browser(_: Settings) -> list[Finding]:
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser:
        return [ok("browser", f"{browser} is installed. No job needs it yet.")]
    return [ok("browser", "No browser is installed. No job needs one yet.")]
