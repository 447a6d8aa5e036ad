"""A large job becomes a file while another one is being crawled: how long it takes, and what the crawl notices of it.

The crawl is a real one at an offered load: so many sites in flight at a request per second and site. It is taken twice,
of different sites and on the same rows, first alone; what is compared are the pages of the same seconds of both.
"""

import asyncio
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from bench.figure import BenchFailed, Figure
from bench.large_home import fill_home
from bench.product import Asked, crawl
from bench.running import GOSSAMER, environment
from bench.sample_web import sample_web
from gossamer.clock import SystemClock
from gossamer.model.states import JobState
from gossamer.store import jobs
from gossamer.store.schema import ready_database

ROWS = 5_000_000  # of 50,000 domains
LONGEST, LARGEST = 300.0, 300.0  # seconds, MB
SLOWDOWN = 1.1
SITES, IN_FLIGHT = 750, 126  # of each crawl; a hundred pages a second: some sites want to be asked less often
WARM = 5.0  # seconds a crawl has to come up to its speed

_FILE = "SELECT created_at, finished_at, rows_done, size FROM exports WHERE job_id = ? AND state = 'done'"
_NEWEST = "SELECT id, started_at FROM jobs ORDER BY id DESC LIMIT 1"
_PAGES = "SELECT settled_at FROM pages WHERE job_id = ? AND state = 'done' ORDER BY settled_at"


@dataclass(slots=True)
class _Asking:
    """Asks for the file once the crawl has come up to speed, and looks how large the process grows that makes it."""

    command: list[str]
    env: dict[str, str]
    after: float  # seconds
    largest: int = 0  # bytes
    began: float = field(default_factory=time.monotonic)
    asked: subprocess.CompletedProcess[bytes] | None = None

    def look(self, runner: int) -> None:
        if self.asked is None and time.monotonic() - self.began > self.after:
            self.asked = subprocess.run(self.command, env=self.env, capture_output=True, check=False)
        with suppress(OSError):
            told = Path(f"/proc/{runner}/status").read_text().splitlines()
            self.largest = max(int(line.split()[1]) * 1024 for line in told if line.startswith("VmHWM:"))


def measure(folder: Path, quick: bool) -> list[Figure]:
    rows, sites, at_once, pages = (10_000, 30, 30, 4) if quick else (ROWS, SITES, IN_FLIGHT, 30)
    rate, warm = ("10", 0.5) if quick else ("1", WARM)
    home = folder / "job" / "home"
    home.mkdir(parents=True)
    began = time.monotonic()
    job_id = fill_home(home, rows)
    asyncio.run(_complete(home, job_id))
    filled = time.monotonic() - began
    with sample_web(folder, 2 * sites) as web:
        first, second = web.domains[:sites], web.domains[sites:]
        asked = Asked(folder / "job", first, web.keywords, web.port, pages=pages, rate=rate, at_once=at_once)
        alone = _crawled(asked)
        command = [*GOSSAMER, "job", "export", str(job_id), "--format", "csv"]
        asking = _Asking(command, environment(home), warm)
        beside = _crawled(replace(asked, domains=second), asking.look)
    made = _file_of(asked.database, job_id, asking)
    start, end = made.began - beside.began, made.ended - beside.began
    # A small file is made between two pages.
    ours, usual = (max(1, one.between(start, end)) for one in (beside, alone))
    if not quick and end > min(alone.steady, beside.steady):
        raise BenchFailed(f"the crawl was coming to its end after {min(alone.steady, beside.steady):.0f} s")
    taken = end - start
    load = f"beside {ours / taken:.0f} pages a second; {made.bytes / 1e6:,.0f} MB, rows filled in {filled:.0f} s"
    return [
        Figure("wall", f"{made.rows:,} matches as CSV beside a crawl", taken, "s", LONGEST, note=load),
        Figure("memory", "largest memory of the runner, which makes it", asking.largest / 1e6, "MB", LARGEST),
        Figure("alone", "pages a second of such a crawl alone", usual / taken, ""),
        # A few seconds hold too few pages to say anything.
        Figure("slowdown", "that against beside the export", usual / ours, "times", None if quick else SLOWDOWN),
    ]


@dataclass(frozen=True, slots=True)
class _Crawl:
    """When its pages were settled, in seconds from its start."""

    began: float
    pages: tuple[float, ...]

    def between(self, start: float, end: float) -> int:
        return sum(start <= at < end for at in self.pages)

    @property
    def steady(self) -> float:
        """How long all places were taken: the last sites are few."""
        return self.pages[len(self.pages) * 85 // 100]


def _crawled(asked: Asked, watch: Callable[[int], None] | None = None) -> _Crawl:
    crawl(asked, watch=watch, lost=len(asked.domains) // 100)
    with closing(sqlite3.connect(asked.database)) as rows:
        job_id, began = rows.execute(_NEWEST).fetchone()
        return _Crawl(began / 1000, tuple((at - began) / 1000 for (at,) in rows.execute(_PAGES, (job_id,))))


@dataclass(frozen=True, slots=True)
class _Made:
    began: float
    ended: float
    rows: int
    bytes: int


def _file_of(database: Path, job_id: UUID, asking: _Asking) -> _Made:
    with closing(sqlite3.connect(database)) as rows:
        found = rows.execute(_FILE, (job_id.bytes,)).fetchone()
    if found is None:
        said = asking.asked.stderr.decode().strip() if asking.asked else "nobody asked for it"
        raise BenchFailed(f"there is no file when the crawl is over: {said}")
    began, ended, count, size = found
    return _Made(began / 1000, ended / 1000, count, size)


async def _complete(home: Path, job_id: UUID) -> None:
    """Over, so that nobody crawls its sites."""
    database = await ready_database(f"sqlite:///{home}/gossamer.db", SystemClock())
    try:
        await database.write(jobs.move, job_id, JobState.COMPLETED)
    finally:
        await database.close()
