"""A server under load: what a scrape takes beside its fetch, what a look takes, what followers take of its memory."""

import asyncio
import csv
import os
import statistics
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from websockets.asyncio.client import connect

from bench.figure import BenchFailed, Figure
from bench.lists import write_lines
from bench.plain_web import plain_web
from bench.running import ROOT
from bench.server import Api, finished, hosts, serving

LOCUST = ROOT / ".venv-load" / "bin" / "locust"
ADDED, LOOK, SOCKETS_MB = 25.0, 50.0, 100.0
SCRAPES, LOOKS = 50, 200  # requests per second
ROUNDS = 5  # of scrapes: the best counts, since whatever else the machine does only ever adds to it
BESIDE = 10  # pages per second that are fetched directly meanwhile
PAGES, JOBS, SOCKETS = 1_000, 50, 500
_SETTLES = 5.0  # seconds that a server is left alone between two measurements


@dataclass(frozen=True, slots=True)
class Loaded:
    """What locust has seen: milliseconds."""

    requests: int
    failures: int
    per_second: float
    median: float
    p95: float
    p99: float


def measure(folder: Path, quick: bool) -> list[Figure]:
    if not LOCUST.exists():
        raise BenchFailed("there is no locust: 'make load' installs it")
    rounds, seconds, scrapes, looks, sockets = (1, 5, 5, 20, 50) if quick else (ROUNDS, 20, SCRAPES, LOOKS, SOCKETS)
    with plain_web() as web, serving(folder / "server", web) as api:
        pages = hosts(100 if quick else PAGES)
        jobs = _warm_up(api, pages)
        files = {
            "LOAD_URLS": str(write_lines(folder / "pages.txt", pages)),
            "LOAD_JOBS": str(write_lines(folder / "jobs.txt", jobs)),
            "LOAD_WEB": f"http://127.0.0.1:{web}",
        }
        cpu = api.cpu()
        taken = [_load(api, folder, "scrape", scrapes + BESIDE, seconds, files) for _ in range(rounds)]
        scraped, direct = min(((one["scrape"], one["direct"]) for one in taken), key=lambda one: one[0].p95)
        cpu = (api.cpu() - cpu) / max(1, sum(one["scrape"].requests for one in taken)) * 1000
        reading = api.cpu()
        looked = _load(api, folder, "look", looks, seconds, files)["look"]
        reading = (api.cpu() - reading) / max(1, looked.requests) * 1000
        grown, all_of_it = asyncio.run(_follow(api, jobs[0], sockets))
        synced = _sync_times(folder)
    said = f"{scraped.requests:,} at {scraped.per_second:.0f}/s; median {scraped.median:.0f}, p99 {scraped.p99:.0f} ms"
    alone = (
        f"fetched directly beside: median {direct.median:.1f}, p95 {direct.p95:.1f} ms; a write to this disk: {synced}"
    )
    read = f"{looked.requests:,} at {looked.per_second:.0f}/s; median {looked.median:.0f}, p99 {looked.p99:.0f} ms"
    added, all_of_them = _added((scraped, direct)), [_added((one["scrape"], one["direct"])) for one in taken]
    best = f"best of {', '.join(f'{one:.0f}' for one in all_of_them)}"
    return [
        Figure(
            "scrape_added",
            "POST /v1/scrape beside its fetch, p95",
            added,
            "ms",
            ADDED,
            note=f"{best}: {said}; {alone}",
        ),
        Figure("scrape_cpu", "CPU of a scrape, all processes of the server", cpu, "ms"),
        Figure("scrape_failed", "scrapes that failed", sum(one["scrape"].failures for one in taken), "", 0),
        Figure("look", "GET /v1/jobs/{id}, p95", looked.p95, "ms", LOOK, note=read),
        Figure("look_cpu", "CPU of a look, all processes of the server", reading, "ms"),
        Figure("look_failed", "looks that failed", looked.failures, "", 0),
        Figure(
            "sockets",
            f"memory that {sockets} idle WebSockets take",
            grown / 1e6,
            "MB",
            SOCKETS_MB,
            note=f"{all_of_it / 1e6:.0f} MB is the whole process with them",
        ),
    ]


