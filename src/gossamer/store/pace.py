"""Speed of jobs, from the rows per minute, for statistics and alerts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, or_, select

from gossamer.db.tables import events, jobs, minutes, visits
from gossamer.db.transactions import Tx
from gossamer.model.job import Job
from gossamer.model.states import JobState, VisitState
from gossamer.store import jobs as job_rows
from gossamer.store.counters import progress

_MINUTE = timedelta(minutes=1)
_OPEN = (VisitState.READY, VisitState.ISSUED, VisitState.RUNNING)
# After these events, the speed before and after cannot be compared.
_BREAKS = tuple(f"job.{what}" for what in ("running", "pausing", "paused", "left", "taken_up", "retried"))


@dataclass(frozen=True, slots=True)
class WorkDone:
    """Work finished in a time window, over all jobs."""

    seconds: float = 0.0
    sites: int = 0
    pages: int = 0
    records: int = 0
    requests: int = 0  # for pages
    failed: int = 0  # of those requests
    writes: int = 0  # batches of results
    write_ms: int = 0

    @property
    def error_rate(self) -> float:
        return self.failed / self.requests if self.requests else 0.0

    @property
    def write_seconds(self) -> float:
        """The average duration of a write."""
        return self.write_ms / self.writes / 1000 if self.writes else 0.0

    def per_minute(self, count: int) -> float:
        return count / self.seconds * 60 if self.seconds else 0.0


def full_minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


_SUMS = ("sites", "pages", "records", "requests", "failed", "writes", "write_ms")


def done_lately(tx: Tx, window: timedelta) -> WorkDone:
    """Return the work of the last minutes, including the current, incomplete one."""
    since = full_minute(tx.now) - window + _MINUTE
    sums = [func.coalesce(func.sum(minutes.c[name]), 0).label(name) for name in _SUMS]
    row = tx.run(select(*sums).where(minutes.c.minute >= since)).one()
    return WorkDone((tx.now - since).total_seconds(), **{name: int(getattr(row, name)) for name in _SUMS})


def sites_per_minute(tx: Tx, window: timedelta) -> dict[UUID, float]:
    """Return the speed of each running job over the same window."""
    since = full_minute(tx.now) - window + _MINUTE
    recent = and_(minutes.c.job_id == jobs.c.id, minutes.c.minute >= since)
    query = (
        select(jobs.c.id, jobs.c.started_at, func.coalesce(func.sum(minutes.c.sites), 0).label("sites"))
        .outerjoin(minutes, recent)
        .where(jobs.c.state == JobState.RUNNING)
        .group_by(jobs.c.id, jobs.c.started_at)
        .order_by(jobs.c.id)
    )
    found = {}
    for row in tx.run(query):
        seconds = (tx.now - max(since, row.started_at or since)).total_seconds()
        found[row.id] = int(row.sites) / max(seconds, 1.0) * 60
    return found


@dataclass(frozen=True, slots=True)
class Pace:
    """Work that a job finished in two consecutive time windows."""

    sites_before: int
    sites_now: int
    pages_before: int
    pages_now: int


def _paces(until: datetime, before: datetime, split: datetime) -> Select[tuple[UUID, int, int, int, int]]:
    def total(name: str, which: ColumnElement[bool], label: str) -> ColumnElement[int]:
        return func.coalesce(func.sum(case((which, minutes.c[name]), else_=0)), 0).label(label)

    former, latter = minutes.c.minute < split, minutes.c.minute >= split
    return select(
        minutes.c.job_id,
        total("sites", former, "sites_before"),
        total("sites", latter, "sites_now"),
        total("pages", former, "pages_before"),
        total("pages", latter, "pages_now"),
    ).where(minutes.c.minute >= before, minutes.c.minute < until)


def paces(tx: Tx, window: timedelta) -> dict[UUID, Pace]:
    """Return the paces of jobs that ran during two consecutive windows of full minutes, the second ending now."""
    until = full_minute(tx.now)
    query = _paces(until, until - 2 * window, until - window).join(jobs, jobs.c.id == minutes.c.job_id)
    whole = query.where(jobs.c.state == JobState.RUNNING, jobs.c.started_at <= until - 2 * window)
    return {row.job_id: _pace(row) for row in tx.run(whole.group_by(minutes.c.job_id))}


def pace_since(tx: Tx, job_id: UUID, fired_at: datetime, window: timedelta) -> Pace:
    """Compare the window before an alert with the one that ends now."""
    until, at = full_minute(tx.now), full_minute(fired_at)
    then = _paces(at - window, at - 2 * window, at - window).where(minutes.c.job_id == job_id)
    now = _paces(until, until - window, until - window).where(minutes.c.job_id == job_id)
    before, after = (tx.run(query.group_by(minutes.c.job_id)).first() for query in (then, now))
    return Pace(
        int(before.sites_before) if before else 0,
        int(after.sites_now) if after else 0,
        int(before.pages_before) if before else 0,
        int(after.pages_now) if after else 0,
    )


def _pace(row: object) -> Pace:
    names = ("sites_before", "sites_now", "pages_before", "pages_now")
    return Pace(*(int(getattr(row, name)) for name in names))


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """Remaining work of a job, as needed to judge its speed."""

    job: Job
    finished: int
    total: int
    waits: bool  # sites wait for a slot: not all remaining sites are limited by their request spacing


def rest(tx: Tx, job_id: UUID) -> RemainingWork | None:
    """Return the remaining work of a job; None if it does not run."""
    job = job_rows.get(tx, job_id)
    if job is None or job.state is not JobState.RUNNING:
        return None
    others = visits.alias()
    in_hand = others.c.state.in_((VisitState.ISSUED, VisitState.RUNNING)) & (others.c.domain == visits.c.domain)
    due = (visits.c.job_id == job_id) & (visits.c.state == VisitState.READY) & (visits.c.due_at <= tx.now)
    waits = select(exists().where(due, ~exists().where(in_hand)))
    return RemainingWork(job, *progress(tx, job_id).of(job), bool(tx.run(waits).scalar()))


def was_interrupted(tx: Tx, job_id: UUID, since: datetime) -> bool:
    """Return True if a job was stopped or started after a time."""
    # Ids of events begin with their time, so older ones are skipped.
    first = UUID(int=int(since.timestamp() * 1000) << 80)
    mine = (events.c.job_id == job_id) & (events.c.id >= first) & events.c.kind.in_(_BREAKS)
    return bool(tx.run(select(exists().where(mine))).scalar())


_STATES = {f"job.{state}": state for state in JobState}
_AT_WORK = (JobState.RUNNING, JobState.PAUSING)


@dataclass(frozen=True, slots=True)
class Standstill:
    """Periods in which a job did not run, up to a time."""

    now: datetime
    spans: tuple[tuple[datetime, datetime], ...] = ()

    def within(self, window: timedelta) -> timedelta:
        """Return the total of these periods within the window."""
        since = self.now - window
        return sum((max(until - max(begin, since), timedelta()) for begin, until in self.spans), timedelta())


def stood_still(tx: Tx, job_id: UUID, window: timedelta) -> Standstill:
    """Return the periods within the window in which a started job did not run."""
    since = tx.now - window
    started = tx.run(select(jobs.c.started_at).where(jobs.c.id == job_id)).scalar()
    first = UUID(int=int(since.timestamp() * 1000) << 80)  # ids of events begin with their time
    mine = (events.c.job_id == job_id) & (events.c.id >= first) & events.c.kind.in_(_STATES)
    # The first event in the window is the end or the beginning of a pause, or the start of the job.
    stands: datetime | None = since if started and started < since else None
    spans: list[tuple[datetime, datetime]] = []
    for at, kind in tx.run(select(events.c.at, events.c.kind).where(mine).order_by(events.c.id)):
        state = _STATES[kind]
        if state is JobState.RUNNING and stands:
            spans.append((stands, at))
        if state in _AT_WORK:
            stands = None
        elif stands in (None, since):
            stands = at
    return Standstill(tx.now, tuple(spans))


@dataclass(frozen=True, slots=True)
class Depths:
    """Lengths of the queue."""

    ready: int  # visits of running jobs that wait for a slot
    open: Mapping[UUID, int]  # visits of each running job that are not over


def depths(tx: Tx) -> Depths:
    due = (visits.c.state == VisitState.READY) & (visits.c.due_at <= tx.now)
    query = (
        select(visits.c.job_id, func.count().label("open"), func.sum(case((due, 1), else_=0)).label("ready"))
        .join(jobs, jobs.c.id == visits.c.job_id)
        .where(jobs.c.state == JobState.RUNNING, or_(*(visits.c.state == state for state in _OPEN)))
        .group_by(visits.c.job_id)
    )
    rows = tx.run(query).all()
    return Depths(sum(int(row.ready) for row in rows), {row.job_id: int(row.open) for row in rows})
