"""Check the machine and the home folder: clock, limits, disk, permissions, log."""

import os
import platform
import resource
import shutil
import stat
import time
from datetime import UTC, datetime
from pathlib import Path

from gossamer import __version__
from gossamer.app import database_url, log_path
from gossamer.cli.doctor import CheckResult, fail, ok, warn
from gossamer.fetch.http import capacity
from gossamer.settings import Settings

_NOT_BEFORE = datetime(2026, 1, 1, tzinfo=UTC)  # before the first version of this program
_MEGABYTE = 1024 * 1024
_PER_PROCESS = 150 * _MEGABYTE  # memory of a working process at full load
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


async def check_version(_: Settings) -> list[CheckResult]:
    system = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return [ok("version", f"gossamer {__version__}, {system}.")]


async def check_clock(_: Settings) -> list[CheckResult]:
    now = datetime.now(UTC)
    if now < _NOT_BEFORE:
        return [fail("clock", f"This machine says it is {now:%Y-%m-%d}.", "Set its clock (timedatectl set-ntp true).")]
    before = time.monotonic()
    time.sleep(0.01)  # noqa: ASYNC251 - nothing else runs meanwhile
    if time.monotonic() <= before:
        return [fail("clock", "This machine's clock stands still.", "Restart the machine, or the container.")]
    return [ok("clock", f"It is {now:%Y-%m-%d %H:%M:%S} UTC.")]


async def check_limits(settings: Settings) -> list[CheckResult]:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = -(-settings.max_concurrency // settings.processes)
    unlimited = files == resource.RLIM_INFINITY
    if not unlimited and (fits := capacity(files)) < wanted:
        said = f"{files:,} open files allow {fits:,} visits at once per process, and {wanted:,} are wanted."
        found = [warn("open files", said, "Raise the limit ('ulimit -Hn'), or lower GOSSAMER_MAX_CONCURRENCY.")]
    else:
        found = [ok("open files", f"{'Any number of' if unlimited else f'{files:,}'} open files are allowed.")]
    return [*found, _cores(settings), *_memory(settings)]


def _cores(settings: Settings) -> CheckResult:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    said = f"{settings.processes:,} working processes on {cores:,} cores"
    if settings.processes > 2 * cores:
        return warn("cores", f"{said} get in each other's way.", f"Set GOSSAMER_PROCESSES to {cores}.")
    return ok("cores", f"{said}.")


def _memory(settings: Settings) -> list[CheckResult]:
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
    """Free memory in bytes, of the container if that has less than the machine; None if unknown."""
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


async def check_browser(_: Settings) -> list[CheckResult]:
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser:
        return [ok("browser", f"{browser} is installed. No job needs it yet.")]
    return [ok("browser", "No browser is installed. No job needs one yet.")]


_COMFORTABLE = 1_000_000_000  # bytes; a large job writes about as much
_GONE_AT_RESTART = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_GONE_WITH_CONTAINER = frozenset({"overlay", "aufs"})
_OVER_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "fuse.glusterfs"})
_MOUNTS = Path("/proc/self/mountinfo")


async def check_home(settings: Settings) -> list[CheckResult]:
    home = settings.home
    if not home.exists():
        nearest = existing(home)
        if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
            return [ok("home", f"{home} is made by the first job."), *check_lasting(home, settings)]
        return [fail("home", f"{home} cannot be made in {nearest}.", "Point GOSSAMER_HOME at a folder of your own.")]
    if not home.is_dir():
        return [fail("home", f"{home} is not a folder.", "Point GOSSAMER_HOME at a folder of your own.")]
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        step = "Change its permissions, or point GOSSAMER_HOME at a folder of your own."
        return [fail("home", f"{home} cannot be written to.", step)]
    return [check_privacy(home), *check_lasting(home, settings)]


def check_privacy(home: Path) -> CheckResult:
    found = home.stat()
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid():
        said = f"{home} belongs to user {found.st_uid}, and this is user {os.geteuid()}."
        return warn("home", said, "Run gossamer as its owner, or files of two users mix there.")
    if mode & 0o077:
        return warn("home", f"Others may look into {home} (mode {mode:o}).", f"chmod 700 {home}")
    return ok("home", f"Only you can read {home}.")


def check_lasting(home: Path, settings: Settings, mounts: Path = _MOUNTS) -> list[CheckResult]:
    """Warn if the folder's file system does not survive a restart; empty where the system does not tell."""
    kind = filesystem_of(existing(home), mounts)
    if kind in _GONE_AT_RESTART:
        said = f"{home} is in memory ({kind}): all jobs are gone when the machine restarts."
        return [warn("home", said, "Point GOSSAMER_HOME at a folder on a disk.")]
    if kind in _GONE_WITH_CONTAINER:
        said = f"{home} is inside a container's own layer ({kind}): all jobs are gone with the container."
        return [warn("home", said, f"Mount a volume at {home}.")]
    if kind in _OVER_NETWORK and database_url(settings).startswith("sqlite:"):
        said = f"{home} is on a network file system ({kind}), where SQLite cannot work safely."
        return [fail("home", said, "Point GOSSAMER_HOME at a local disk, or use Postgres.")]
    return []


def filesystem_of(path: Path, mounts: Path = _MOUNTS) -> str:
    """The type of the file system of a path; empty if the system does not tell."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place = path.resolve()
    best, kind = -1, ""
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = Path(fields[4].replace("\\040", " "))
        # Of several mounts at one point the last one counts.
        if place.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split()[0]
    return kind


async def check_disk(settings: Settings) -> list[CheckResult]:
    place = existing(settings.home)
    free = shutil.disk_usage(place).free
    said = f"{free / 1_000_000:,.0f} MB are free on the disk of {settings.home}"
    if free < settings.min_free_disk:
        least = f"{settings.min_free_disk / 1_000_000:,.0f} MB"
        return [fail("disk", f"{said}: jobs pause below {least}.", "Make room, or move the home to another disk.")]
    if free < _COMFORTABLE:
        return [warn("disk", f"{said}: a large job may fill it.", "Make room before a large job.")]
    return [ok("disk", f"{said}.")]


async def check_log(settings: Settings) -> list[CheckResult]:
    path = log_path(settings)
    place = existing(path)
    usable = place.is_file() if place == path else place.is_dir()
    if usable and os.access(place, os.W_OK):
        return [ok("log", f"The log goes to {path}.")]
    return [fail("log", f"{path} cannot be written.", "Change its permissions, or set GOSSAMER_LOG_FILE.")]


def existing(path: Path) -> Path:
    """The path itself, or its nearest parent folder that exists."""
    return next(one for one in (path, *path.parents) if one.exists())
