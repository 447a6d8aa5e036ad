"""An instance of a cluster to measure: servers of its own, workers, jobs for them, and what all of it costs."""

import asyncio
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import asyncpg
import orjson
import psutil

from bench.figure import BenchFailed
from bench.lists import write_lines
from bench.running import GOSSAMER, environment, run
from bench.sample_web import Web, sample_web
from tests.servers import postgres, redis

_STARTS = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Servers:
    """A database server and a Redis, and settings that point there."""

    database: str
    redis: str
    folder: Path
    web: Web
    roots: tuple[psutil.Process, ...]  # the first processes of both

    def environment(self, name: str, rate: str) -> dict[str, str]:
        return environment(
            self.folder / name,
            GOSSAMER_DATABASE_URL=self.database.replace("/postgres", f"/{name}"),
            GOSSAMER_REDIS_URL=self.redis,
            GOSSAMER_REDIS_PREFIX=name,
            GOSSAMER_CONNECT_TO=f"*.test=127.0.0.1:{self.web.port}",
            GOSSAMER_DOMAIN_RATE=rate,
            GOSSAMER_MAX_CONCURRENCY="2000",
        )

    def cpu(self) -> float:
        return sum(cpu_of(root) for root in self.roots)

    def memory(self) -> int:
        return sum(memory_of(root) for root in self.roots)


def cpu_of(root: psutil.Process) -> float:
    """Seconds that a process, its children and those of them that have ended have used so far."""
    times = root.cpu_times()
    used = times.user + times.system + times.children_user + times.children_system
    for child in root.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            mine = child.cpu_times()
            used += mine.user + mine.system
    return float(used)


def memory_of(root: psutil.Process) -> int:
    """Bytes of a process and its children; what they share counts once."""
    used = 0
    for one in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            used += one.memory_full_info().pss
    return used


@contextmanager
def serving(
    folder: Path, sites: int, *, smallest: int = 4, largest: int, logged: bool = False, chosen: int = 0
) -> Iterator[Servers]:
    smallest = min(smallest, largest)
    with (
        TemporaryDirectory(prefix="gossamer-bench-") as place,
        sample_web(folder, sites, smallest=smallest, largest=largest, logged=logged, chosen=chosen) as web,
        redis(folder / "redis") as gates,
    ):
        Path(place).chmod(0o755)  # the database server may run as another user
        with postgres(Path(place) / "server") as url:
            # Redis shows its port in place of the arguments it was started with.
            roots = (_started_with(f":{gates.port}", "redis-server"), _started_with(place, "postgres"))
            yield Servers(url, gates.url, folder, web, roots)


def _started_with(word: str, program: str) -> psutil.Process:
    """The first process of a server that has this among its arguments."""
    for process in sorted(psutil.process_iter(), key=lambda one: one.pid):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            command = process.cmdline()
            if command and program in command[0] and any(word in part for part in command):
                return process
    raise BenchFailed(f"no {program} is to be found")


class Cluster:
    """One instance with so many processes on a database of its own."""

    def __init__(self, servers: Servers, name: str, processes: int, slots: int, rate: str) -> None:
        self.name = name
        self.env = servers.environment(name, rate)
        self._servers = servers
        self._processes = processes
        self._slots = slots
        asyncio.run(_execute(servers.database, f"CREATE DATABASE {name}"))
        run([*GOSSAMER, "db", "upgrade"], self.env)
        self._instance = self.start()
        self.wait_for("SELECT count(*) FROM workers", processes)

    def start(self) -> "subprocess.Popen[bytes]":
        lanes = ("--lanes", f"http:{self._slots * self._processes},desk:1", "--processes", str(self._processes))
        with (self._servers.folder / f"{self.name}.log").open("ab") as log:
            self._instance = subprocess.Popen([*GOSSAMER, "worker", *lanes], env=self.env, stdout=log, stderr=log)
        return self._instance

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def root(self) -> psutil.Process:
        return psutil.Process(self._instance.pid)

    def wait_for(self, question: str, least: float, patience: float = _STARTS) -> float:
        """Until the answer is large enough; how many seconds that took."""
        began = time.monotonic()
        while self.ask(question) < least:
            if time.monotonic() - began > patience or self._instance.poll() is not None:
                raise BenchFailed(f"{question} stayed under {least}: see {self.name}.log")
            time.sleep(0.1)
        return time.monotonic() - began

    def ask(self, question: str) -> float:
        """One number."""
        return float((self.column(question) or [0])[0] or 0)

    def column(self, question: str) -> list[Any]:
        return asyncio.run(_column(self.env["GOSSAMER_DATABASE_URL"], question))

    def begin(self, domains: Sequence[str], pages: int, name: str = "Bench", *more: str) -> "subprocess.Popen[bytes]":
        listed = write_lines(self._servers.folder / f"{self.name}-{name}.txt", list(domains))
        cut = ("--max-pages-per-domain", str(pages), "--top-pages", str(pages))
        lists = ("--domains", str(listed), "--keywords", str(self._servers.web.keywords))
        command = [*GOSSAMER, "job", "run", "--json", "--name", name, *lists, *cut, *more]
        return subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def cpu(self) -> float:
        """Seconds that the instance and its processes have used so far."""
        return cpu_of(self.root)

    def stop(self) -> None:
        self._instance.send_signal(signal.SIGTERM)
        self._instance.wait(60)


def finish(job: "subprocess.Popen[bytes]") -> int:
    """The pages a job has read."""
    return finished(job)[1]


def finished(job: "subprocess.Popen[bytes]") -> tuple[str, int]:
    """Which job it was, and the pages it has read."""
    told = orjson.loads(job.communicate()[0])
    if told["state"] != "completed":
        raise BenchFailed(f"the job is {told['state']}")
    return str(told["id"]), int(told["pages"]["done"])


async def _column(url: str, question: str) -> list[Any]:
    connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    try:
        return [row[0] for row in await connection.fetch(question)]
    finally:
        await connection.close()


async def _execute(url: str, sql: str) -> None:
    connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    try:
        await connection.execute(sql)
    finally:
        await connection.close()
