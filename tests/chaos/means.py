"""What some harms need of this machine: a disk that can be filled, a clock that can be moved."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.harms import CLOCK, DISK, set_clock

_DISK_MB = 192  # what a job needs, and the 64 MB below which the program stops by itself
_CLOCK = Path(__file__).with_name("clock.c")


def unavailable(harm: str) -> str:
    """Why a harm cannot be done here; "" if it can."""
    if harm in DISK:
        return _no_small_disk()
    if harm in CLOCK:
        return _no_false_clock()
    return ""


def clock_settings(file: Path) -> Mapping[str, str]:
    """An environment in which the wall clock is ahead by what a file says, and nothing else is changed."""
    library = file.with_suffix(".so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(_CLOCK), "-ldl"], check=True)
    set_clock(file, 0)
    return {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(file)}


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A disk of its own at this folder. What is on it stays there as plain files."""
    folder.mkdir(parents=True)
    _mount(folder)
    try:
        yield
    finally:
        with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            shutil.copytree(folder, aside, dirs_exist_ok=True)
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
            shutil.copytree(aside, folder, dirs_exist_ok=True)


def _mount(folder: Path) -> None:
    size = f"size={_DISK_MB}m,mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", str(folder)], check=True, capture_output=True)


def _no_small_disk() -> str:
    if os.getuid() != 0:
        return "mounting a small disk takes root"
    with tempfile.TemporaryDirectory(prefix="gossamer-chaos-disk-") as folder:
        try:
            _mount(Path(folder))
        except (OSError, subprocess.CalledProcessError) as error:
            told = error.stderr.decode().strip() if isinstance(error, subprocess.CalledProcessError) else str(error)
            return f"mounting a small disk is not permitted: {told}"
        subprocess.run(["umount", folder], check=True)
    return ""


def _no_false_clock() -> str:
    if sys.platform != "linux":
        return "a false clock can be put under a program on Linux only"
    return "" if shutil.which("cc") else "there is no C compiler: run scripts/install-servers"
