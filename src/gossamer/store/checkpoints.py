"""Checkpoints: what the kept counters said when a job paused, ended or was left, and now and then in between.

Whoever takes one holds the job's row until commit, and so does whoever takes something back (a retry, a forgetting).
Otherwise one that still counts what is being taken back could be written after the one that no longer does, and be
the last.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import Row, bindparam, delete, func, insert, select

from gossamer.model.checkpoint import Checkpoint, CheckpointCause
from gossamer.model.ids import new_id
from gossamer.model.states import JobState
from gossamer.store.tables import checkpoints, counters, jobs
from gossamer.store.tx import Tx

EVERY = 100
"""Visits that end between two checkpoints of a running job."""
KEPT = 100
"""Checkpoints of a job; older ones are dropped."""

_ENDINGS = ("sites_done", "sites_failed", "sites_partial")
_SUMMED = (*_ENDINGS, "pages_done", "pages_failed", "pages_skipped", "records")

_OF_JOB = checkpoints.c.job_id == bindparam("job")
_NEWEST = select(checkpoints).where(_OF_JOB).order_by(checkpoints.c.id.desc()).limit(1)
_OLD = _NEWEST.with_only_columns(checkpoints.c.id).offset(KEPT).scalar_subquery()
_PRUNE = delete(checkpoints).where(_OF_JOB, checkpoints.c.id <= _OLD)

_ADD = insert(checkpoints)

_FINISHED = checkpoints.c.sites_done + checkpoints.c.sites_failed + checkpoints.c.sites_partial

# One statement, since a batch in which a visit ended asks this: what the counters say, and what the last row said.
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
    """Write down what the counters say now; nothing for a job that is gone. The caller holds the job."""
    present = tx.run(_PRESENT, {"job": job_id}).first()
    if present:
        _write(tx, job_id, cause, present)


def take_due(tx: Tx, job_ids: Iterable[UUID], every: int = EVERY) -> None:
    """Where `every` visits have ended since the last one. Ask only for jobs in which one has just ended.

    It is held against the last row and not against a round number: processes that commit at the same moment do not see
    each other's visits, and a round number could pass unseen.
    """
    for job_id in job_ids:
        present = _if_due(tx, job_id, every)
        if present and tx.dialect.row_locks:
            # Asked once more under the lock. Nobody is waited for, since we have locked sites, which come after jobs:
            # while somebody else holds the job this one is left out, and the next batch takes it.
            held = tx.run(_HOLD, {"job": job_id}).first()
            present = _if_due(tx, job_id, every) if held else None
        if present:
            _write(tx, job_id, CheckpointCause.VISITS, present)


def _if_due(tx: Tx, job_id: UUID, every: int) -> Row[Any] | None:
    present = tx.run(_PRESENT, {"job": job_id}).first()
    if present is None:
        return None
    finished = sum(getattr(present, name) for name in _ENDINGS)
    # Fewer than before are as good a reason: domains that failed are being tried again.
    return present if abs(finished - (present.finished or 0)) >= every else None


def take_running(tx: Tx) -> int:
    """The runner goes: a checkpoint of each job it leaves at work. How many there are."""
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
        # The clock was set back. The last one must stay the last, whatever time it was.
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
    tx.run(_ADD, row)
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
