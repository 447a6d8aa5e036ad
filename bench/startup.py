"""How long a person waits before the program says anything, and what it loads for that."""

import re
import sys
from pathlib import Path

from bench.figure import Figure
from bench.running import GOSSAMER, environment, fastest, run

LIMIT = 0.4
UNWANTED = ("celery", "redis", "playwright", "obstore", "boto3")
WATCHED = ("sqlalchemy", "wreq")

_IMPORT = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)$", re.MULTILINE)


def measure(folder: Path, quick: bool) -> list[Figure]:
    env = environment(folder / "home")
    times = 2 if quick else 5
    bare, helped = [], []
    for _ in range(times):  # in turns, so that a busy moment of the machine meets both
        bare.append(run([sys.executable, "-c", "pass"], env))
        helped.append(run([*GOSSAMER, "--help"], env))
    floor, ours = fastest(bare), fastest(helped)
    libraries = _libraries_loaded(env)
    unwanted = [name for name in UNWANTED if name in libraries]
    watched = [name for name in WATCHED if name in libraries]
    total = sum(libraries.values())
    costly = sorted(libraries.items(), key=lambda entry: -entry[1])[:4]
    shares = ", ".join(f"{name} {taken / total:.0%}" for name, taken in costly)
    return [
        Figure("wall", "`gossamer --help`", ours.wall, "s", LIMIT),
        Figure("cpu", "its CPU time", ours.cpu, "s", note=f"imports: {shares}"),
        Figure("floor_wall", "`python -c pass`, the floor", floor.wall, "s"),
        Figure("floor_cpu", "its CPU time", floor.cpu, "s"),
        Figure("ratio", "CPU of `--help` against the floor", ours.cpu / floor.cpu, "times"),
        Figure(
            "unwanted_imports",
            "libraries of the cluster or the browser loaded by `--help`",
            len(unwanted),
            "",
            limit=0,
            note=", ".join(unwanted),
        ),
        Figure(
            "watched_imports", "database and HTTP libraries loaded by it", len(watched), "", note=", ".join(watched)
        ),
    ]


def _libraries_loaded(env: dict[str, str]) -> dict[str, float]:
    """Top-level packages that `--help` imports, with the seconds their own code took to load."""
    told = run([sys.executable, "-X", "importtime", *GOSSAMER[1:], "--help"], env).err.decode()
    taken: dict[str, float] = {}
    for microseconds, module in _IMPORT.findall(told):
        library = module.partition(".")[0]
        taken[library] = taken.get(library, 0.0) + int(microseconds) / 1e6
    return taken
