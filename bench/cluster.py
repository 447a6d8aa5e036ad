"""Workers of a cluster on Postgres and Redis: does adding processes add speed, and what does a page cost there.

The spacing of requests to a domain stands for the latency of real sites, so that waiting and not this machine's cores
is the limit where speed is compared.
"""

import asyncio
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg
import orjson
import psutil

from bench.figure import BenchFailed, Figure
from bench.lists import write_lines
from bench.product import FULL_RATE, Asked, crawl, warm_up
from bench.running import GOSSAMER, environment, run
from bench.sample_web import Web, sample_web
from tests.servers import postgres, redis

SLOTS = 20  # per process
SITES_PER_SLOT = 6
RATE = "2"  # requests per second and domain
PAGES = 6
LINEAR = 0.9
DEARER = 1.3  # than the same page in one home
BESIDE = 2.0  # times as long as alone


@dataclass(frozen=True, slots=True)
class Servers:
    """A database server and a Redis, and settings that point there."""

    database: str
    redis: str
    folder: Path
    web: Web

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


class Cluster:
    """One instance with so many processes on a database of its own."""

    def __init__(self, servers: Servers, name: str, processes: int, slots: int, rate: str) -> None:
        self.name = name
        self.env = servers.environment(name, rate)
        self._servers = servers
        asyncio.run(_execute(servers.database, f"CREATE DATABASE {name}"))
        run([*GOSSAMER, "db", "upgrade"], self.env)
        lanes = ("--lanes", f"http:{slots * processes},desk:1", "--processes", str(processes))
        log = (servers.folder / f"{name}.log").open("wb")
        self._process = subprocess.Popen([*GOSSAMER, "worker", *lanes], env=self.env, stdout=log, stderr=log)
        log.close()
        until = time.monotonic() + 60
        while self.ask("SELECT count(*) FROM workers") < processes:
            if time.monotonic() > until or self._process.poll() is not None:
                raise BenchFailed(f"the workers did not start: see {name}.log")
            time.sleep(0.1)

    def ask(self, question: str) -> float:
        return asyncio.run(_ask(self.env["GOSSAMER_DATABASE_URL"], question))

    def begin(self, domains: Sequence[str], name: str = "Bench") -> "subprocess.Popen[bytes]":
        listed = write_lines(self._servers.folder / f"{self.name}-{name}.txt", list(domains))
        pages = ("--max-pages-per-domain", str(PAGES), "--top-pages", str(PAGES))
        lists = ("--domains", str(listed), "--keywords", str(self._servers.web.keywords))
        command = [*GOSSAMER, "job", "run", "--json", "--name", name, *lists, *pages]
        return subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def cpu(self) -> float:
        """Seconds that the instance and its processes have used so far."""
        instance = psutil.Process(self._process.pid)
        used = [process.cpu_times() for process in (instance, *instance.children())]
        return sum(times.user + times.system for times in used)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)


def finish(job: "subprocess.Popen[bytes]") -> int:
    """The pages a job has read."""
    told = orjson.loads(job.communicate()[0])
    if told["state"] != "completed":
        raise BenchFailed(f"the job is {told['state']}")
    return int(told["pages"]["done"])


async def _ask(url: str, question: str) -> float:
    connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    try:
        return float(await connection.fetchval(question) or 0)
    finally:
        await connection.close()


async def _execute(url: str, sql: str) -> None:
    connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


def measure(folder: Path, quick: bool) -> list[Figure]:
    most = 2 if quick else 4
    per_slot = 1 if quick else SITES_PER_SLOT
    with serving(folder, sites=most * SLOTS * per_slot) as servers:
        speeds = [_speed(servers, count, per_slot) for count in ((1, 2) if quick else (1, 2, 4))]
        home, cluster = _cpu(servers, 40 if quick else 480)
        alone, beside = _beside(servers, 5 if quick else 50)
    linear = speeds[-1] / speeds[0] / most
    waits = f"{SLOTS} sites at a time per process, {RATE} requests per second and domain"
    return [
        Figure(
            "linear", f"speed of {most} processes to {most} times that of one", linear, "x", least=LINEAR, note=waits
        ),
        Figure("speed", f"pages per second of {most} processes", speeds[-1], "pages/s", curve=tuple(speeds)),
        Figure("cpu_home", "CPU per page in one home, not counting its start", home, "ms"),
        Figure("cpu", "CPU per page in a cluster, the same way", cluster, "ms"),
        Figure("dearer", "a page in a cluster to a page in one home", cluster / home, "x", limit=DEARER),
        Figure("beside", "a small job beside a large one to the same alone", beside / alone, "x", limit=BESIDE),
    ]


@contextmanager
def serving(folder: Path, sites: int) -> Iterator[Servers]:
    with (
        TemporaryDirectory(prefix="gossamer-bench-") as place,
        sample_web(folder, sites, largest=PAGES) as web,
        redis(folder / "redis") as lights,
    ):
        Path(place).chmod(0o755)  # the database server may run as another user
        with postgres(Path(place) / "server") as url:
            yield Servers(url, lights.url, folder, web)


def _speed(servers: Servers, processes: int, per_slot: int) -> float:
    """Pages per second, from the first to the last one."""
    cluster = Cluster(servers, f"speed{processes}", processes, SLOTS, RATE)
    try:
        pages = finish(cluster.begin(servers.web.domains[: processes * SLOTS * per_slot]))
        lasted = "SELECT extract(epoch FROM max(settled_at) - min(settled_at)) FROM pages WHERE settled_at IS NOT NULL"
        return pages / max(cluster.ask(lasted), 0.001)
    finally:
        cluster.stop()


def _cpu(servers: Servers, sites: int) -> tuple[float, float]:
    """Milliseconds per page, as fast as it goes: in one home, and in a cluster of as many processes.

    What starting costs is left out of both: a home starts for every job, a cluster does not.
    """
    web = servers.web
    asked = Asked(servers.folder / "home", web.domains[:sites], web.keywords, web.port, pages=PAGES, processes=2)
    warm_up(asked)
    tiny = crawl(replace(asked, folder=asked.folder / "tiny", domains=asked.domains[:2]))
    whole = crawl(asked)
    home = (whole.cpu - tiny.cpu) / (whole.pages - tiny.pages)
    cluster = Cluster(servers, "cpu", 2, 250, FULL_RATE)
    try:
        finish(cluster.begin(web.domains[:2], "tiny"))
        before = cluster.cpu()
        pages = finish(cluster.begin(web.domains[:sites]))
        return home * 1000, (cluster.cpu() - before) / pages * 1000
    finally:
        cluster.stop()


def _beside(servers: Servers, sites: int) -> tuple[float, float]:
    """Seconds of a small job: alone, and started while a large one has all the slots."""
    cluster = Cluster(servers, "beside", 2, SLOTS, RATE)
    small, large = servers.web.domains[:sites], servers.web.domains[sites:]
    try:
        took = []
        for crowded in (False, True):
            other = cluster.begin(large, "large") if crowded else None
            time.sleep(5 if crowded else 0)
            finish(cluster.begin(small, f"small-{crowded}"))
            took.append(
                cluster.ask("SELECT extract(epoch FROM finished_at - started_at) FROM jobs ORDER BY id DESC LIMIT 1")
            )
            if other:
                other.send_signal(signal.SIGINT)  # the rest of it is of no interest
                other.communicate()
        return took[0], took[1]
    finally:
        cluster.stop()
