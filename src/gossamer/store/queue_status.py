"""Queues: waiting, issued and running visits per lane and job, and background work per kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, case, func, select, text

from gossamer.db.tables import charges, exports, jobs, minutes, places, visits, workers
from gossamer.db.transactions import Tx
from gossamer.model.alert import SYSTEM, AlertKind
from gossamer.model.export import ExportState
from gossamer.model.states import JobState, VisitState
from gossamer.model.worker import SILENT_AFTER, DeskKind, DeskRule
from gossamer.store import alerts, conclusions, outbox
from gossamer.store.exports import count_expired
from gossamer.store.jobs import ready_to_close

_AT_WORK = jobs.c.state.in_((JobState.RUNNING, JobState.PAUSING))
_MINUTE = timedelta(minutes=1)
_IN_HAND = (VisitState.ISSUED, VisitState.RUNNING)


@dataclass(frozen=True, slots=True)
class QueueLine:
    """The visits of one job in one lane."""

    lane: str
    job_id: UUID
    name: str
    priority: str
    ready: int  # due and waiting for a slot
    later: int  # not due yet
    issued: int  # nudged and not yet claimed
    running: int
    oldest_wait: timedelta | None  # of those that are ready


def lines(tx: Tx) -> list[QueueLine]:
    """Return the visits of all running jobs, by lane and job."""
    waits = visits.c.state == VisitState.READY
    due = waits & (visits.c.due_at <= tx.now)
    query = (
        select(
            visits.c.lane,
            visits.c.job_id,
            jobs.c.name,
            jobs.c.priority,
            _sum(due).label("ready"),
            _sum(waits & (visits.c.due_at > tx.now)).label("later"),
            _sum(visits.c.state == VisitState.ISSUED).label("issued"),
            _sum(visits.c.state == VisitState.RUNNING).label("running"),
            func.min(case((due, visits.c.due_at))).label("oldest"),
        )
        .join(jobs, jobs.c.id == visits.c.job_id)
        .where(_AT_WORK, visits.c.state.in_((VisitState.READY, *_IN_HAND)))
        .group_by(visits.c.lane, visits.c.job_id, jobs.c.name, jobs.c.priority)
        .order_by(visits.c.lane, visits.c.job_id)
    )
    return [
        QueueLine(
            row.lane,
            row.job_id,
            row.name,
            row.priority,
            row.ready,
            row.later,
            row.issued,
            row.running,
            None if row.oldest is None else max(tx.now - row.oldest, timedelta()),
        )
        for row in tx.run(query)
    ]


def backlog(tx: Tx, lane: str) -> int:
    """Count a lane's visits that need a worker now: due, issued or running. For autoscalers."""
    wants = visits.c.state.in_(_IN_HAND) | ((visits.c.state == VisitState.READY) & (visits.c.due_at <= tx.now))
    running = jobs.c.state == JobState.RUNNING
    query = select(func.count()).select_from(visits.join(jobs, jobs.c.id == visits.c.job_id))
    return int(tx.run(query.where(running, visits.c.lane == lane, wants)).scalar_one())


def in_hand(tx: Tx) -> dict[tuple[str, UUID], int]:
    """Count the issued and running visits of all jobs, by lane and job."""
    query = (
        select(visits.c.lane, visits.c.job_id, func.count().label("busy"))
        .where(visits.c.state.in_(_IN_HAND))
        .group_by(visits.c.lane, visits.c.job_id)
    )
    return {(row.lane, row.job_id): row.busy for row in tx.run(query)}


def left_behind(tx: Tx) -> dict[str, int]:
    """Count the visits of dead or silent workers by lane, until they are taken back."""
    alive = select(workers.c.id).where(workers.c.beat_at > tx.now - SILENT_AFTER)
    query = (
        select(visits.c.lane, func.count().label("visits"))
        .where(visits.c.state == VisitState.RUNNING, visits.c.worker.not_in(alive))
        .group_by(visits.c.lane)
    )
    return {row.lane: int(row.visits) for row in tx.run(query)}


