"""What happened to a job, its sites and its visits, and why."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import insert, select

from gossamer.model.ids import new_id
from gossamer.store.tables import events
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Event:
    at: datetime
    kind: str
    who: str
    why: str
    site_id: UUID | None = None
    visit_id: UUID | None = None


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


def add_many(tx: Tx, happened: list[tuple[UUID, Event]]) -> None:
    tx.run_many(
        insert(events),
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
    return [Event(row.at, row.kind, row.who, row.why, row.site_id, row.visit_id) for row in tx.run(query)]
