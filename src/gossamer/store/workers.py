"""Working processes, of a cluster or a home: they write that they live, and are forgotten when they no longer do."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, exists, func, select

from gossamer.model.states import VisitState
from gossamer.model.worker import SILENT_AFTER, Worker
from gossamer.store.tables import visits, workers
from gossamer.store.tx import Tx

# Those there have been from the beginning: who is at work is asked of a database that is yet to be upgraded, too.
_COLUMNS = tuple(workers.c[name] for name in ("id", "host", "pid", "lanes", "version", "started_at", "beat_at"))


def beat(tx: Tx, worker: Worker) -> None:
    """It lives, and has this much room. The database says when that was."""
    row = {name: getattr(worker, name) for name in ("id", "host", "pid", "version")}
    fresh = tx.dialect.insert(workers).values(**row, lanes=dict(worker.lanes), started_at=tx.now, beat_at=tx.now)
    said = {name: fresh.excluded[name] for name in ("lanes", "beat_at")}
    tx.run(fresh.on_conflict_do_update(index_elements=["id"], set_=said))


def leave(tx: Tx, worker: str) -> None:
    tx.run(delete(workers).where(workers.c.id == worker))


def leave_home(tx: Tx, home: str) -> None:
    """Remove all processes of a home: none of them is left."""
    tx.run(delete(workers).where(workers.c.id.startswith(f"{home}/", autoescape=True)))


def known(tx: Tx) -> list[Worker]:
    """All of them, with what they hold, by name; the silent ones too, until they are forgotten."""
    held = (
        select(visits.c.worker, func.count().label("holds"))
        .where(visits.c.state == VisitState.RUNNING)
        .group_by(visits.c.worker)
        .subquery()
    )
    query = (
        select(*_COLUMNS, func.coalesce(held.c.holds, 0).label("holds"))
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
    """The room of every worker that lives, per lane."""
    alive = select(workers.c.id, workers.c.lanes).where(workers.c.beat_at > tx.now - SILENT_AFTER)
    return {row.id: dict(row.lanes) for row in tx.run(alive)}


def any_alive(tx: Tx) -> bool:
    return bool(tx.run(select(exists().where(workers.c.beat_at > tx.now - SILENT_AFTER))).scalar())


def any_silent(tx: Tx) -> bool:
    """Whether some have not been heard of for a while, and are not forgotten yet."""
    return bool(tx.run(select(exists().where(workers.c.beat_at <= tx.now - SILENT_AFTER))).scalar())


@dataclass(frozen=True, slots=True)
class LostHost:
    """A machine of which no worker has been heard of for a while."""

    host: str
    workers: int
    heard: datetime


def hosts(tx: Tx) -> tuple[list[LostHost], list[str]]:
    """The machines that have vanished without ending their workers, and those that live."""
    heard = func.max(workers.c.beat_at)
    query = select(workers.c.host, func.count().label("workers"), heard.label("heard")).group_by(workers.c.host)
    found = tx.run(query.order_by(workers.c.host)).all()
    silent = [row for row in found if row.heard <= tx.now - SILENT_AFTER]
    living = [row.host for row in found if row.heard > tx.now - SILENT_AFTER]
    return [LostHost(row.host, row.workers, row.heard) for row in silent], living


def forget_silent(tx: Tx, after: timedelta) -> list[str]:
    """Those not heard of for so long are gone for good."""
    gone = delete(workers).where(workers.c.beat_at <= tx.now - after).returning(workers.c.id)
    return list(tx.run(gone).scalars())