def _added(both: tuple[Loaded, Loaded]) -> float:
    """Milliseconds that nearly every scrape takes at most beside what nearly every fetch does, in the same moments."""
    scraped, direct = both
    return scraped.p95 - direct.p95


def _warm_up(api: Api, pages: list[str]) -> list[str]:
    """Every page once, so that all robots.txt are known; jobs to look at."""
    with api.client() as client:
        accepted = client.post("/v1/batch", json={"urls": pages, "formats": ["text"]}).raise_for_status().json()
        done = finished(client, accepted["id"])
        if done["progress"]["pages"]["done"] != len(pages):
            raise BenchFailed(f"of {len(pages)} pages {done['progress']['pages']['done']} were read")
        waiting = {"recipe": "scrape", "name": "waits", "urls": pages[:1], "start": False}
        jobs = [client.post("/v1/jobs", json=waiting).raise_for_status().json()["id"] for _ in range(JOBS)]
    return [*jobs, accepted["id"]]


def _load(api: Api, folder: Path, kind: str, rate: int, seconds: float, files: dict[str, str]) -> dict[str, Loaded]:
    time.sleep(_SETTLES)
    table = folder / kind
    command = [
        *(str(LOCUST), "-f", str(ROOT / "bench" / "load.py"), "--headless", "--host", api.url),
        *("-u", str(rate), "-r", str(rate), "-t", f"{seconds:.0f}s", "--csv", str(table), "--only-summary"),
        # What is seen while it begins is thrown away.
        *("--reset-stats", "--stop-timeout", "30", "--exit-code-on-error", "0", "--loglevel", "WARNING"),
    ]
    env = {**os.environ, **files, "LOAD_KIND": kind, "LOAD_BESIDE": str(BESIDE), "GOSSAMER_KEY": api.key}
    ran = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    stats = Path(f"{table}_stats.csv")
    if ran.returncode or not stats.exists():
        raise BenchFailed(f"locust ended with {ran.returncode}: {ran.stderr[-500:]}")
    with stats.open(encoding="utf-8") as file:
        found = {row["Name"]: _loaded(row) for row in csv.DictReader(file) if row["Name"] in ("direct", kind)}
    if kind not in found:
        raise BenchFailed(f"nothing was asked: {ran.stderr[-500:]}")
    return found


def _loaded(row: Mapping[str, str]) -> Loaded:
    shares = (float(row[name]) for name in ("Requests/s", "50%", "95%", "99%"))
    return Loaded(int(row["Request Count"]), int(row["Failure Count"]), *shares)


async def _follow(api: Api, job: str, sockets: int) -> tuple[int, int]:
    """Bytes that the process that answers has more with so many followers of a job in which nothing happens."""
    await asyncio.sleep(_SETTLES)
    before = api.memory()
    address = f"{api.url.replace('http', 'ws', 1)}/v1/jobs/{job}/live"
    headers = {"Authorization": f"Bearer {api.key}"}
    followers = [await connect(address, additional_headers=headers, ping_interval=None) for _ in range(sockets)]
    try:
        first = [await follower.recv() for follower in followers]
        await asyncio.sleep(_SETTLES)
        now = api.memory()
    finally:
        await asyncio.gather(*(follower.close() for follower in followers))
    if len(first) != sockets:
        raise BenchFailed("not everybody was told anything")
    return now - before, now


def _sync_times(folder: Path) -> str:
    """How long a small write to the disk takes here: what is accepted is on it before anybody is told."""
    times = []
    with (folder / "synced").open("wb", buffering=0) as file:
        for _ in range(100):
            file.write(b"x" * 4_096)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - began) * 1000)
    return f"median {statistics.median(times):.1f}, p95 {sorted(times)[94]:.1f} ms"
