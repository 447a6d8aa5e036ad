"""Which machine and which versions figures belong to: without them a figure says nothing."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.nginx import nginx_version
from bench.peer import peer_versions

_LIBRARIES = ("sqlalchemy", "wreq", "turbohtml", "gossamer")


def machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "cpu": _cpu_model(),
        "memory_gb": round(memory / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


def load() -> float:
    """What else is going on."""
    return round(os.getloadavg()[0], 1)


def versions() -> dict[str, str]:
    ours = {"python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}
    return ours | peer_versions() | nginx_version()


def _cpu_model() -> str:
    told = Path("/proc/cpuinfo")
    if told.exists():
        for line in told.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
