"""Running a whole job of ours: `gossamer job run` in a home of its own, watched from outside."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import psutil

from bench.figure import BenchFailed
from bench.lists import write_lines
from bench.running import GOSSAMER, environment, run

FULL_RATE = "100000"  # requests per second and domain: no spacing to speak of


@dataclass(frozen=True, slots=True)
class Crawled:
    """A finished job: pages read, the command's wall time, the seconds from its start to its last page, CPU."""

    pages: int
    matches: int
    wall: float
    walking: float
    cpu: float

    @property
    def per_page(self) -> float:
        """CPU in milliseconds."""
        return self.cpu / self.pages * 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """A job to run: where, for which domains and keywords, and by which server these are answered."""

    folder: Path
    domains: Sequence[str]
    keywords: Path
    port: int
    pages: int = 2_000  # per domain
    processes: int = 1
    rate: str = FULL_RATE
    at_once: int = 500
    settings: Mapping[str, str] = field(default_factory=dict)  # others than these

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def database(self) -> Path:
        return self.home / "gossamer.db"


def command_of(asked: Asked) -> tuple[list[str], dict[str, str]]:
    """What to type for it, and the environment; its list is written."""
    asked.folder.mkdir(parents=True, exist_ok=True)
    listed = write_lines(asked.folder / "domains.txt", list(asked.domains))
    env = environment(
        asked.home,
        **{
            "GOSSAMER_CONNECT_TO": f"*.test=127.0.0.1:{asked.port}",
            "GOSSAMER_DOMAIN_RATE": asked.rate,
            "GOSSAMER_MAX_CONCURRENCY": str(asked.at_once),
            **asked.settings,
        },
    )
    command = [
        *(*GOSSAMER, "job", "run", "--json", "--name", "Bench"),
        *("--domains", str(listed), "--keywords", str(asked.keywords), "--processes", str(asked.processes)),
        *("--max-pages-per-domain", str(asked.pages), "--top-pages", str(asked.pages)),
    ]
    return command, env


def crawl(asked: Asked, *, watch: Callable[[int], None] | None = None, lost: int = 0) -> Crawled:
    """BenchFailed if more than `lost` domains could not be read. `watch` is called with the process id meanwhile."""
    command, env = command_of(asked)
    ran = run(command, env, cwd=asked.folder, watch=watch)
    told = orjson.loads(ran.out)
    if told["domains"]["failed"] > lost or told["domains"]["finished"] != len(asked.domains):
        raise BenchFailed(f"not every one of {len(asked.domains)} sites was read: {told['domains']}")
    return Crawled(told["pages"]["done"], told["matches"], ran.wall, _walking_time(asked.database), ran.cpu)


def warm_up(asked: Asked) -> None:
    """A job of one page, which compiles what nothing else has compiled yet."""
    crawl(replace(asked, folder=asked.folder / "warm-up", domains=asked.domains[:1], pages=1))


def memory_of(runner: int) -> tuple[int, int]:
    """Bytes of the largest worker, and of all processes of a running job together."""
    with suppress(psutil.NoSuchProcess):
        whole = psutil.Process(runner)
        workers = [worker.memory_info().rss for worker in whole.children()]
        return max(workers, default=0), whole.memory_info().rss + sum(workers)
    return 0, 0


def ask_rows(database: Path, question: str) -> int:
    """One number out of the rows of a job that is being worked; 0 while there is no answer yet."""
    if not database.exists():
        return 0
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as rows:
        return int(rows.execute(question).fetchone()[0] or 0)
    return 0


def _walking_time(database: Path) -> float:
    """Seconds from the start of the only job to its last page."""
    with closing(sqlite3.connect(database)) as connection:
        began, ended = connection.execute(
            "SELECT min(started_at), (SELECT max(settled_at) FROM pages) FROM jobs"
        ).fetchone()
    return float(ended - began) / 1000
