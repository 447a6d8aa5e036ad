"""What a page costs: whole jobs on the sample web at full rate, beside a bare loop over the same pages."""

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import orjson
import psutil

from bench.figure import BenchFailed, Figure
from bench.running import GOSSAMER, environment, run
from bench.sample_web import BenchSite, Web, sample_web


@dataclass(frozen=True, slots=True)
class Crawled:
    """A finished job: pages read, the command's wall time, the seconds from its start to its last page, CPU, memory."""

    pages: int
    matches: int
    wall: float
    walking: float
    cpu: float
    web_cpu: float
    peak_rss: int  # bytes, of its largest worker


@dataclass(frozen=True, slots=True)
class Floor:
    pages: int
    matches: int
    cpu: float

    @property
    def per_page(self) -> float:
        return self.cpu / self.pages * 1000


class _Memory:
    """The largest worker seen so far."""

    def __init__(self) -> None:
        self.peak = 0

    def look(self, runner: int) -> None:
        with suppress(psutil.NoSuchProcess):
            for worker in psutil.Process(runner).children():
                self.peak = max(self.peak, worker.memory_info().rss)


def measure(folder: Path, quick: bool) -> list[Figure]:
    some, many = (20, 40) if quick else (200, 500)
    with sample_web(folder, many) as web:
        _crawl(web, folder / "first", web.sites[:1], 1, pages=1)  # compiles what nothing else has compiled yet
        floor = _bare_loop(web, folder, web.sites[:some])
        figures = [
            Figure("floor", "a bare loop of the same libraries, CPU per page", floor.per_page, "ms"),
            Figure("floor_pages", "pages it read", floor.pages, "", note=f"{floor.matches:,} matches"),
        ]
        for processes in (1, 2):
            started = _crawl(web, folder / f"one-{processes}", web.sites[:1], processes, pages=1)
            done = _crawl(web, folder / f"some-{processes}", web.sites[:some], processes)
            _compare(floor, done)
            figures += _figures(f"{processes}", f"{some} sites, {processes} working", started, done, floor)
        crowd = _crawl(web, folder / "many", web.sites, 1)
    meaning = f"largest memory of a worker with {many} sites in flight"
    return [*figures, Figure("rss_many", meaning, crowd.peak_rss / 1e6, "MB", note=f"{crowd.pages:,} pages")]


def _figures(name: str, label: str, started: Crawled, done: Crawled, floor: Floor) -> list[Figure]:
    # Starting costs the same for three pages and for three million: told by itself, and left out of the comparison.
    each = (done.cpu - started.cpu) / (done.pages - started.pages) * 1000
    read = f"{done.pages:,} pages, {done.matches:,} matches"
    return [
        Figure(f"speed_{name}", f"{label}: pages per second", done.pages / done.walking, "", note=read),
        Figure(f"wall_{name}", "the whole command", done.wall, "s"),
        Figure(f"cpu_{name}", "CPU per page, all processes, starting included", done.cpu / done.pages * 1000, "ms"),
        Figure(f"start_cpu_{name}", "CPU of a job of one page", started.cpu, "s"),
        Figure(f"page_cpu_{name}", "CPU per page beyond that", each, "ms"),
        Figure(f"ratio_{name}", "that against the floor", each / floor.per_page, "times"),
        Figure(f"web_cpu_{name}", "CPU per page of the sample web itself", done.web_cpu / done.pages * 1000, "ms"),
        Figure(f"rss_{name}", "largest memory of a worker", done.peak_rss / 1e6, "MB"),
    ]


def _bare_loop(web: Web, folder: Path, sites: Sequence[BenchSite]) -> Floor:
    task = folder / "floor.json"
    words = web.keywords.read_text(encoding="utf-8").splitlines()
    task.write_bytes(orjson.dumps({"sites": [site.pages for site in sites], "port": web.port, "keywords": words}))
    answer = orjson.loads(run([sys.executable, "-m", "bench.floor", str(task)]).out)
    return Floor(answer["pages"], answer["matches"], answer["cpu"])


def _crawl(web: Web, folder: Path, sites: Sequence[BenchSite], processes: int, *, pages: int = 500) -> Crawled:
    folder.mkdir()
    home = folder / "home"
    domains = web.list_domains(folder / "domains.txt", sites)
    env = environment(home, GOSSAMER_CONNECT_TO=f"*.test=127.0.0.1:{web.port}", GOSSAMER_DOMAIN_RATE="1000")
    asked = ["--name", "Bench", "--domains", str(domains), "--keywords", str(web.keywords), "--json"]
    limits = ["--processes", str(processes), "--max-pages-per-domain", str(pages)]
    memory, web_before = _Memory(), web.cpu()
    ran = run([*GOSSAMER, "job", "run", *asked, *limits], env, cwd=folder, watch=memory.look)
    told = orjson.loads(ran.out)
    if told["domains"]["failed"] or told["domains"]["finished"] != len(sites):
        raise BenchFailed(f"not every one of {len(sites)} sites was read: {told['domains']}")
    return Crawled(
        pages=told["pages"]["done"],
        matches=told["matches"],
        wall=ran.wall,
        walking=_walking_time(home / "gossamer.db"),
        cpu=ran.cpu,
        web_cpu=web.cpu() - web_before,
        peak_rss=memory.peak,
    )


def _walking_time(database: Path) -> float:
    """Seconds from the start of the only job to its last page."""
    with closing(sqlite3.connect(database)) as connection:
        began, ended = connection.execute(
            "SELECT min(started_at), (SELECT max(settled_at) FROM pages) FROM jobs"
        ).fetchone()
    return float(ended - began) / 1000


def _compare(floor: Floor, done: Crawled) -> None:
    """A comparison says something only if both read about the same."""
    if abs(done.pages - floor.pages) > floor.pages * 0.1:
        raise BenchFailed(f"the job read {done.pages} pages, the bare loop {floor.pages}")
