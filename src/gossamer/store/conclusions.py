"""Conclusions: the phases of a job after its crawl, which are the last call and the conclusion, and their progress.

A job whose recipe concludes has a row here from the end of its first crawl. One process at a time holds its lease;
every step is a transaction that checks the lease and that the job still runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, exists, func, insert, select, update

from gossamer.db.tables import conclusions, jobs, pages, sites
from gossamer.db.transactions import Tx
from gossamer.model.job import CheckpointCause
from gossamer.model.recipe import LAST_LIKE_IT, Comparison, PageFacts
from gossamer.model.record import FIRST_STEP, Record
from gossamer.model.states import JobState, PageState, Phase
from gossamer.store import counters, events, openings, records
from gossamer.store import jobs as job_store
from gossamer.store.counters import CounterChange
from gossamer.store.openings import Opening

MOST_TRIES = 3  # without progress

_WORKED = (Phase.CALLING, Phase.CONCLUDING)
_FREED: dict[str, Any] = {"lease": None, "lease_until": None, "worker": None}
_RUNS = exists().where(jobs.c.id == conclusions.c.job_id, jobs.c.state == JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Progress of a job after its crawl."""

    job_id: UUID
    phase: Phase
    generation: int
    baseline_id: UUID | None
    cursor: str
    note: str
    done: int
    total: int
    tries: int


def of_job(tx: Tx, job_id: UUID) -> Conclusion | None:
    row = tx.run(select(conclusions).where(conclusions.c.job_id == job_id)).first()
    return _conclusion(row) if row else None


def _conclusion(row: Any) -> Conclusion:
    return Conclusion(
        row.job_id,
        Phase(row.phase),
        row.generation,
        row.baseline_id,
        row.cursor,
        row.note,
        row.done,
        row.total,
        row.tries,
    )


def any_at_all(tx: Tx) -> bool:
    return tx.run(select(conclusions.c.job_id).limit(1)).first() is not None


def walked(tx: Tx, job_id: UUID, comparison: Comparison) -> None:
    """Start the next phase after the last site of a running job has ended; the first time also choose its baseline."""
    if not job_store.is_over(tx, job_id):
        return
    known = of_job(tx, job_id)
    if known is None:
        begun = {"phase": Phase.CALLING, "generation": 1, "cursor": "", "tries": 0, **_NOTHING_SAID}
        compared = {"baseline_id": _baseline(tx, job_id, comparison), "comparable": comparison.comparable}
        tx.run(insert(conclusions), {"job_id": job_id, **begun, **compared})
    elif known.phase is Phase.LAST_CALL:
        _enter(tx, job_id, Phase.CONCLUDING)
    elif known.phase is Phase.WALKING:
        _enter(tx, job_id, Phase.CALLING)
    elif known.phase is Phase.OVER:
        # The job was resumed, and not by a retry of its failures.
        raise_generation(tx, job_id)
        _enter(tx, job_id, Phase.CALLING)


def raise_generation(tx: Tx, job_id: UUID) -> None:
    """Start a new generation after a retry: the conclusion is computed again at the end of the crawl."""
    anew = {
        "phase": Phase.WALKING,
        "generation": conclusions.c.generation + 1,
        "cursor": "",
        "tries": 0,
        **_NOTHING_SAID,
    }
    tx.run(update(conclusions).where(conclusions.c.job_id == job_id).values(**anew, **_FREED))


_NOTHING_SAID: dict[str, Any] = {"note": "", "done": 0, "total": 0}


def _enter(tx: Tx, job_id: UUID, phase: Phase, *which: ColumnElement[bool]) -> bool:
    this = update(conclusions).where(conclusions.c.job_id == job_id, *which)
    return bool(tx.run(this.values(phase=phase, cursor="", tries=0, **_NOTHING_SAID)).rowcount)


