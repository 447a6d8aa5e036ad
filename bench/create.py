"""From a list of domains to a job in the database: what `job run` does before the first request."""

from pathlib import Path

import orjson

from bench.figure import BenchFailed, Figure
from bench.lists import domains, keywords, write_lines
from bench.running import GOSSAMER, Ran, environment, fastest, run

# Domains, seconds they may take, how often they are measured.
SIZES = ((10_000, 2.0, 3), (50_000, 8.0, 2))
QUICK = ((1_000, None, 1),)


def measure(folder: Path, quick: bool) -> list[Figure]:
    words = write_lines(folder / "keywords.txt", keywords())
    _create(folder / "first", 1, words)  # compiles what nothing else has compiled yet
    smallest = fastest([_create(folder / f"one-{turn}", 1, words) for turn in range(1 if quick else 3)])
    figures = [
        Figure("one_wall", "a job of one domain in a new home, the floor", smallest.wall, "s"),
        Figure("one_cpu", "its CPU time", smallest.cpu, "s"),
    ]
    for count, limit, times in QUICK if quick else SIZES:
        made = fastest([_create(folder / f"{count}-{turn}", count, words) for turn in range(times)])
        each = (made.cpu - smallest.cpu) / count * 1e6
        figures += [
            Figure(f"wall_{count}", f"creating a job of {count:,} domains", made.wall, "s", limit),
            Figure(f"cpu_{count}", "its CPU time", made.cpu, "s"),
            Figure(f"each_{count}", "CPU per domain beyond the floor", each, "us"),
        ]
    return figures


def _create(folder: Path, count: int, words: Path) -> Ran:
    folder.mkdir()
    listed = write_lines(folder / "domains.txt", domains(count))
    asked = ["--name", "Bench", "--domains", str(listed), "--keywords", str(words), "--no-auto-start", "--json"]
    ran = run([*GOSSAMER, "job", "run", *asked], environment(folder / "home"), cwd=folder)
    created = orjson.loads(ran.out)["domains"]["total"]
    if created != count:
        raise BenchFailed(f"{count} domains became {created} sites")
    return ran
