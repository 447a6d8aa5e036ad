"""Results that are kept no longer: hidden first, then deleted a few rows at a time.

An archived job cannot be moved any more, so it is archived before the first row goes: nobody can resume a job that is
half gone. As long as `hidden_at` stands with it, there are rows left to delete.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Table, Text, cast, delete, func, select, tuple_, update

from gossamer.model.states import JobState, VisitState
from gossamer.model.webhook import DeliveryState
from gossamer.store import events, exports, job_keys, jobs
from gossamer.store import tables as t
from gossamer.store.ledger_tables import budgets, charges, estimates
from gossamer.store.moves import FREED, Moving, moving, tell
from gossamer.store.tx import Tx
from gossamer.store.webhook_tables import deliveries

_ENDED = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED)
_RESTING = (*_ENDED, JobState.PAUSED)


@dataclass(frozen=True, slots=True)
class KeptJob:
    """A job with results, or with rows left of them."""

    id: UUID
    name: str
    recipe: str
    state: JobState
    since: datetime  # its completion, else its last activity
    hidden_at: datetime | None
    records: int


def kept_jobs(tx: Tx, *, created_before: datetime | None = None, archived_too: Sequence[str] = ()) -> list[KeptJob]:
    """Jobs that have ended or stand still, the oldest first, and whatever is hidden or half deleted.

    `created_before` leaves out younger ones that are not hidden. Of recipes in `archived_too` those are found too of
    which only the job itself is left.
    """
    wanted: ColumnElement[bool] = t.jobs.c.state.in_(_RESTING)
    if archived_too:
        wanted |= (t.jobs.c.state == JobState.ARCHIVED) & t.jobs.c.recipe.in_(archived_too)
    if created_before:
        wanted &= t.jobs.c.created_at <= created_before
    return _kept(tx, wanted | t.jobs.c.hidden_at.is_not(None))


def kept_job(tx: Tx, job_id: UUID) -> KeptJob | None:
    return next(iter(_kept(tx, t.jobs.c.id == job_id)), None)


def _kept(tx: Tx, which: ColumnElement[bool]) -> list[KeptJob]:
    sums = (
        select(
            t.counters.c.job_id,
            func.max(t.counters.c.last_at).label("last_at"),
            func.sum(t.counters.c.records).label("records"),
        )
        .group_by(t.counters.c.job_id)
        .subquery()
    )
    query = (
        select(t.jobs, sums.c.last_at, sums.c.records)
        .join(sums, sums.c.job_id == t.jobs.c.id)
        .where(which)
        .order_by(t.jobs.c.id)
    )
    return [
        KeptJob(row.id, row.name, row.recipe, JobState(row.state), _since(row), row.hidden_at, int(row.records))
        for row in tx.run(query)
    ]


def _since(row: Any) -> datetime:
    completed = row.finished_at if row.state == JobState.COMPLETED else None
    since: datetime = completed or row.last_at or row.started_at or row.created_at
    return since


def hide(tx: Tx, job: KeptJob, at: datetime, why: str) -> bool:
    """Show its results no longer. One that stands still is cancelled, so that its results have an end as well."""
    if job.state is JobState.PAUSED and not jobs.move(tx, job.id, JobState.CANCELLED, why, who="retention"):
        return False
    ended = (t.jobs.c.id == job.id) & t.jobs.c.state.in_(_ENDED) & t.jobs.c.hidden_at.is_(None)
    if not tx.run(update(t.jobs).where(ended).values(hidden_at=at)).rowcount:
        return False
    exports.expire_of_job(tx, job.id)
    events.add(tx, job.id, "job.hidden", why, who="retention")
    return True


def show(tx: Tx, job: KeptJob) -> bool:
    """Show its results again: it was resumed, or the operator keeps results for longer now."""
    hidden = (t.jobs.c.id == job.id) & (t.jobs.c.state != JobState.ARCHIVED) & t.jobs.c.hidden_at.is_not(None)
    if not tx.run(update(t.jobs).where(hidden).values(hidden_at=None)).rowcount:
        return False
    events.add(tx, job.id, "job.shown", who="retention")
    return True


def archive(tx: Tx, job_id: UUID, at: datetime, why: str, who: str) -> bool:
    """The point of no return: from here on the rows go. Refused unless the job has ended or stands still."""
    let_go(tx, job_id)
    state = jobs.states(tx, [job_id]).get(job_id)
    if state in (JobState.PENDING, JobState.PAUSED):
        jobs.move(tx, job_id, JobState.CANCELLED, why, who=who)
    if not jobs.move(tx, job_id, JobState.ARCHIVED, why, who=who):
        return False
    tx.run(update(t.jobs).where(t.jobs.c.id == job_id).values(hidden_at=at))
    exports.expire_of_job(tx, job_id)
    job_keys.drop(tx, job_id)
    about = (t.alerts.c.job_id == job_id) & t.alerts.c.cleared_at.is_(None)
    tx.run(update(t.alerts).where(about).values(cleared_at=tx.now, holds=None))
    return True


def let_go(tx: Tx, job_id: UUID) -> None:
    """Whoever still walks a visit of a job that does not run loses it, and can write nothing more."""
    in_hand = t.visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING))
    resting = t.visits.c.job_id.in_(select(t.jobs.c.id).where(t.jobs.c.id == job_id, t.jobs.c.state.in_(_RESTING)))
    lost = Moving.read(tx, tx.locked(moving(t.visits.c.job_id == job_id, resting, in_hand)))
    if lost:
        free = update(t.visits).where(t.visits.c.id.in_([one.id for one in lost]))
        tx.run(free.values(**FREED, state=VisitState.READY))
        tell(tx, VisitState.READY, lost, "its job is at rest")


def purge_step(tx: Tx, job_id: UUID, most: int, *, whole: bool = False) -> int:
    """Delete up to `most` rows of an archived job; how many. After the last one it is only what `job list` shows.

    With `whole` that goes too, at last; what was paid stays in the books, and requests in the usage of their account.
    """
    if jobs.states(tx, [job_id]).get(job_id) is not JobState.ARCHIVED:
        return 0
    for table in (
        t.records,
        t.pages,
        charges,
        t.events,
        t.minutes,
        t.checkpoints,
        t.visits,
        t.sites,
        t.exports,
        deliveries,
    ):
        gone = _delete(tx, table, job_id, most, whole=whole)
        if gone:
            return gone
    if whole:
        return _erase(tx, job_id)
    emptied = _empty_sites(tx, job_id, most)
    if not emptied:
        tx.run(update(t.jobs).where(t.jobs.c.id == job_id).values(hidden_at=None))
    return emptied


def deleted_at(tx: Tx, job_id: UUID) -> datetime | None:
    """When a job was archived."""
    query = select(t.events.c.at).where(t.events.c.job_id == job_id, t.events.c.kind == "job.archived")
    at: datetime | None = tx.run(query.limit(1)).scalar()
    return at


def _erase(tx: Tx, job_id: UUID) -> int:
    """Delete the job itself; how many rows. It waits for its files: they are found by their rows."""
    if tx.run(select(t.exports.c.id).where(t.exports.c.job_id == job_id).limit(1)).first():
        return 0
    for table in (t.counters, t.alerts, estimates, budgets):
        tx.run(delete(table).where(table.c.job_id == job_id))
    return tx.run(delete(t.jobs).where(t.jobs.c.id == job_id)).rowcount


def _delete(tx: Tx, table: Table, job_id: UUID, most: int, *, whole: bool) -> int:
    wanted = table.c.job_id == job_id
    if table is t.events and not whole:
        wanted &= table.c.site_id.is_not(None) | table.c.visit_id.is_not(None)  # what happened to the job itself stays
    if table is t.exports:
        wanted &= table.c.blob_key.is_(None)  # the others go with their files
    if table is deliveries:
        wanted &= table.c.state != DeliveryState.PENDING  # what is still to be told goes from the log later
    if table is t.sites and not whole:
        wanted &= ~table.c.listed  # what a person listed stays
    key = list(table.primary_key)
    some = select(*key).where(wanted).limit(most)
    return tx.run(delete(table).where(table.c.job_id == job_id, tuple_(*key).in_(some))).rowcount


_EMPTY: dict[str, Any] = {"robots": {}, "errands": [], "notes": b""}


def _empty_sites(tx: Tx, job_id: UUID, most: int) -> int:
    """What a listed site was walked by goes; that it was listed, and how it came out, stays."""
    # Postgres compares JSON as text only.
    packed = (cast(t.sites.c.errands, Text) != "[]") | (cast(t.sites.c.robots, Text) != "{}")
    filled = (t.sites.c.notes != b"") | packed
    some = select(t.sites.c.id).where(t.sites.c.job_id == job_id, filled).limit(most)
    return tx.run(update(t.sites).where(t.sites.c.id.in_(some)).values(**_EMPTY)).rowcount
