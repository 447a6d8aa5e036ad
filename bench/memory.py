"""How much memory a job takes: with a thousand sites in flight in one process, and as fifty thousand are done."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.figure import BenchFailed, Figure
from bench.product import Asked, ask_rows, crawl, memory_of
from bench.sample_web import sample_web

IN_FLIGHT, LARGEST = 1_000, 400.0  # sites, MB
MANY_SITES, GROWTH = 50_000, 1.1  # sites, times

_RUNNING = "SELECT count(*) FROM visits WHERE state = 'running'"
_ENDED = "SELECT count(*) FROM sites WHERE state != 'open'"
_POINTS = 20  # of the curve that is told


@dataclass(slots=True)
class _Watch:
    """Looks at a job again and again: memory each time, and every so often at a number in its rows."""

    database: Path
    question: str
    every: float  # seconds
    worker: int = 0  # the largest so far, bytes
    answers: list[int] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)  # MB of all processes when each answer was given
    _next: float = 0.0

    def look(self, runner: int) -> None:
        worker, whole = memory_of(runner)
        self.worker = max(self.worker, worker)
        if worker and time.monotonic() >= self._next:  # before the first and after the last there is nothing to learn
            self._next = time.monotonic() + self.every
            self.answers.append(ask_rows(self.database, self.question))
            self.whole.append(whole / 1e6)


def measure(folder: Path, quick: bool) -> list[Figure]:
    at_once, sites = (30, 2_000) if quick else (IN_FLIGHT, MANY_SITES)
    return [*_crowd(folder / "crowd", at_once), *_growth(folder / "growth", sites, at_once)]


def _crowd(folder: Path, at_once: int) -> list[Figure]:
    """More sites than may be in flight, and a rate at which none is done before all places are taken."""
    folder.mkdir()
    with sample_web(folder, at_once + at_once // 5) as web:
        asked = Asked(folder / "job", web.domains, web.keywords, web.port, pages=10, rate="2", at_once=at_once)
        watch = _Watch(asked.database, _RUNNING, every=0.5)
        done = crawl(asked, watch=watch.look, lost=at_once // 100)
    together = max(watch.answers)
    if together < at_once * 0.95:
        raise BenchFailed(f"only {together} of {at_once} sites were in flight together")
    read = f"{together:,} at once, {len(web.domains):,} in all, {done.pages:,} pages"
    meaning = f"largest memory of one process with {at_once:,} sites in flight"
    return [Figure("in_flight", meaning, watch.worker / 1e6, "MB", LARGEST, note=read)]


def _growth(folder: Path, sites: int, at_once: int) -> list[Figure]:
    """One page of each site: what a site leaves behind is what is looked for, not what its pages cost."""
    folder.mkdir()
    with sample_web(folder, sites, largest=4) as web:
        asked = Asked(folder / "job", web.domains, web.keywords, web.port, pages=1, at_once=at_once)
        watch = _Watch(asked.database, _ENDED, every=max(0.1, sites / 25_000))
        done = crawl(asked, watch=watch.look, lost=sites // 100)
    seen = [(ended / sites, memory) for ended, memory in zip(watch.answers, watch.whole, strict=True)]
    early = [memory for share, memory in seen if 0.2 <= share < 0.4]
    late = [memory for share, memory in seen if share >= 0.8]
    if not early or not late:
        raise BenchFailed("the job was over before anything could be seen")
    curve = tuple(memory for _, memory in seen[:: max(1, len(seen) // _POINTS)])
    told = f"{done.pages:,} pages in {done.wall:.0f} s"
    return [
        Figure("early", "memory of all processes with a fifth of the sites done", median(early), "MB"),
        Figure("late", f"with the last fifth of {sites:,} sites under way", median(late), "MB", note=told, curve=curve),
        Figure("growth", "that against the fifth", median(late) / median(early), "times", GROWTH),
    ]
