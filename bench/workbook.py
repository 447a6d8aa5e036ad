"""A client's workbook of many matches, beside the barest use of the library that such files are usually written with.

`python -m bench.workbook HOME JOB ours|bare FILE` writes one in a process of its own and says seconds and memory. The
bare one reads the same rows and writes nothing but cells: no prospects, no summary, no links, no formats, no filters.
"""

import asyncio
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from uuid import UUID

import orjson

from bench.figure import Figure
from bench.large_home import fill_home
from bench.running import environment, largest_memory, run
from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.exports.workbook import write_workbook
from gossamer.recipes.base import Looks, TableQuery
from gossamer.recipes.prospect import MATCH
from gossamer.recipes.prospect.tables import RESULTS
from gossamer.store import jobs

ROWS = 100_000
MOST_SECONDS = 12.0
MOST_MEMORY = 150.0


def measure(folder: Path, quick: bool) -> list[Figure]:
    rows, times = (5_000, 1) if quick else (ROWS, 3)
    home = folder / "home"
    home.mkdir()
    job_id = fill_home(home, rows)
    ours, bare = [], []
    for _ in range(times):  # in turns, so that a busy moment of the machine meets both
        ours.append(_taken(home, job_id, "ours", folder / "ours.xlsx"))
        bare.append(_taken(home, job_id, "bare", folder / "bare.xlsx"))
    wall, cpu, memory = (min(one[at] for one in ours) for at in range(3))
    bare_wall, bare_cpu, bare_memory = (min(one[at] for one in bare) for at in range(3))
    size = (folder / "ours.xlsx").stat().st_size / 1e6
    return [
        Figure("wall", f"client's workbook of {rows:,} matches", wall, "s", MOST_SECONDS, note=f"{size:.1f} MB"),
        Figure("cpu", "its CPU time", cpu, "s"),
        Figure("memory", "largest memory of the process", memory, "MB", MOST_MEMORY),
        Figure("bare_wall", "XlsxWriter, constant memory, cells only", bare_wall, "s"),
        Figure("bare_cpu", "its CPU time", bare_cpu, "s"),
        Figure("bare_memory", "its memory", bare_memory, "MB"),
        # Its own start is much of a small run.
        Figure("ratio", "our CPU against it", cpu / bare_cpu, "times", None if quick else 1.0),
    ]


def _taken(home: Path, job_id: UUID, what: str, out: Path) -> tuple[float, float, float]:
    """Wall, CPU, memory."""
    command = [sys.executable, "-m", "bench.workbook", str(home), str(job_id), what, str(out)]
    ran = run(command, environment(home))
    told = orjson.loads(ran.out)
    return told["seconds"], ran.cpu, told["memory"]


def main() -> None:
    home, job_id, what, out = sys.argv[1:]
    path = Path(home) / "gossamer.db"
    began = time.perf_counter()
    if what == "bare":
        _bare(path, UUID(job_id), out)
    else:
        asyncio.run(_ours(path, UUID(job_id), Path(out)))
    memory = largest_memory() / 1e6
    print(orjson.dumps({"seconds": time.perf_counter() - began, "memory": memory}).decode())


async def _ours(path: Path, job_id: UUID, out: Path) -> None:
    database = open_database(f"sqlite:///{path}", SystemClock())
    job = await database.read(jobs.get, job_id)
    assert job
    await write_workbook(out, database, RESULTS, TableQuery(job, MATCH.columns), Looks())
    await database.close()


def _bare(path: Path, job_id: UUID, out: str) -> None:
    from xlsxwriter import Workbook

    names = [column.name for column in MATCH.columns]
    workbook = Workbook(out, {"constant_memory": True, "strings_to_urls": False, "strings_to_formulas": False})
    sheet = workbook.add_worksheet("Matches")
    sheet.write_row(0, 0, names)
    query = "SELECT data FROM records WHERE job_id = ? AND kind = 'match'"
    with closing(sqlite3.connect(path)) as connection:
        for number, (data,) in enumerate(connection.execute(query, (job_id.bytes,)), 1):
            row = orjson.loads(data)
            for at, name in enumerate(names):
                value = row.get(name, 1)
                if isinstance(value, str):
                    sheet.write_string(number, at, value)
                else:
                    sheet.write_number(number, at, value)
    workbook.close()


if __name__ == "__main__":
    main()
