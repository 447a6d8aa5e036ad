"""Alerts about the system as a whole: slower jobs, failing requests, slow writes, a queue that grows.

All figures come from rows: work per job and minute, and waiting visits. One process of a data folder or a cluster
checks every ten seconds; each alert fires once and is cleared when it no longer holds.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.model.alert import ALERTS, SYSTEM, AlertKind, slow_job_sentence
from gossamer.model.ids import short
from gossamer.model.states import JobState
from gossamer.store import alerts, events, jobs, pace
from gossamer.store.pace import Depths, Pace, RemainingWork

QUEUE_LIMIT = 50_000  # ready visits

_LOOK = 10.0  # seconds between checks of the figures per minute
_SAMPLE = 60.0  # seconds between samples of the queue
_SLOWER = timedelta(minutes=10)
_LEAST_DONE = 10  # domains or pages in the window before: fewer say nothing about the speed
_TAIL = 0.95  # share of a job after which its speed is not checked: the last sites are the slow ones
_FAILING = timedelta(minutes=5)
_MOST_FAILING = 0.2
_LEAST_REQUESTS = 20
_WRITING = timedelta(minutes=2)
_SLOW_WRITE = 5.0  # seconds
_GROWING = timedelta(minutes=10)
_LEAST_GROWTH = 100  # visits


@dataclass(frozen=True, slots=True)
class Sample:
    """The queue at one moment."""

    at: float
    depths: Depths


class AnomalyGuard:
    """The checks, in the one process that does them for a data folder or a cluster."""

    def __init__(self, database: Database, clock: Clock, queue_limit: int = QUEUE_LIMIT) -> None:
        self._database = database
        self._clock = clock
        self._limit = queue_limit
        self._looks_at = clock.monotonic()
        self._samples: deque[Sample] = deque()

    async def look(self) -> None:
        now = self._clock.monotonic()
        if now < self._looks_at:
            return
        self._looks_at = now + _LOOK
        changed = await self._database.read(_changed)
        if changed:
            await self._database.write(_tell, changed)
        if not self._samples or now - self._samples[-1].at >= _SAMPLE:
            await self._sample(now)

    async def _sample(self, now: float) -> None:
        depths = await self._database.read(pace.depths)
        if self._samples and now - self._samples[-1].at > 3 * _SAMPLE:
            self._samples.clear()  # the machine slept or the database was away: earlier samples do not count
        self._samples.append(Sample(now, depths))
        while now - self._samples[0].at >= _GROWING.total_seconds() + _SAMPLE:
            self._samples.popleft()
        first = self._samples[0]
        before = first.depths if now - first.at >= _GROWING.total_seconds() else None
        held, waiting = await self._database.read(_queue_told)
        told = queue_alerts(before, depths, self._limit, is_full=AlertKind.QUEUE_FULL in held)
        holds = {kind for kind, sentence in told.items() if sentence is not None}
        starts = waiting and AlertKind.QUEUE_FULL not in holds
        if starts or holds != held:
            await self._database.write(_tell_of_queue, told)


def queue_alerts(before: Depths | None, now: Depths, limit: int, *, is_full: bool) -> dict[AlertKind, str | None]:
    """Return the alerts about the queue. `before` is its state ten minutes ago, if known."""
    tasks, most = f"{now.ready:,}", f"{limit:,}"
    grown = _grown(before, now) if before else 0
    deep = now.ready > limit
    stuck = deep and (is_full or (before is not None and now.ready >= before.ready))
    minutes = _GROWING // timedelta(minutes=1)
    return {
        AlertKind.QUEUE_GROWTH: (
            ALERTS[AlertKind.QUEUE_GROWTH].format(tasks=tasks) if grown >= _LEAST_GROWTH else None
        ),
        AlertKind.QUEUE_DEPTH: ALERTS[AlertKind.QUEUE_DEPTH].format(limit=most, tasks=tasks) if deep else None,
        AlertKind.QUEUE_FULL: (
            ALERTS[AlertKind.QUEUE_FULL].format(limit=most, tasks=tasks, minutes=minutes) if stuck else None
        ),
    }


def _grown(before: Depths, now: Depths) -> int:
    """Return by how many visits the queue has grown, not counting jobs that were submitted or resumed since."""
    return sum(count - before.open[job] for job, count in now.open.items() if job in before.open)


def slower(found: Pace, rest: RemainingWork) -> tuple[int, int, str] | None:
    """Return a job's work per hour, before and now, if that has dropped by more than half.

    Not in its last 5 %, and not while all remaining sites are being crawled at their own spacing, or
    while as many pages arrive as before: then the domains are larger, not the job slower.
    """
    per_hour = timedelta(hours=1) / _SLOWER
    of_pages = rest.job.extent.in_pages
    before = found.pages_before if of_pages else found.sites_before
    now = found.pages_now if of_pages else found.sites_now
    if before < _LEAST_DONE or rest.finished >= rest.total * _TAIL or not rest.waits or 2 * now >= before:
        return None
    if found.pages_before and 2 * found.pages_now >= found.pages_before:
        return None
    return round(before * per_hour), round(now * per_hour), "pages" if of_pages else "domains"


@dataclass(frozen=True, slots=True)
class Changed:
    """Alerts to raise and to clear; by job and for the system."""

    fires: Mapping[UUID, tuple[int, int, str]]
    clears: tuple[UUID, ...]
    system: Mapping[AlertKind, str | None]


def _changed(tx: Tx) -> Changed | None:
    """Return the alerts that differ from the current ones; None if none do, so that nothing is written."""
    fires, clears = _slow_jobs(tx)
    system = {
        kind: sentence
        for kind, sentence in {AlertKind.ERRORS: _failing(tx), AlertKind.SLOW_WRITES: _slow_writes(tx)}.items()
        if (sentence is not None) != (alerts.held(tx, kind, SYSTEM) is not None)
    }
    return Changed(fires, clears, system) if fires or clears or system else None


def _slow_jobs(tx: Tx) -> tuple[dict[UUID, tuple[int, int, str]], tuple[UUID, ...]]:
    held = {alert.job_id: alert for alert in alerts.held_of_kind(tx, AlertKind.THROUGHPUT) if alert.job_id}
    clears = []
    for job_id, alert in held.items():
        rest = pace.rest(tx, job_id)
        since = pace.pace_since(tx, job_id, alert.fired_at, _SLOWER)
        if rest is None or slower(since, rest) is None:
            clears.append(job_id)
    fires = {}
    for job_id, found in pace.paces(tx, _SLOWER).items():
        if job_id in held or not _may_be_slower(found):
            continue
        rest = pace.rest(tx, job_id)
        dropped = slower(found, rest) if rest else None
        if dropped and not pace.was_interrupted(tx, job_id, pace.full_minute(tx.now) - 2 * _SLOWER):
            fires[job_id] = dropped
    return fires, tuple(clears)


def _may_be_slower(found: Pace) -> bool:
    """Return True if the job needs the full check; most do not."""
    return 2 * found.sites_now < found.sites_before or 2 * found.pages_now < found.pages_before


def _failing(tx: Tx) -> str | None:
    done = pace.done_lately(tx, _FAILING)
    if done.requests < _LEAST_REQUESTS or done.error_rate <= _MOST_FAILING:
        return None
    return ALERTS[AlertKind.ERRORS].format(percent=round(100 * done.error_rate))


def _slow_writes(tx: Tx) -> str | None:
    done = pace.done_lately(tx, _WRITING)
    if done.write_seconds <= _SLOW_WRITE:
        return None
    return ALERTS[AlertKind.SLOW_WRITES].format(seconds=f"{done.write_seconds:.1f}")


def _tell(tx: Tx, changed: Changed) -> None:
    for job_id in changed.clears:
        alerts.clear(tx, AlertKind.THROUGHPUT, str(job_id))
    for job_id, (before, now, things) in changed.fires.items():
        figures = {"job": short(job_id), "before": f"{before:,}", "now": f"{now:,}", "things": things}
        said = ALERTS[AlertKind.THROUGHPUT].format(**figures)
        if alerts.fire(tx, AlertKind.THROUGHPUT, str(job_id), said, job_id=job_id):
            events.add(tx, job_id, "job.slow", slow_job_sentence(short(job_id), before, now, things))
    for kind, sentence in changed.system.items():
        alerts.hold_exactly(tx, kind, SYSTEM, sentence)


_OF_QUEUE = (AlertKind.QUEUE_GROWTH, AlertKind.QUEUE_DEPTH, AlertKind.QUEUE_FULL)


def _queue_told(tx: Tx) -> tuple[set[AlertKind], bool]:
    """Return the alerts about the queue that hold, and whether any job waits for the queue."""
    held = {kind for kind in _OF_QUEUE if alerts.held(tx, kind, SYSTEM)}
    return held, bool(jobs.held_back(tx))


def _tell_of_queue(tx: Tx, told: Mapping[AlertKind, str | None]) -> None:
    """Fire and clear the queue's alerts; start jobs that were held back once the queue is no longer full."""
    for kind, sentence in told.items():
        alerts.hold_exactly(tx, kind, SYSTEM, sentence)
    if told[AlertKind.QUEUE_FULL] is None:
        for job_id in jobs.held_back(tx):
            jobs.move(tx, job_id, JobState.RUNNING, who="queue")