def _baseline(tx: Tx, job_id: UUID, comparison: Comparison) -> UUID | None:
    job = tx.run(select(jobs).where(jobs.c.id == job_id)).one()
    earlier = select(jobs.c.id).join(conclusions, conclusions.c.job_id == jobs.c.id)
    earlier = earlier.where(
        jobs.c.account_id == job.account_id,
        jobs.c.recipe == job.recipe,
        jobs.c.state == JobState.COMPLETED,
        jobs.c.hidden_at.is_(None),
        jobs.c.id != job_id,
    )
    if comparison.with_job == LAST_LIKE_IT:
        first = select(sites.c.host).where(sites.c.job_id == job_id, sites.c.listed, sites.c.step.is_(None))
        host: str | None = tx.run(first.order_by(sites.c.id).limit(1)).scalar()
        same = exists().where(sites.c.job_id == jobs.c.id, sites.c.host == host)
        like = earlier.where(jobs.c.id < job_id, conclusions.c.comparable)
        like = like.where(same) if host is not None else like
        found: UUID | None = tx.run(like.order_by(jobs.c.id.desc()).limit(1)).scalar()
        return found
    if comparison.with_job:
        named: UUID | None = tx.run(earlier.where(jobs.c.id == UUID(comparison.with_job))).scalar()
        return named
    return None


# Leases


def waiting(tx: Tx) -> int:
    """Count the conclusions that wait for a worker."""
    free = conclusions.c.phase.in_(_WORKED) & conclusions.c.lease.is_(None)
    return int(tx.run(select(func.count()).select_from(conclusions).where(free, _RUNS)).scalar_one())


def claim(tx: Tx, worker: str, token: UUID, lease: timedelta) -> Conclusion | None:
    """Lease the oldest waiting conclusion until the lease is no longer renewed. Each claim counts as a try."""
    free = conclusions.c.phase.in_(_WORKED) & conclusions.c.lease.is_(None)
    oldest = select(conclusions.c.job_id).where(free, _RUNS).order_by(conclusions.c.job_id).limit(1)
    if tx.dialect.row_locks:
        oldest = oldest.with_for_update(skip_locked=True)
    job_id: UUID | None = tx.run(oldest).scalar()
    if job_id is None:
        return None
    held = {"lease": token, "lease_until": tx.now + lease, "worker": worker, "tries": conclusions.c.tries + 1}
    tx.run(update(conclusions).where(conclusions.c.job_id == job_id).values(**held))
    return of_job(tx, job_id)


def renew(tx: Tx, job_id: UUID, token: UUID, lease: timedelta) -> bool:
    return bool(tx.run(_held(job_id, token).values(lease_until=tx.now + lease)).rowcount)


def hand_back(tx: Tx, job_id: UUID, token: UUID) -> bool:
    """Return a conclusion without counting a failed try."""
    return bool(tx.run(_held(job_id, token).values(tries=0, **_FREED)).rowcount)


def void(tx: Tx, job_id: UUID, token: UUID) -> None:
    """Release the lease of a worker that has died."""
    tx.run(_held(job_id, token).values(**_FREED))


def void_home(tx: Tx, home: str) -> None:
    """Release the leases of a data folder's former workers; the caller holds its lock, so none is running."""
    theirs = conclusions.c.worker.startswith(f"{home}/", autoescape=True)
    tx.run(update(conclusions).where(theirs).values(tries=0, **_FREED))


def take_back(tx: Tx) -> None:
    """Release the leases that have expired."""
    lost = conclusions.c.lease.is_not(None) & (conclusions.c.lease_until < tx.now)
    tx.run(update(conclusions).where(lost).values(**_FREED))


def any_lost(tx: Tx) -> bool:
    lost = conclusions.c.lease.is_not(None) & (conclusions.c.lease_until < tx.now)
    return bool(tx.run(select(exists().where(lost))).scalar())


def _held(job_id: UUID, token: UUID) -> Any:
    return update(conclusions).where(conclusions.c.job_id == job_id, conclusions.c.lease == token)


# Steps


