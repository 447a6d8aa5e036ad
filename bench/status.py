"""How long `job status` takes on a job with a million results: as on an empty home, if counters are kept."""

import asyncio
import time
from pathlib import Path
from uuid import UUID

import orjson

from bench.figure import BenchFailed, Figure
from bench.large_home import fill_home, fill_open_home
from bench.running import GOSSAMER, environment, fastest, run
from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.store import counters

LIMIT = 0.2
OPEN_LIMIT = 2.0  # seconds


def measure(folder: Path, quick: bool) -> list[Figure]:
    rows, times = (20_000, 2) if quick else (1_000_000, 5)
    large, empty = folder / "large", folder / "empty"
    began = time.perf_counter()
    job_id = fill_home(large, rows)
    filled = time.perf_counter() - began
    listing, looking = [*GOSSAMER, "job", "list", "--json"], [*GOSSAMER, "job", "status", str(job_id), "--json"]
    _expect(rows, run(looking, environment(large), cwd=folder).out)
    run(listing, environment(empty), cwd=folder)  # sets the home up
    without, with_rows = [], []
    for _ in range(times):
        without.append(run(listing, environment(empty), cwd=folder))
        with_rows.append(run(looking, environment(large), cwd=folder))
    floor, ours = fastest(without), fastest(with_rows)
    first, best = asyncio.run(_query_times(large / "gossamer.db", job_id))
    at_work = folder / "at-work"
    count = 2_000 if quick else 50_000
    open_id = fill_open_home(at_work, count)
    asking = [*GOSSAMER, "job", "status", str(open_id), "--json"]
    with_open = [run(asking, environment(at_work), cwd=folder) for _ in range(times)]
    _expect_estimate(with_open[0].out)
    size = (large / "gossamer.db").stat().st_size
    return [
        Figure("rows", "records in the database", rows, "", note=f"{size / 1e6:.0f} MB, filled in {filled:.0f} s"),
        Figure("wall", "`job status`", ours.wall, "s"),
        Figure("cpu", "its CPU time", ours.cpu, "s"),
        Figure("floor_wall", "`job list` on an empty home, the floor", floor.wall, "s"),
        Figure("floor_cpu", "its CPU time", floor.cpu, "s"),
        Figure("beyond", "`job status` beyond the floor", ours.wall - floor.wall, "s", LIMIT),
        Figure(
            "open", f"`job status` with {count:,} open domains, all begun", fastest(with_open).wall, "s", OPEN_LIMIT
        ),
        Figure("query_first", "its query, the first time in a process", first * 1000, "ms"),
        Figure("query", "its query, best of five", best * 1000, "ms"),
    ]


def _expect(rows: int, answer: bytes) -> None:
    matches = orjson.loads(answer)["matches"]
    if matches != rows:
        raise BenchFailed(f"job status counts {matches} of {rows} records")


def _expect_estimate(answer: bytes) -> None:
    pages = orjson.loads(answer)["pages"]
    if pages["expected"] <= pages["done"] + pages["open"]:
        raise BenchFailed(f"job status knows nothing of the pages ahead: {pages}")


async def _query_times(path: Path, job_id: UUID) -> tuple[float, float]:
    database = SqliteDatabase(path, SystemClock())
    times = []
    try:
        for _ in range(6):
            began = time.perf_counter()
            await database.read(counters.progress, job_id)
            times.append(time.perf_counter() - began)
    finally:
        await database.close()
    return times[0], min(times[1:])