def in_hand_of_jobs(tx: Tx, *, alone: bool) -> dict[UUID, int]:
    """Like `in_hand`, by job over all lanes. With `alone`, no other such caller issues visits until commit."""
    if alone and tx.dialect.row_locks:
        tx.run(text("SELECT pg_advisory_xact_lock(hashtext('issuing'))"))
    found: dict[UUID, int] = {}
    for (_, job), count in in_hand(tx).items():
        found[job] = found.get(job, 0) + count
    return found


def jobs_by_state(tx: Tx) -> dict[str, int]:
    query = select(jobs.c.state, func.count().label("jobs")).group_by(jobs.c.state).order_by(jobs.c.state)
    return {row.state: row.jobs for row in tx.run(query)}


def calls_since(tx: Tx, time: timedelta) -> dict[str, int]:
    """Count the paid requests of all jobs in this time, by provider; idle jobs are not read."""
    since = tx.now - time
    found: dict[str, int] = {}
    for job_id in tx.run(select(minutes.c.job_id).where(minutes.c.minute > since - _MINUTE).distinct()).scalars():
        mine = (charges.c.job_id == job_id) & (charges.c.at > since)
        counted = select(charges.c.provider, func.count().label("calls")).where(mine).group_by(charges.c.provider)
        for row in tx.run(counted):
            found[row.provider] = found.get(row.provider, 0) + row.calls
    return found


def full(tx: Tx) -> str | None:
    """Return the reason why new jobs stay pending, if they do."""
    alert = alerts.held(tx, AlertKind.QUEUE_FULL, SYSTEM)
    return alert.sentence if alert else None


def _sum(which: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((which, 1), else_=0))


@dataclass(frozen=True, slots=True)
class BackgroundLine:
    """Background work of one kind."""

    kind: DeskKind
    priority: int
    limit: int
    ready: int  # waiting for a slot
    running: int
    oldest_wait: timedelta | None  # of files and messages


def background_slot(kind: DeskKind) -> str:
    """Return the slot that background work of this kind holds while it runs."""
    return f"desk/{kind}"


def background_lines(tx: Tx, rules: Mapping[DeskKind, DeskRule]) -> list[BackgroundLine]:
    """Return the background work of each kind, most urgent first."""
    held = {background_slot(kind): kind for kind in rules}
    query = select(places.c.place, func.count().label("holders")).group_by(places.c.place)
    found = tx.run(query.where(places.c.place.in_(held), places.c.until > tx.now))
    running = {held[row.place]: row.holders for row in found}
    waits = _waiting(tx, running)
    # Most installations have no recipe that concludes, so this line is left out.
    unused = set() if conclusions.any_at_all(tx) else {DeskKind.CONCLUDE}
    ordered = sorted(
        ((kind, rule) for kind, rule in rules.items() if kind not in unused), key=lambda rule: rule[1].priority
    )
    return [
        BackgroundLine(kind, rule.priority, rule.limit, waits[kind][0], running.get(kind, 0), _age(tx, waits[kind][1]))
        for kind, rule in ordered
    ]


def _waiting(tx: Tx, running: Mapping[DeskKind, int]) -> dict[DeskKind, tuple[int, datetime | None]]:
    pending = exports.c.state == ExportState.PENDING
    files = tx.run(
        select(func.count().label("all"), func.min(exports.c.created_at).label("oldest")).where(pending)
    ).one()
    # Partly deleted jobs and expired files.
    old = _count(tx, (jobs.c.state == JobState.ARCHIVED) & jobs.c.hidden_at.is_not(None)) + count_expired(tx)
    ended = len(ready_to_close(tx)) - running.get(DeskKind.FINISH, 0)
    return {
        DeskKind.FINISH: (max(0, ended), None),
        DeskKind.CONCLUDE: (conclusions.waiting(tx), None),
        DeskKind.WEBHOOK: outbox.waiting(tx),
        DeskKind.EXPORT: (files.all, files.oldest),
        DeskKind.CLEANUP: (old, None),
    }


def _count(tx: Tx, wanted: ColumnElement[bool]) -> int:
    return int(tx.run(select(func.count()).where(wanted)).scalar_one())


def _age(tx: Tx, since: datetime | None) -> timedelta | None:
    return None if since is None else max(tx.now - since, timedelta())
