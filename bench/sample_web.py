"""The sample web in a process of its own, and what its truth says about where to crawl."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import psutil

from bench.figure import BenchFailed
from bench.lists import write_lines
from bench.running import environment


@dataclass(frozen=True, slots=True)
class BenchSite:
    """A site of the sample web: how people list it, and its pages that answer with something to read."""

    listed: str
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Web:
    """A sample web that answers. `sites` leaves out those that ask to be read slowly: they measure only patience."""

    pid: int
    port: int
    keywords: Path
    sites: tuple[BenchSite, ...]

    def list_domains(self, path: Path, sites: Sequence[BenchSite]) -> Path:
        return write_lines(path, [site.listed for site in sites])

    def cpu(self) -> float:
        """Seconds it has used so far."""
        used = psutil.Process(self.pid).cpu_times()
        return float(used.user + used.system)


@contextmanager
def sample_web(folder: Path, sites: int) -> Iterator[Web]:
    """So many sites, none of them nasty, until the end of the block."""
    truth, keywords = folder / "truth.json", folder / "keywords.txt"
    served = sites + sites // 10 + 5  # a few are too slow to be of use
    command = [
        *(sys.executable, "-m", "gossamer.testing.web", "--sites", str(served), "--nasty", "0", "--port", "0"),
        *("--truth", str(truth), "--keywords", str(keywords)),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(folder), cwd=folder, text=True)
    try:
        ready = process.stdout.readline() if process.stdout else ""
        port = re.search(r"port=(\d+)", ready)
        if not port:
            raise BenchFailed("the sample web did not start")
        yield Web(process.pid, int(port[1]), keywords, _quick_sites(truth)[:sites])
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def _quick_sites(truth: Path) -> tuple[BenchSite, ...]:
    return tuple(
        BenchSite(site["listed_as"], tuple(page["url"] for page in site["pages"] if _is_readable(page)))
        for site in orjson.loads(truth.read_bytes())["sites"]
        if not site["crawl_delay"]
    )


def _is_readable(page: dict[str, object]) -> bool:
    return bool(page["reachable"]) and page["status"] == 200 and not page["reasons"]
