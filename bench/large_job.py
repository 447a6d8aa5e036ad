"""A job of fifty thousand visits at work: how long it takes to look at it, to sweep beside it, to pause it."""

import asyncio
import subprocess
import time
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import orjson

from bench.figure import BenchFailed, Figure
from bench.lists import write_lines
from bench.product import ask_rows
from bench.running import GOSSAMER, environment, run
from bench.sample_web import Web, sample_web
from gossamer.clock import SystemClock
from gossamer.crawl.sweep import Sweeper
from gossamer.db.database import SqliteDatabase
from gossamer.store import counters

SITES = 50_000
STATUS, SWEEP, PAUSE = 0.1, 0.2, 5.0  # seconds
_UNDER_WAY = "SELECT sum(pages_done) FROM counters"
_TIMES = 10


def measure(folder: Path, quick: bool) -> list[Figure]:
    sites = 300 if quick else SITES
    with sample_web(folder, sites, largest=6) as web:
        return _measure(folder, web, sites // 50)


def _measure(folder: Path, web: Web, pages: int) -> list[Figure]:
    home = folder / "home"
    env = environment(
        home, GOSSAMER_CONNECT_TO=f"*.test=127.0.0.1:{web.port}", GOSSAMER_DOMAIN_RATE="2", GOSSAMER_LOG_LEVEL="warning"
    )
    listed = write_lines(folder / "listed.txt", list(web.domains))
    command = [*GOSSAMER, "job", "run", "--name", "Bench", "--domains", str(listed), "--keywords", str(web.keywords)]
    with (folder / "out.txt").open("wb") as out:
        runner = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            _until_read(home / "gossamer.db", pages)
            job = orjson.loads(run([*GOSSAMER, "job", "list", "--json"], env, cwd=folder).out)[0]["id"]
            looked, swept = asyncio.run(_beside(home / "gossamer.db", UUID(job)))
            began = time.perf_counter()
            paused = orjson.loads(run([*GOSSAMER, "job", "pause", job, "--json"], env, cwd=folder).out)
            pause = time.perf_counter() - began
            runner.wait(60)
        finally:
            if runner.poll() is None:
                runner.kill()
                runner.wait()
    if paused["state"] != "paused":
        raise BenchFailed(f"the job is {paused['state']}, not paused")
    visits = f"{len(web.domains):,} visits"
    return [
        Figure(
            "status", f"the query of `job status` on a job of {visits} at work, slowest of ten", looked, "s", STATUS
        ),
        Figure("sweep", "one pass of sweep beside it, slowest of ten", swept, "s", SWEEP),
        Figure("pause", "from `job pause` to paused, its start included", pause, "s", PAUSE),
    ]


def _until_read(database: Path, pages: int) -> None:
    until = time.monotonic() + 120
    while ask_rows(database, _UNDER_WAY) < pages:
        if time.monotonic() > until:
            raise BenchFailed("the job did not get under way")
        time.sleep(0.2)


async def _beside(path: Path, job_id: UUID) -> tuple[float, float]:
    """The slowest look and the slowest pass."""
    clock = SystemClock()
    database = SqliteDatabase(path, clock)
    sweeper = Sweeper(database, clock, timedelta(minutes=1))
    looks, passes = [], []
    try:
        for _ in range(_TIMES):
            began = time.perf_counter()
            await database.read(counters.progress, job_id)
            looks.append(time.perf_counter() - began)
            began = time.perf_counter()
            await sweeper.sweep()
            passes.append(time.perf_counter() - began)
            await asyncio.sleep(0.2)
    finally:
        await database.close()
    return max(looks), max(passes)
