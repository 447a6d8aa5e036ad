"""Counters of jobs, from which progress is read, however many rows a job has, and checkpoints of the counters.

A checkpoint is written when a job pauses, ends or is left by its runner, and regularly in between. Writing one locks
the job's row until commit, and so does subtracting (a retry, an erasure). Otherwise a checkpoint from before the
subtraction could be written after it, and be the last.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import Executable, Row, bindparam, case, delete, func, insert, select, update

from gossamer.db.bulk import BulkStatement
from gossamer.db.tables import PARTS, budgets, checkpoints, conclusions, counters, jobs, minutes
from gossamer.db.transactions import Dialect, Tx
from gossamer.model.ids import new_id
from gossamer.model.job import Checkpoint, CheckpointCause, Progress
from gossamer.model.money import Amount, Cap, Scope
from gossamer.model.states import JobState, PageState, Phase, SiteState

SHARDS = 16
WINDOW = timedelta(minutes=15)
PAGES_WINDOW = timedelta(minutes=3)  # short: so the rate soon reflects the last remaining sites
SHORTEST = timedelta(seconds=10)


@dataclass(slots=True)
class CounterChange:
    """Additions of one batch to a job's counters."""

    sites_done: int = 0
    sites_failed: int = 0
    sites_partial: int = 0
    pages_done: int = 0
    pages_failed: int = 0
    pages_skipped: int = 0
    pages_open: int = 0
    records: int = 0
    bytes_in: int = 0
    # Kept per minute only.
    requests: int = 0  # for pages
    failed: int = 0  # of those requests
    writes: int = 0  # batches of results written before this one
    write_ms: int = 0  # total duration of these writes

    @property
    def sites_finished(self) -> int:
        return self.sites_done + self.sites_failed + self.sites_partial

    @property
    def pages_finished(self) -> int:
        return self.pages_done + self.pages_failed + self.pages_skipped


_OF_MINUTES = ("requests", "failed", "writes", "write_ms")
NAMES = tuple(field.name for field in fields(CounterChange) if field.name not in _OF_MINUTES)
OF_SITE = {
    SiteState.DONE: "sites_done",
    SiteState.FAILED: "sites_failed",
    SiteState.PARTIAL: "sites_partial",
}
OF_PAGE = {
    PageState.DONE: "pages_done",
    PageState.FAILED: "pages_failed",
    PageState.SKIPPED: "pages_skipped",
}

_ADD = (
    update(counters)
    .where(counters.c.job_id == bindparam("b_job"), counters.c.shard == bindparam("b_shard"))
    .values({**{name: counters.c[name] + bindparam(f"b_{name}") for name in NAMES}, "last_at": bindparam("b_at")})
)


_NOTHING = dict.fromkeys(NAMES, 0)
_CREATE = BulkStatement(
    insert(counters).values({name: bindparam(name) for name in ("job_id", "shard", *NAMES)}), together=True
)


def create(tx: Tx, job_id: UUID, pages_open: int = 0) -> None:
    """Create the counters of a job that starts with so many open pages."""
    rows = [{"job_id": job_id, "shard": shard, **_NOTHING} for shard in range(SHARDS)]
    rows[0]["pages_open"] = pages_open
    _CREATE.run(tx, rows)


def add(tx: Tx, shard: int, changes: Mapping[UUID, CounterChange]) -> None:
    """Add each job's change to the caller's shard and to the current minute."""
    ordered = sorted(changes.items())
    tx.run_many(_ADD, [_addition(tx, job_id, shard, change) for job_id, change in ordered])
    minute = tx.now.replace(second=0, microsecond=0)
    tx.run_many(
        _in_minutes(tx.dialect),
        [
            {
                "job_id": job_id,
                "minute": minute,
                "sites": change.sites_finished,
                "pages": change.pages_finished,
                "records": change.records,
                **{name: getattr(change, name) for name in _OF_MINUTES},
            }
            for job_id, change in ordered
        ],
    )


@cache
def _in_minutes(dialect: Dialect) -> Executable:
    upsert = dialect.insert(minutes)
    made: Executable = upsert.on_conflict_do_update(
        index_elements=["job_id", "minute"],
        set_={name: minutes.c[name] + upsert.excluded[name] for name in ("sites", "pages", "records", *_OF_MINUTES)},
    )
    return made


def take_back(tx: Tx, job_id: UUID, change: CounterChange) -> None:
    """Subtract from a job's counters what was reopened.

    Its minutes are kept, because they measure its past speed.
    """
    tx.run(_ADD, _addition(tx, job_id, 0, change))


def _addition(tx: Tx, job_id: UUID, shard: int, change: CounterChange) -> dict[str, Any]:
    return {
        "b_job": job_id,
        "b_shard": shard % SHARDS,
        "b_at": tx.now,
        **{f"b_{name}": getattr(change, name) for name in NAMES},
    }


