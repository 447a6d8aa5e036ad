"""Worker processes of a cluster or a data folder: their heartbeats, shared settings and waiting work."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, exists, func, insert, select

from gossamer.db.health import working_home
from gossamer.db.tables import alerts, cluster_settings, counters, events, jobs, visits, workers
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.states import JobState, VisitState
from gossamer.model.worker import SILENT_AFTER, Worker


def beat(tx: Tx, worker: Worker) -> None:
    """Record a worker's heartbeat and its free capacity. The database sets the time."""
    row = {name: getattr(worker, name) for name in ("id", "host", "pid", "version")}
    fresh = tx.dialect.insert(workers).values(
        **row, lanes={str(lane): slots for lane, slots in worker.lanes.items()}, started_at=tx.now, beat_at=tx.now
    )
    said = {name: fresh.excluded[name] for name in ("lanes", "beat_at")}
    tx.run(fresh.on_conflict_do_update(index_elements=["id"], set_=said))


def leave(tx: Tx, worker: str) -> None:
    tx.run(delete(workers).where(workers.c.id == worker))


def leave_home(tx: Tx, home: str) -> None:
    """Remove all processes of a data folder, because none is running."""
    tx.run(delete(workers).where(workers.c.id.startswith(f"{home}/", autoescape=True)))


def known(tx: Tx) -> list[Worker]:
    """Return all workers with their number of visits, by name, including silent ones."""
    held = (
        select(visits.c.worker, func.count().label("holds"))
        .where(visits.c.state == VisitState.RUNNING)
        .group_by(visits.c.worker)
        .subquery()
    )
    query = (
        select(workers, func.coalesce(held.c.holds, 0).label("holds"))
        .outerjoin(held, held.c.worker == workers.c.id)
        .order_by(workers.c.id)
    )
    return [
        Worker(
            row.id,
            row.host,
            row.pid,
            dict(row.lanes),
            row.version,
            row.started_at,
            row.beat_at,
            row.holds,
            is_silent=row.beat_at <= tx.now - SILENT_AFTER,
        )
        for row in tx.run(query)
    ]


def rooms(tx: Tx) -> dict[str, dict[str, int]]:
    """Return the capacity of every worker with a recent heartbeat, per lane."""
    alive = select(workers.c.id, workers.c.lanes).where(workers.c.beat_at > tx.now - SILENT_AFTER)
    return {row.id: dict(row.lanes) for row in tx.run(alive)}


def any_alive(tx: Tx) -> bool:
    return bool(tx.run(select(exists().where(workers.c.beat_at > tx.now - SILENT_AFTER))).scalar())


def any_silent(tx: Tx, after: timedelta = SILENT_AFTER) -> bool:
    """Return True if a worker that is not forgotten yet has been silent for so long."""
    return bool(tx.run(select(exists().where(workers.c.beat_at <= tx.now - after))).scalar())


@dataclass(frozen=True, slots=True)
class LostHost:
    """A machine whose workers have all been silent for a while."""

    host: str
    workers: int
    heard: datetime


def hosts(tx: Tx) -> tuple[list[LostHost], list[str]]:
    """Return the machines that vanished without a shutdown, and those that are alive."""
    heard = func.max(workers.c.beat_at)
    query = select(workers.c.host, func.count().label("workers"), heard.label("heard")).group_by(workers.c.host)
    found = tx.run(query.order_by(workers.c.host)).all()
    silent = [row for row in found if row.heard <= tx.now - SILENT_AFTER]
    living = [row.host for row in found if row.heard > tx.now - SILENT_AFTER]
    return [LostHost(row.host, row.workers, row.heard) for row in silent], living


def forget_silent(tx: Tx, after: timedelta) -> list[str]:
    """Delete workers that have been silent for so long; return their names."""
    gone = delete(workers).where(workers.c.beat_at <= tx.now - after).returning(workers.c.id)
    return list(tx.run(gone).scalars())


@dataclass(frozen=True, slots=True)
class SharedSetting:
    """A setting of the cluster; of a secret only the digest."""

    name: str
    value: str
    host: str  # the machine that set it
    at: datetime


def shared_settings(tx: Tx) -> list[SharedSetting]:
    """Return the shared settings by name; empty before a cluster has joined, or after they were reset."""
    return [SharedSetting(*row) for row in tx.run(select(cluster_settings).order_by(cluster_settings.c.name))]


def replace_shared_settings(tx: Tx, values: Mapping[str, str], host: str) -> None:
    forget_shared_settings(tx)
    rows = [{"name": name, "value": value, "host": host, "at": tx.now} for name, value in values.items()]
    tx.run_many(insert(cluster_settings), rows)


def forget_shared_settings(tx: Tx) -> int:
    """Delete the shared settings, so that the next machine to join sets them again."""
    return tx.run(delete(cluster_settings)).rowcount


_SOON = timedelta(seconds=30)  # in which a due visit should be taken


@dataclass(frozen=True, slots=True)
class Unattended:
    """Rows that need a person's attention."""

    unfinished: int  # jobs that should be running
    dead_letters: int
    alerts: int


@dataclass(frozen=True, slots=True)
class WorkState:
    """State of the work, as far as the rows show."""

    jobs: int  # at work
    stalled: int  # visits whose lease has not been renewed for long
    waits: bool  # due visits were not taken
    is_manned: bool  # a worker is alive


def labour(tx: Tx, lease: timedelta) -> WorkState:
    """Return the running jobs and their visits that wait, or whose holder no longer renews its lease."""
    running = select(jobs.c.id).where(jobs.c.state.in_((JobState.RUNNING, JobState.PAUSING)))
    at_work = int(tx.run(select(func.count()).select_from(running.subquery())).scalar_one())
    if not at_work:
        return WorkState(0, 0, waits=False, is_manned=False)
    # A lease is renewed four times in its duration, unless the event loop of its process is blocked.
    unseen = (visits.c.state == VisitState.RUNNING) & (visits.c.lease_until < tx.now + lease / 3)
    due = visits.c.job_id.in_(running) & (visits.c.state == VisitState.READY) & (visits.c.due_at < tx.now - _SOON)
    return WorkState(
        jobs=at_work,
        stalled=int(tx.run(select(func.count()).select_from(visits).where(unseen)).scalar_one()),
        waits=bool(tx.run(select(exists().where(due))).scalar()),
        is_manned=bool(working_home(tx)) or any_alive(tx),
    )


def newest_moment(tx: Tx) -> datetime | None:
    """Return the time of the last write, from the newest job's events and all counters, which are quick to read."""
    newest_job = tx.run(select(jobs.c.id).order_by(jobs.c.id.desc()).limit(1)).scalar()
    if newest_job is None:
        return None
    event = select(events.c.at).where(events.c.job_id == newest_job).order_by(events.c.id.desc()).limit(1)
    found = (tx.run(event).scalar(), tx.run(select(func.max(counters.c.last_at))).scalar())
    return max((at for at in found if at is not None), default=None)


def waiting(tx: Tx) -> Unattended:
    at_work = jobs.c.state.in_((JobState.RUNNING, JobState.PAUSING))
    held = alerts.c.cleared_at.is_(None)
    return Unattended(
        unfinished=_count(tx, jobs, at_work),
        # A dropped letter does not count, although its visit stays dead.
        dead_letters=_count(tx, alerts, held & (alerts.c.kind == AlertKind.DEAD_LETTER)),
        alerts=_count(tx, alerts, held),
    )


def _count(tx: Tx, table: Any, which: Any) -> int:
    return int(tx.run(select(func.count()).select_from(table).where(which)).scalar_one())
