"""The real program, started as a person would, against the real sample web."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from gossamer_sandbox.web.proof import read_log
from tests import warm

LONGEST = 240.0  # seconds after which a story hangs rather than runs


@dataclass(frozen=True, slots=True)
class Web:
    """A sample web that answers on loopback, and what it wrote down."""

    port: int
    domains: Path
    keywords: Path
    truth: Path
    log: Path
    back: int = 0  # the port where all pages are shown, if some are not at `port`


@contextmanager
def sample_web(folder: Path, *arguments: str) -> Iterator[Web]:
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.txt" for name in ("domains", "keywords", "truth", "log")}
    command = [sys.executable, "-m", "gossamer_sandbox.web", "--port", "0", *arguments]
    for name, path in files.items():
        command += [f"--{name}", str(path)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        ready = re.search(r"port=(\d+)(?: back=(\d+))?", server.stdout.readline())
        assert ready, "the sample web did not start"
        yield Web(int(ready[1]), **files, back=int(ready[2] or 0))
    finally:
        server.terminate()
        server.communicate(timeout=20)


@contextmanager
def quick_web(folder: Path, *arguments: str) -> Iterator[Web]:
    """The same without the sites that ask for a Crawl-delay, in its list and its truth: one of them alone can take half
    a minute."""
    with sample_web(folder, *arguments) as web:
        truth = orjson.loads(web.truth.read_bytes())
        truth["sites"] = [site for site in truth["sites"] if not site["crawl_delay"]]
        web.truth.write_bytes(orjson.dumps(truth))
        web.domains.write_text("".join(f"{site['listed_as']}\n" for site in truth["sites"]), encoding="utf-8")
        yield web


@dataclass(slots=True)
class Terminal:
    """One person's shell: a home, settings, and commands typed into it."""

    home: Path
    web: Web | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GOSSAMER_") and name != "REDIS_URL"
        }
        connect = {"GOSSAMER_CONNECT_TO": f"*.test=127.0.0.1:{self.web.port}"} if self.web else {}
        # One process unless a story is about several: each has to load the program.
        own = {"GOSSAMER_HOME": str(self.home), "GOSSAMER_PROCESSES": "1", "NO_COLOR": "1"}
        return {**kept, **connect, **own, **self.settings}

    def type(self, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        done = warm.run(arguments, self.environment(), LONGEST)
        if check and done.returncode:
            raise AssertionError(f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}{self.log()}")
        return done

    def ask(self, *arguments: str) -> Any:
        """The JSON answer of a command."""
        return orjson.loads(self.type(*arguments, "--json").stdout)

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command and leave it running, in a session of its own as a terminal would."""
        return subprocess.Popen(
            [sys.executable, "-m", "gossamer", *arguments],
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def prospect(self, *more: str, name: str = "story") -> tuple[str, ...]:
        assert self.web
        lists = ("--domains", str(self.web.domains), "--keywords", str(self.web.keywords))
        return ("job", "run", "--name", name, *lists, *more)

    def rows(self, job: str) -> list[dict[str, Any]]:
        """Everything a job found, without the time at which it did."""
        found = self.ask("job", "results", job, "--limit", "10000")
        return [{name: value for name, value in row.items() if name != "timestamp"} for row in found]

    def assert_clean(self, job: str) -> None:
        """The job's rows add up."""
        done = self.type("job", "audit", job, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def newest(self) -> str:
        """The id of the job created last."""
        return str(self.ask("job", "list")[0]["id"])

    def until(self, job: str, condition: Callable[[Any], bool], seconds: float = 90) -> Any:
        """Look at a job's status until it is as wanted."""
        end = time.monotonic() + seconds
        while True:
            status = self.ask("job", "status", job)
            if condition(status):
                return status
            assert time.monotonic() < end, f"still {status}\n{self.log()}"
            time.sleep(0.1)

    def until_read(self, pages: int, seconds: float = 60) -> str:
        """Wait until the newest job has read so many pages, by a quick look into the rows; its id."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self._look("SELECT hex(job_id), SUM(pages_done) FROM counters GROUP BY job_id ORDER BY job_id DESC")
            if found and found[0][1] >= pages:
                return str(UUID(found[0][0]))
            time.sleep(0.02)
        raise AssertionError(f"{pages} pages were not read in time\n{self.log()}")

    def _look(self, query: str) -> list[Any]:
        try:
            with closing(sqlite3.connect(f"file:{self.home}/gossamer.db?mode=ro", uri=True)) as rows:
                return rows.execute(query).fetchall()
        except sqlite3.OperationalError:  # not there yet
            return []

    def log(self) -> str:
        path = self.home / "logs" / "gossamer.log"
        return "\n".join(path.read_text().splitlines()[-40:]) if path.exists() else ""


def finish(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Wait for a running command; its exit code and all it said."""
    output, _ = process.communicate(timeout=LONGEST)
    return process.returncode, output


def kill(process: "subprocess.Popen[str]") -> None:
    """As a power cut would for this process: no chance to say goodbye."""
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)


def until(happened: Callable[[], object], seconds: float = 90) -> None:
    """Wait until it has."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def moments_of(log: Path, after: float, before: float) -> dict[str, list[float]]:
    """When each domain was asked for anything between two moments."""
    found: dict[str, list[float]] = {}
    for request in read_log(log):
        if after < request.t < before:
            found.setdefault(request.domain, []).append(request.t)
    return {domain: sorted(moments) for domain, moments in found.items()}