# Prepared once: a live view asks four times a second.
_SUMS = select(
    *(func.coalesce(func.sum(counters.c[name]), 0).label(name) for name in NAMES),
    func.max(counters.c.last_at).label("last_at"),
).where(counters.c.job_id == bindparam("job"))
_DOING = ("phase", "note", "done", "total")
_OF_JOB = (
    select(jobs.c.sites_total, jobs.c.started_at, jobs.c.state, *(conclusions.c[name] for name in _DOING))
    .select_from(jobs.outerjoin(conclusions, conclusions.c.job_id == jobs.c.id))
    .where(jobs.c.id == bindparam("job"))
)
_SINCE, _LATELY = (bindparam(name, type_=minutes.c.minute.type) for name in ("since", "lately"))
_RECENT = select(
    func.coalesce(func.sum(minutes.c.sites), 0).label("sites"),
    func.min(minutes.c.minute).label("since"),
    func.coalesce(func.sum(case((minutes.c.minute >= _LATELY, minutes.c.pages), else_=0)), 0).label("pages"),
).where(minutes.c.job_id == bindparam("job"), minutes.c.minute >= _SINCE)


def progress(tx: Tx, job_id: UUID) -> Progress:
    """Return a job's progress: reads 16 counter rows and up to 16 minutes."""
    sums = tx.run(_SUMS, {"job": job_id}).one()
    job = tx.run(_OF_JOB, {"job": job_id}).one()
    lately = tx.now.replace(second=0, microsecond=0) - PAGES_WINDOW
    recent = tx.run(_RECENT, {"job": job_id, "since": tx.now - WINDOW, "lately": lately}).one()
    sums_of: dict[str, Any] = {name: int(getattr(sums, name)) for name in NAMES}
    return Progress(
        sites_total=job.sites_total,
        sites_recently=int(recent.sites),
        window=_window(tx.now, recent.since, job.started_at),
        pages_recently=int(recent.pages),
        pages_window=max(SHORTEST, tx.now - max(lately, job.started_at or lately)),
        last_activity=sums.last_at,
        doing=_doing(job) if job.phase and job.state == JobState.RUNNING else "",
        **sums_of,
    )


def _doing(job: Any) -> str:
    """Describe the current phase of a job whose crawl is over."""
    match job.phase:
        case Phase.CALLING:
            return "looking for what is still to be asked for"
        case Phase.LAST_CALL:
            return "asking once more for what was not met"
        case Phase.CONCLUDING:
            note = job.note or "concluding"
            return f"{note}: {job.done:,} of {job.total:,}" if job.total else note
    return ""


_CAPPED = (*PARTS, "traffic")
_BUDGET = (  # as its primary key has it
    (budgets.c.scope == Scope.JOB) & (budgets.c.subject == bindparam("subject")) & (budgets.c.period == "")
)
_TOTALS = _SUMS.with_only_columns(
    *(func.coalesce(func.sum(counters.c[name]), 0).label(name) for name in NAMES),
    func.max(jobs.c.sites_total).label("sites_total"),
    *(func.coalesce(func.max(budgets.c[f"spent_{part}"]), 0).label(part) for part in PARTS),
    *(func.max(budgets.c[f"cap_{part}"]).label(f"cap_{part}") for part in _CAPPED),
).select_from(counters.join(jobs, jobs.c.id == counters.c.job_id).outerjoin(budgets, _BUDGET))


def totals(tx: Tx, job_id: UUID) -> tuple[Progress, Amount, Cap]:
    """Return a job's progress, spending and cap in one statement, without its speed."""
    row = tx.run(_TOTALS, {"job": job_id, "subject": job_id.hex}).one()
    done: dict[str, Any] = {name: int(getattr(row, name)) for name in NAMES}
    spent = Amount(**{part: int(getattr(row, part)) for part in PARTS})
    cap = Cap(**{part: getattr(row, f"cap_{part}") for part in _CAPPED})
    return Progress(sites_total=int(row.sites_total or 0), **done), spent, cap


def _window(now: datetime, since: datetime | None, started: datetime | None) -> timedelta:
    """Return how long the job has run in the last 15 minutes; never so short that rates become meaningless."""
    if since is None or started is None:
        return WINDOW
    return max(SHORTEST, min(WINDOW, now - max(since, started)))


EVERY = 100
"""Visits that end between two checkpoints of a running job."""
KEPT = 100
"""Checkpoints of a job; older ones are dropped."""

_ENDINGS = ("sites_done", "sites_failed", "sites_partial")
_SUMMED = (*_ENDINGS, "pages_done", "pages_failed", "pages_skipped", "records")

