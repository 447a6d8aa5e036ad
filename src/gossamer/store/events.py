"""Events of a job, its sites and its visits, with their reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, insert, select

from gossamer.db.bulk import BulkStatement
from gossamer.db.tables import events, sites
from gossamer.db.transactions import Tx
from gossamer.model.ids import new_id

STEP = 5_000  # events looked at in one read


@dataclass(frozen=True, slots=True)
class Event:
    at: datetime
    kind: str
    who: str
    why: str
    site_id: UUID | None = None
    visit_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """An event for display, with the host of its site; the host is "" if the event is about the job itself."""

    id: UUID
    event: Event
    host: str


def add(
    tx: Tx,
    job_id: UUID,
    kind: str,
    why: str = "",
    *,
    who: str = "",
    site_id: UUID | None = None,
    visit_id: UUID | None = None,
) -> None:
    add_many(tx, [(job_id, Event(tx.now, kind, who, why, site_id, visit_id))])


def stopped_by(tx: Tx, job_id: UUID) -> str:
    """Return the cause of a job's pause: the kind of alert if it was automatic; "" if it was started since."""
    moves = (events.c.job_id == job_id) & events.c.kind.in_(("job.pausing", "job.running"))
    last = tx.run(select(events.c.kind, events.c.who).where(moves).order_by(events.c.id.desc()).limit(1)).first()
    return last.who if last and last.kind == "job.pausing" else ""


_ADD = BulkStatement(insert(events))


def add_many(tx: Tx, happened: Sequence[tuple[UUID, Event]]) -> None:
    """Insert events in one statement: every change of a visit's state adds one."""
    _ADD.run(
        tx,
        [
            {
                "job_id": job_id,
                "id": new_id(tx.now),
                "site_id": event.site_id,
                "visit_id": event.visit_id,
                "at": event.at,
                "kind": event.kind,
                "who": event.who,
                "why": event.why,
            }
            for job_id, event in happened
        ],
    )


def of_job(tx: Tx, job_id: UUID, limit: int = 1000) -> list[Event]:
    query = select(events).where(events.c.job_id == job_id).order_by(events.c.id).limit(limit)
    return [_event(row) for row in tx.run(query)]


def latest(tx: Tx, job_id: UUID, limit: int) -> list[Line]:
    """Return the latest events of a job's sites and visits, newest first."""
    return _lines(tx, job_id, events.c.site_id.is_not(None), limit=limit)


def step_back(tx: Tx, job_id: UUID, site_id: UUID | None, before: UUID | None) -> tuple[list[Line], UUID | None]:
    """Return the events of a site, or of the job itself for None, within `STEP` events before one.

    Newest first. The second value is where the next step begins; None at the beginning of the job.
    """
    earlier = events.c.job_id == job_id
    if before:
        earlier &= events.c.id < before
    ids = select(events.c.id).where(earlier).order_by(events.c.id.desc())
    since: UUID | None = tx.run(ids.offset(STEP - 1).limit(1)).scalar()
    wanted = earlier & (events.c.site_id == site_id if site_id else events.c.site_id.is_(None))
    if since:
        wanted &= events.c.id >= since
    return _lines(tx, job_id, wanted, limit=STEP), since


def _lines(tx: Tx, job_id: UUID, wanted: ColumnElement[bool], limit: int) -> list[Line]:
    query = (
        select(events, sites.c.host)
        .join(sites, sites.c.id == events.c.site_id, isouter=True)
        .where(events.c.job_id == job_id, wanted)
        .order_by(events.c.id.desc())
        .limit(limit)
    )
    return [Line(row.id, _event(row), row.host or "") for row in tx.run(query)]


def _event(row: Row[Any]) -> Event:
    return Event(row.at, row.kind, row.who, row.why, row.site_id, row.visit_id)


def happened(tx: Tx, job_id: UUID, after: UUID | None, limit: int) -> list[Line]:
    """Return events of a job and its sites after one, oldest first, without those of visits."""
    wanted = (events.c.job_id == job_id) & events.c.visit_id.is_(None)
    if after:
        wanted &= events.c.id > after
    query = select(events, sites.c.host).join(sites, sites.c.id == events.c.site_id, isouter=True).where(wanted)
    rows = tx.run(query.order_by(events.c.id).limit(limit))
    return [Line(row.id, Event(row.at, row.kind, row.who, row.why, row.site_id), row.host or "") for row in rows]


def last_event(tx: Tx, job_id: UUID) -> UUID | None:
    query = select(events.c.id).where(events.c.job_id == job_id).order_by(events.c.id.desc()).limit(1)
    found: UUID | None = tx.run(query).scalar()
    return found


def forgot_at(tx: Tx, job_id: UUID) -> list[datetime]:
    """Return the times at which data of a job was erased."""
    query = select(events.c.at).where(events.c.job_id == job_id, events.c.kind == "job.forgot")
    return list(tx.run(query.order_by(events.c.id)).scalars())
