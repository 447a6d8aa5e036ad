"""What a database can say of itself and of what is in it, for those who look after it."""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import exists, func, select, text
from sqlalchemy.exc import OperationalError

from gossamer.model.alert import AlertKind
from gossamer.model.states import JobState, VisitState
from gossamer.store import workers
from gossamer.store.tables import alerts, counters, events, jobs, places, visits
from gossamer.store.tx import Tx

_SOON = timedelta(seconds=30)  # after which a visit that is due should have been taken
_LOOK_AT_THE_TIME = 10_000  # steps of SQLite's machine between two looks


@dataclass(frozen=True, slots=True)
class Server:
    """A Postgres server as it is now."""

    version: str
    connections: int
    most_connections: int


@dataclass(frozen=True, slots=True)
class Unattended:
    """What in the rows waits for a person."""

    unfinished: int  # jobs that should be worked
    dead_letters: int
    alerts: int


@dataclass(frozen=True, slots=True)
class Labour:
    """What can be seen of the work."""

    jobs: int  # at work
    stalled: int  # visits whose lease has not been renewed for long
    waits: bool  # visits that nobody has taken though they were due
    is_manned: bool  # somebody is there to take some


def database_time(tx: Tx) -> datetime:
    """What time it is for the rows."""
    return tx.now


def working_home(tx: Tx) -> str | None:
    """The name of the home whose runner works this database now."""
    query = select(places.c.holder).where(places.c.place == "runner", places.c.until > tx.now)
    home: str | None = tx.run(query).scalar()
    return home


def labour(tx: Tx, lease: timedelta) -> Labour:
    """Whether jobs are at work, and visits of them wait or are held by somebody who no longer shows that they live."""
    running = select(jobs.c.id).where(jobs.c.state.in_((JobState.RUNNING, JobState.PAUSING)))
    at_work = int(tx.run(select(func.count()).select_from(running.subquery())).scalar_one())
    if not at_work:
        return Labour(0, 0, waits=False, is_manned=False)
    # A lease is renewed four times while it lasts, unless the event loop of its process stands still.
    unseen = (visits.c.state == VisitState.RUNNING) & (visits.c.lease_until < tx.now + lease / 3)
    due = visits.c.job_id.in_(running) & (visits.c.state == VisitState.READY) & (visits.c.due_at < tx.now - _SOON)
    return Labour(
        jobs=at_work,
        stalled=int(tx.run(select(func.count()).select_from(visits).where(unseen)).scalar_one()),
        waits=bool(tx.run(select(exists().where(due))).scalar()),
        is_manned=bool(working_home(tx)) or workers.any_alive(tx),
    )


def server(tx: Tx) -> Server | None:
    """None where there is no server, only a file."""
    if not tx.dialect.row_locks:
        return None
    version, most = (tx.run(text(f"SHOW {name}")).scalar_one() for name in ("server_version", "max_connections"))
    return Server(version.split()[0], tx.run(text("SELECT count(*) FROM pg_stat_activity")).scalar_one(), int(most))


def flaw(tx: Tx, patience: timedelta) -> str | None:
    """The first thing SQLite finds wrong with its file; "" for nothing, None if it could not finish in time."""
    driver: Any = tx.conn.connection.driver_connection
    until = time.monotonic() + patience.total_seconds()
    driver.set_progress_handler(lambda: time.monotonic() > until, _LOOK_AT_THE_TIME)
    try:
        said = str(tx.run(text("PRAGMA quick_check(1)")).scalar_one())
    except OperationalError as error:
        if "interrupted" not in str(error.orig):
            raise
        return None
    finally:
        driver.set_progress_handler(None, 0)
    return "" if said == "ok" else " ".join(said.split())


def clock_ahead(tx: Tx, now: datetime) -> timedelta:
    """How far the clock that rows are written by is ahead of `now`."""
    return tx.now - now


def newest_moment(tx: Tx) -> datetime | None:
    """When something was last written: by the newest job's events and by all counters, both quick to read."""
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
        # A letter that was dropped is nobody's concern any more, though its visit stays dead.
        dead_letters=_count(tx, alerts, held & (alerts.c.kind == AlertKind.DEAD_LETTER)),
        alerts=_count(tx, alerts, held),
    )


def _count(tx: Tx, table: Any, which: Any) -> int:
    return int(tx.run(select(func.count()).select_from(table).where(which)).scalar_one())