def call(tx: Tx, job_id: UUID, token: UUID, asked: Sequence[Opening]) -> Phase | None:
    """Open the pages of the last call, once per generation; return the next phase, or None if the lease is lost.

    Without new pages the conclusion follows at once under the same lease.
    """
    if job_store.hold(tx, job_id) is not JobState.RUNNING:
        return None
    mine = (conclusions.c.phase == Phase.CALLING) & (conclusions.c.lease == token)
    if not _enter(tx, job_id, Phase.CONCLUDING, mine):
        return None
    if not asked or not openings.open_pages(tx, job_id, asked, last=True):
        return Phase.CONCLUDING
    _enter(tx, job_id, Phase.LAST_CALL)
    tx.run(_held(job_id, token).values(**_FREED))
    events.add(tx, job_id, "job.last_call", f"{len(asked):,} pages")
    return Phase.LAST_CALL


@dataclass(frozen=True, slots=True)
class Advance:
    """A step of a conclusion to be written."""

    job_id: UUID
    token: UUID
    generation: int
    old: str
    new: str
    note: str = ""
    done: int = 0
    total: int = 0


def advance(tx: Tx, step: Advance, concluded: Sequence[Record]) -> bool:
    """Write a step with its cursor; False, with nothing written, if the lease is lost or the job does not run."""
    here = (conclusions.c.cursor == step.old) & (conclusions.c.phase == Phase.CONCLUDING) & _RUNS
    values = {"cursor": step.new, "note": step.note[:200], "done": step.done, "total": step.total, "tries": 0}
    if not tx.run(_held(step.job_id, step.token).where(here).values(**values)).rowcount:
        # It may have been written before, in a transaction whose commit was not confirmed.
        said = (conclusions.c.cursor == step.new) & (conclusions.c.phase == Phase.CONCLUDING)
        return bool(tx.run(_held(step.job_id, step.token).where(said, _RUNS).values(tries=0)).rowcount)
    new = records.conclude(tx, step.job_id, step.generation, concluded)
    counters.add(tx, 0, {step.job_id: CounterChange(records=new)})
    return True


def drop_former(tx: Tx, job_id: UUID, token: UUID, generation: int, kind: str, after: bytes, most: int) -> bytes | None:
    """Delete up to `most` records concluded only by earlier generations.

    Returns the key at which the next call begins, empty after the last one; None if the lease is lost.
    """
    if not tx.run(_held(job_id, token).where(_RUNS).values(tries=0)).rowcount:
        return None
    job_store.hold(tx, job_id)
    gone, further = records.drop_former(tx, job_id, kind, generation, after, most)
    if gone:
        counters.take_back(tx, job_id, CounterChange(records=-gone))
        # The audit compares the rows with the last checkpoint, and now there are fewer.
        counters.take(tx, job_id, CheckpointCause.VISITS)
    return further


def is_held(tx: Tx, job_id: UUID, token: UUID) -> bool:
    """Return True if the lease still holds and the job runs."""
    mine = (conclusions.c.job_id == job_id) & (conclusions.c.lease == token) & _RUNS
    return bool(tx.run(select(exists().where(mine))).scalar())


def end(tx: Tx, job_id: UUID, token: UUID) -> bool:
    """End the conclusion, in the transaction that completes the job."""
    mine = (conclusions.c.phase == Phase.CONCLUDING) & (conclusions.c.lease == token)
    ended = _enter(tx, job_id, Phase.OVER, mine)
    tx.run(_held(job_id, token).values(**_FREED))
    return ended


# Rows for recipes


_FACTS = (
    *("key", "url", "state", "reason", "http_status", "identity"),
    *("depth", "step", "rung", "found_on", "settled_at"),
)


def page_facts(tx: Tx, job_id: UUID, after: bytes, limit: int) -> list[PageFacts]:
    """Return pages of a job after a key, ordered by key."""
    query = select(*(pages.c[name] for name in _FACTS)).where(pages.c.job_id == job_id, pages.c.key > after)
    return [
        PageFacts(
            bytes(row.key),
            row.url,
            PageState(row.state),
            row.reason,
            row.http_status,
            bytes(row.identity) if row.identity is not None else None,
            row.depth,
            row.step or FIRST_STEP,
            row.rung,
            row.found_on,
            row.settled_at,
        )
        for row in tx.rows(query.order_by(pages.c.key).limit(limit), {})
    ]
