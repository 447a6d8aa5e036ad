"""`python -m bench`: runs the benchmarks one after the other and prints one JSON object."""

import argparse
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from bench import (
    batch,
    beside,
    browser_text,
    cluster,
    cluster_job,
    cluster_start,
    crawl,
    create,
    export,
    flaresolverr,
    free_only,
    hostile,
    keywords,
    large_job,
    ledger,
    loading,
    markdown,
    memory,
    pace,
    partitions,
    reading,
    rules,
    settle,
    startup,
    status,
    workbook,
)
from bench.figure import BenchFailed, BenchSkipped, Figure
from bench.machine import load, machine, versions
from bench.running import ROOT, keep_bytecode, time_limit
from bench.table import table_of, write_figures

LATEST = ROOT / "bench" / "out" / "latest.json"
Measure = Callable[[Path, bool], list[Figure]]
BENCHMARKS: Mapping[str, Measure] = {
    "startup": startup.measure,
    "create": create.measure,
    "status": status.measure,
    "settle": settle.measure,
    "large_job": large_job.measure,
    "export": export.measure,
    "beside": beside.measure,
    "crawl": crawl.measure,
    "keywords": keywords.measure,
    "markdown": markdown.measure,
    "reading": reading.measure,
    "memory": memory.measure,
    "pace": pace.measure,
    "workbook": workbook.measure,
    "partitions": partitions.measure,
    "ledger": ledger.measure,
    "flaresolverr": flaresolverr.measure,
    "free_only": free_only.measure,
    "rules": rules.measure,
    "cluster_speed": cluster.speed,
    "cluster_cpu": cluster.cpu,
    "cluster_start": cluster_start.measure,
    "cluster_beside": cluster.beside,
    "cluster_job": cluster_job.measure,
    "hostile": hostile.measure,
    "load_server": loading.measure,
    "load_batch": batch.measure,
    "browser_text": browser_text.measure,
}
# Names of all that begin so. They need Postgres and Redis, Locust or a browser, and are not taken with the others.
APART = ("cluster", "load", "browser")
LONGEST: Mapping[str, float] = {
    "beside": 1_200.0,
    "browser_text": 600.0,
    "cluster_beside": 900.0,
    "cluster_cpu": 600.0,
    "cluster_job": 2_400.0,
    "cluster_speed": 900.0,
    "cluster_start": 300.0,
    "crawl": 2_400.0,
    "export": 1_800.0,
    "flaresolverr": 900.0,
    "free_only": 1_200.0,
    "keywords": 600.0,
    "load_batch": 1_200.0,
    "load_server": 300.0,
    "memory": 900.0,
    "partitions": 900.0,
    "reading": 600.0,
    "settle": 600.0,
    "workbook": 600.0,
}  # seconds
USUALLY = 180.0


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    names = _named(options.names)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    try:
        if options.table or options.write:
            return _show(options.out, into_docs=options.write)
    except (BenchFailed, OSError) as error:
        _say(f"Error: {error}")
        return 1
    # Asked to end, it ends the servers it has started too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with _folder() as folder:
        keep_bytecode(Path(folder) / "bytecode")
        run = _run(Path(folder), names, options.quick)
    print(orjson.dumps(run, option=orjson.OPT_INDENT_2).decode())
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(orjson.dumps(beside_former(run, options.out), option=orjson.OPT_INDENT_2) + b"\n")
    return 0 if all(benchmark["ok"] for benchmark in run["benchmarks"].values()) else 1


def _named(wanted: list[str]) -> list[str]:
    """Those that stand apart may be called by one name, and are taken only if they are."""
    if not wanted:
        return [name for name in BENCHMARKS if not name.startswith(APART)]
    those = {apart: [name for name in BENCHMARKS if name.startswith(apart)] for apart in APART}
    return [each for name in wanted for each in those.get(name, [name])]


def _run(folder: Path, names: list[str], quick: bool) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "quick": quick,
        "machine": machine(),
        "versions": versions(),
        "benchmarks": {name: _taken(name, folder / name, quick) for name in names},
    }


def beside_former(run: dict[str, Any], out: Path) -> dict[str, Any]:
    """With what was taken here before and not again: all together take longer than anybody waits. Each has its date."""
    former = orjson.loads(out.read_bytes()) if out.exists() else {}
    if any(former.get(name) != run[name] for name in ("quick", "machine")):
        return run
    taken = {**former["benchmarks"], **run["benchmarks"]}
    return {**run, "benchmarks": {name: taken[name] for name in BENCHMARKS if name in taken}}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure speed and memory.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help=f"which ones: {', '.join(BENCHMARKS)}; {', '.join(APART)} are all that begin so; all others if none",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that the benchmarks work")
    parser.add_argument("--out", type=Path, default=LATEST, help="the file of the latest figures")
    parser.add_argument("--table", action="store_true", help="print the latest figures as a Markdown table")
    parser.add_argument("--write", action="store_true", help="put that table into docs/reference/figures.md")
    return parser


def _show(latest: Path, *, into_docs: bool) -> int:
    if not latest.exists():
        raise BenchFailed(f"no figures at {latest}: run 'make bench' first")
    run = orjson.loads(latest.read_bytes())
    if into_docs:
        write_figures(ROOT / "docs" / "reference" / "figures.md", run)
    else:
        print(table_of(run))
    return 0


def _taken(name: str, folder: Path, quick: bool) -> dict[str, Any]:
    """One benchmark in a folder of its own; whatever goes wrong with it, the others are taken too."""
    _say(f"{name} ...")
    began, busy = time.perf_counter(), load()
    figures: list[Figure] = []
    error = skipped = ""
    try:
        folder.mkdir()
        with time_limit(LONGEST.get(name, USUALLY)):
            figures = BENCHMARKS[name](folder, quick)
    except BenchSkipped as reason:
        skipped = str(reason)
        _say(f"  skipped: {skipped}")
    except Exception as problem:  # noqa: BLE001 - told below, and it makes the run fail
        traceback.print_exc()
        error = f"{type(problem).__name__}: {problem}"
    for figure in figures:
        missed = "" if figure.ok else "  MISSED"
        _say(f"  {figure.name:<20} {figure.value:>12,.4g} {figure.unit}{missed}")
    taken: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "load": busy,  # when it began
        "ok": not error and all(figure.ok for figure in figures),
        "seconds": round(time.perf_counter() - began, 1),
        "figures": {figure.name: figure.as_json() for figure in figures},
    }
    return taken | ({"error": error} if error else {}) | ({"skipped": skipped} if skipped else {})


def _folder() -> "tempfile.TemporaryDirectory[str]":
    # A worker that is being ended may still write a last line while its home is removed.
    return tempfile.TemporaryDirectory(prefix="gossamer-bench-", ignore_cleanup_errors=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
