"""The sample web in a process of its own: as many sites as a benchmark wants, none of them nasty."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.figure import BenchFailed
from bench.running import environment


@dataclass(frozen=True, slots=True)
class Web:
    """A sample web that answers. `log` is where it writes every request, if it was asked to."""

    port: int
    keywords: Path
    domains: tuple[str, ...]
    log: Path
    truth: Path  # what there is to read, if it was told how much of each site will be


@contextmanager
def sample_web(
    folder: Path, sites: int, *, smallest: int = 4, largest: int = 24, logged: bool = False, chosen: int = 0
) -> Iterator[Web]:
    """Sites of `smallest` to `largest` pages until the end of the block. `chosen` of each will be asked for."""
    domains, keywords, log = folder / "domains.txt", folder / "keywords.txt", folder / "access.log"
    truth = folder / "truth.json"
    cut = ("--pages-per-site", str(chosen), "--top-pages", str(chosen))
    command = [
        *(sys.executable, "-m", "gossamer_sandbox.web", "--sites", str(sites), "--nasty", "0", "--port", "0"),
        *("--size-min", str(smallest), "--size-max", str(largest)),
        *("--domains", str(domains), "--keywords", str(keywords)),
        *(("--log", str(log)) if logged else ()),
        *(("--truth", str(truth), *cut) if chosen else ()),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(folder), cwd=folder, text=True)
    try:
        ready = process.stdout.readline() if process.stdout else ""
        port = re.search(r"port=(\d+)", ready)
        if not port:
            raise BenchFailed("the sample web did not start")
        # It speaks no TLS: without a scheme every site would be tried with it first, in vain.
        listed = (_over_http(domain) for domain in domains.read_text(encoding="utf-8").split())
        yield Web(int(port[1]), keywords, tuple(listed), log, truth)
    finally:
        process.terminate()  # so that the last lines of its log are written
        process.wait()
        if process.stdout:
            process.stdout.close()


def _over_http(domain: str) -> str:
    return domain if "://" in domain else f"http://{domain}"
