"""A large job becomes a file while another one is being crawled: how long it takes, and what the crawl notices of it.

The crawl is a real one at an offered load: so many sites in flight at a request per second and site. It is taken twice,
of different sites and on the same rows, the second time alone, and paused as soon as enough was seen; what is compared
are the pages of the same seconds of both.
"""

import asyncio
import math
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
from bench.product import Asked, ask_rows, command_of
from bench.running import GOSSAMER, environment, run
from bench.sample_web import sample_web
from gossamer.clock import SystemClock
from gossamer.db.schema import ready_database
from gossamer.model.states import JobState
from gossamer.store import jobs

ROWS = 5_000_000  # of 50,000 domains
LONGEST, LARGEST = 300.0, 300.0  # seconds, MB
SLOWDOWN = 1.1
IN_FLIGHT, LOAD = 126, 95.0  # sites; about a hundred pages a second: some sites want to be asked less often
SITES = 2_500  # of each crawl: more than can be read before the file must be there
WARM = 5.0  # seconds a crawl has to come up to its speed

_GLANCE = 0.2  # seconds between looks
_MADE = "SELECT count(*) FROM exports WHERE state = 'done' AND type = 'results'"
_FILE = "SELECT created_at, finished_at, rows_done, size FROM exports WHERE job_id = ? AND state = 'done'"
_NEWEST = "SELECT id, started_at FROM jobs ORDER BY id DESC LIMIT 1"
_PAGES = "SELECT settled_at FROM pages WHERE job_id = ? AND state = 'done' ORDER BY settled_at"


@dataclass(slots=True)
class _Asking:
    """Asks for the file once the crawl has come up to speed, and looks how large the process grows that makes it."""

    command: list[str]
    database: Path
    after: float  # seconds
    largest: int = 0  # bytes
    began: float = field(default_factory=time.monotonic)
    asked: subprocess.CompletedProcess[bytes] | None = None

    def look(self, runner: int) -> bool:
        """Whether the file is there, or will not be in time."""
        passed = time.monotonic() - self.began
        if self.asked is None and passed > self.after:
            env = environment(self.database.parent)
            self.asked = subprocess.run(self.command, env=env, capture_output=True, check=False)
        with suppress(OSError):
            told = Path(f"/proc/{runner}/status").read_text().splitlines()
            self.largest = max(int(line.split()[1]) * 1024 for line in told if line.startswith("VmHWM:"))
        return ask_rows(self.database, _MADE) > 0 or passed > self.after + LONGEST


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
        asking = _Asking([*GOSSAMER, "job", "export", str(job_id), "--format", "csv"], asked.database, warm)
        beside = _crawled(asked, asking.look)
        made = _file_of(asked.database, job_id, asking)
        start, end = made.began - beside.began, made.ended - beside.began
        alone = _crawled(replace(asked, domains=second), _as_long(asked.database, end + 1))
    # A small file is made between two pages.
    ours, usual = (max(1, one.between(start, end)) for one in (beside, alone))
    if not quick and end > min(alone.ended, beside.ended):
        raise BenchFailed(f"the crawl was over after {min(alone.ended, beside.ended):.0f} s")
    taken = end - start
    load = f"beside {ours / taken:.0f} pages a second; {made.bytes / 1e6:,.0f} MB, rows filled in {filled:.0f} s"
    # A few seconds hold too few pages to say anything.
    least, most = (None, None) if quick else (LOAD, SLOWDOWN)
    return [
        Figure("wall", f"{made.rows:,} matches as CSV beside a crawl", taken, "s", LONGEST, note=load),
        Figure("memory", "largest memory of the runner, which makes it", asking.largest / 1e6, "MB", LARGEST),
        Figure("alone", "pages a second of such a crawl alone", usual / taken, "", least=least),
        Figure("slowdown", "that against beside the export", usual / ours, "times", most),
    ]


@dataclass(frozen=True, slots=True)
class _Crawl:
    """When its pages were settled, in seconds from its start."""

    began: float
    pages: tuple[float, ...]

    def between(self, start: float, end: float) -> int:
        return sum(start <= at < end for at in self.pages)

    @property
    def ended(self) -> float:
        return self.pages[-1]


def _crawled(asked: Asked, enough: Callable[[int], bool]) -> _Crawl:
    """A crawl until enough was seen of it; `enough` is given the process id. Then it is paused."""
    command, env = command_of(asked)
    with (asked.folder / "out.txt").open("wb") as out:
        runner = subprocess.Popen(command, env=env, cwd=asked.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            while runner.poll() is None and not enough(runner.pid):
                time.sleep(_GLANCE)
            job_id, began = _newest(asked.database)
            if runner.poll() is None:
                run([*GOSSAMER, "job", "pause", str(job_id)], env, cwd=asked.folder)
                runner.wait(60)
        finally:
            if runner.poll() is None:
                runner.kill()
                runner.wait()
    with closing(sqlite3.connect(asked.database)) as rows:
        return _Crawl(began, tuple(at / 1000 - began for (at,) in rows.execute(_PAGES, (job_id.bytes,))))


def _as_long(database: Path, seconds: float) -> Callable[[int], bool]:
    """Whether the next job has been at work for so long."""
    former, _ = _newest(database)

    def enough(_: int) -> bool:
        job_id, began = _newest(database)
        return job_id != former and time.time() > began + seconds

    return enough


def _newest(database: Path) -> tuple[UUID, float]:
    """The job of the crawl, and when it began."""
    with closing(sqlite3.connect(database)) as rows:
        job_id, began = rows.execute(_NEWEST).fetchone()
    return UUID(bytes=job_id), (began / 1000 if began else math.inf)


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
        raise BenchFailed(f"there is no file after {LONGEST:.0f} s: {said}")
    began, ended, count, size = found
    return _Made(began / 1000, ended / 1000, count, size)


async def _complete(home: Path, job_id: UUID) -> None:
    """Over, so that nobody crawls its sites."""
    database = await ready_database(f"sqlite:///{home}/gossamer.db", SystemClock())
    try:
        await database.write(jobs.move, job_id, JobState.COMPLETED)
    finally:
        await database.close()