_CHECKPOINTS_OF_JOB = checkpoints.c.job_id == bindparam("job")
_NEWEST = select(checkpoints).where(_CHECKPOINTS_OF_JOB).order_by(checkpoints.c.id.desc()).limit(1)
_OLD = _NEWEST.with_only_columns(checkpoints.c.id).offset(KEPT).scalar_subquery()
_PRUNE = delete(checkpoints).where(_CHECKPOINTS_OF_JOB, checkpoints.c.id <= _OLD)

_ADD_CHECKPOINT = insert(checkpoints)

_FINISHED = checkpoints.c.sites_done + checkpoints.c.sites_failed + checkpoints.c.sites_partial

# The counters and the last checkpoint in one statement, because every batch in which a visit ended runs it.
_PRESENT = (
    select(
        jobs.c.state,
        jobs.c.sites_total,
        *(func.sum(counters.c[name]).label(name) for name in _SUMMED),
        func.max(counters.c.last_at).label("last_at"),
        _NEWEST.with_only_columns(checkpoints.c.id).scalar_subquery().label("newest"),
        _NEWEST.with_only_columns(_FINISHED).scalar_subquery().label("finished"),
    )
    .join(counters, counters.c.job_id == jobs.c.id)
    .where(jobs.c.id == bindparam("job"))
    .group_by(jobs.c.id)
)

_HOLD = select(jobs.c.id).where(jobs.c.id == bindparam("job")).with_for_update(key_share=True, skip_locked=True)


def take(tx: Tx, job_id: UUID, cause: CheckpointCause) -> None:
    """Write a checkpoint of the counters; nothing for a deleted job. The caller has locked the job."""
    present = tx.run(_PRESENT, {"job": job_id}).first()
    if present:
        _write(tx, job_id, cause, present)


def take_due(tx: Tx, job_ids: Iterable[UUID], every: int = EVERY) -> None:
    """Write a checkpoint if `every` visits have ended since the last one.

    Call it only for jobs in which a visit has just ended. The count is compared with the last row instead
    of a round number: processes that commit at the same moment do not see each other's visits, and a
    round number could pass unseen.
    """
    for job_id in job_ids:
        present = _if_due(tx, job_id, every)
        if present and tx.dialect.row_locks:
            # Checked again under the lock. We have locked sites, which come after jobs in the lock order, and so must
            # not wait: if another transaction has locked the job, a later batch writes the checkpoint.
            held = tx.run(_HOLD, {"job": job_id}).first()
            present = _if_due(tx, job_id, every) if held else None
        if present:
            _write(tx, job_id, CheckpointCause.VISITS, present)


def _if_due(tx: Tx, job_id: UUID, every: int) -> Row[Any] | None:
    present = tx.run(_PRESENT, {"job": job_id}).first()
    if present is None:
        return None
    finished = sum(getattr(present, name) for name in _ENDINGS)
    # A decrease counts as well: failed domains are being retried.
    return present if abs(finished - (present.finished or 0)) >= every else None


def take_running(tx: Tx) -> int:
    """Write a checkpoint of every running job at the shutdown of the runner; return their number."""
    left = select(jobs.c.id).where(jobs.c.state.in_((JobState.RUNNING, JobState.PAUSING))).order_by(jobs.c.id)
    found = tx.run(left.with_for_update(key_share=True) if tx.dialect.row_locks else left).scalars().all()
    for job_id in found:
        take(tx, job_id, CheckpointCause.SHUTDOWN)
    return len(found)


def last(tx: Tx, job_id: UUID) -> Checkpoint | None:
    row = tx.run(_NEWEST, {"job": job_id}).first()
    return _checkpoint(row) if row else None


def _write(tx: Tx, job_id: UUID, cause: CheckpointCause, present: Row[Any]) -> None:
    identifier = new_id(tx.now)
    if present.newest is not None and identifier <= present.newest:
        # The clock was set back: the new checkpoint must still be the last one.
        identifier = UUID(int=present.newest.int + 1)
    row = {
        "job_id": job_id,
        "id": identifier,
        "at": tx.now,
        "cause": cause,
        "state": present.state,
        "sites_total": present.sites_total,
        **{name: int(getattr(present, name)) for name in _SUMMED},
        "last_at": present.last_at,
    }
    tx.run(_ADD_CHECKPOINT, row)
    if present.newest is not None:
        tx.run(_PRUNE, {"job": job_id})


def _checkpoint(row: Row[Any]) -> Checkpoint:
    return Checkpoint(
        at=row.at,
        cause=CheckpointCause(row.cause),
        state=JobState(row.state),
        sites_total=row.sites_total,
        last_at=row.last_at,
        **{name: int(getattr(row, name)) for name in _SUMMED},
    )
