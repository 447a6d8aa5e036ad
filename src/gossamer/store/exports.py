"""Exports: files made from a job's rows.

The process that makes a file holds a lease, whose token fences every write.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, bindparam, delete, exists, func, insert, or_, select, update

from gossamer.db.tables import exports, jobs
from gossamer.db.transactions import Tx
from gossamer.model.export import OPEN, Export, ExportRequest, ExportState
from gossamer.model.ids import new_id
from gossamer.model.rungs import Lane
from gossamer.model.states import JobState
from gossamer.store import outbox, workers

MOST_TRIES = 3  # that ended with the death of the worker

_FREED = {"lease": None, "lease_until": None, "worker": None}


def add(tx: Tx, job_id: UUID, wanted: Sequence[ExportRequest], home: str) -> list[Export]:
    """Add one row per file, to be made by `home`, or by any worker if that is empty."""
    rows = [
        {
            "id": new_id(tx.now),
            "job_id": job_id,
            "type": one.type,
            "format": one.format,
            "options": dict(one.options),
            "name": one.name,
            "partial": one.partial,
            "state": ExportState.PENDING,
            "reason": "",
            "home": home,
            "spooled": False,
            "tries": 0,
            "rows_done": 0,
            "rows_total": 0,
            "created_at": tx.now,
        }
        for one in wanted
    ]
    tx.run_many(insert(exports), rows)
    ids = [row["id"] for row in rows]
    return _found(tx, exports.c.id.in_(ids))


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file made before the completion of its job; `reason` is set if making it failed."""

    wanted: ExportRequest
    key: str
    home: str = ""
    spooled: bool = False
    size: int = 0
    sha256: str = ""
    rows: int = 0
    reason: str = ""


def register(tx: Tx, job_id: UUID, made: Sequence[MadeFile]) -> None:
    """Add the files of a job that is completed in this transaction; earlier files of the same names expire."""
    for one in made:
        same = (exports.c.job_id == job_id) & (exports.c.type == one.wanted.type) & (exports.c.name == one.wanted.name)
        there = same & exports.c.blob_key.is_not(None) & (exports.c.blob_key != one.key)
        tx.run(update(exports).where(there).values(expires_at=tx.now))
        (export,) = add(tx, job_id, [one.wanted], one.home)
        this = update(exports).where(exports.c.id == export.id)
        if one.reason:
            tx.run(this.values(state=ExportState.FAILED, reason=one.reason, finished_at=tx.now))
            continue
        until = tx.now + export.kept
        values = {"state": ExportState.DONE, "blob_key": one.key, "spooled": one.spooled, "size": one.size}
        values |= {"sha256": one.sha256, "rows_done": one.rows, "rows_total": one.rows}
        tx.run(this.values(**values, finished_at=tx.now, expires_at=until))
        outbox.export_ready(tx, export, rows=one.rows, size=one.size, sha256=one.sha256, expires_at=until)


def get(tx: Tx, export_id: UUID) -> Export | None:
    return next(iter(_found(tx, exports.c.id == export_id)), None)


def of_job(tx: Tx, job_id: UUID) -> list[Export]:
    """Return a job's exports, oldest first."""
    return _found(tx, exports.c.job_id == job_id)


def any_open(tx: Tx, home: str, job_id: UUID | None = None) -> bool:
    """Return True if this data folder has files to make, or some are being made."""
    wanted = exports.c.state.in_(OPEN) & exports.c.home.in_(("", home))
    if job_id:
        wanted &= exports.c.job_id == job_id
    return bool(tx.run(select(exists().where(wanted))).scalar())


# Prepared once: the runner asks twice a second.
_WAITING = select(func.count()).where(
    exports.c.state == ExportState.PENDING, or_(exports.c.home == "", exports.c.home == bindparam("home"))
)


def count_waiting(tx: Tx, home: str) -> int:
    """Count the files for this data folder that are not being made yet."""
    return int(tx.run(_WAITING, {"home": home}).scalar_one())


def any_unmade(tx: Tx, home: str) -> bool:
    """Return True if a file waits that this data folder has to make.

    Either no other can make it, or any may, but no worker of the database makes files.
    """
    waits = select(exports.c.home).where(exports.c.state == ExportState.PENDING, exports.c.home.in_(("", home)))
    homes = set(tx.run(waits.distinct()).scalars())
    return home in homes or ("" in homes and not any(Lane.DESK in room for room in workers.rooms(tx).values()))


def left_behind(tx: Tx, home: str) -> list[Export]:
    """Return exports that wait for another try and may have an incomplete file from the last one."""
    waits = (exports.c.state == ExportState.PENDING) & exports.c.blob_key.is_not(None)
    return _found(tx, waits & exports.c.home.in_(("", home)))


def claim(
    tx: Tx, worker: str, home: str, token: UUID, lease: timedelta, only: Collection[UUID] | None = None
) -> Export | None:
    """Lease the oldest waiting export of this data folder, or of `only`.

    The lease lasts as long as it is renewed.
    """
    if ours := _found(tx, (exports.c.state == ExportState.RUNNING) & (exports.c.lease == token)):
        return ours[0]  # repeated after a commit that was not confirmed
    wanted = (exports.c.state == ExportState.PENDING) & exports.c.home.in_(("", home))
    if only is not None:
        wanted &= exports.c.id.in_(only)
    oldest = select(exports.c.id).where(wanted).order_by(exports.c.id).limit(1)
    found = tx.run(oldest.with_for_update(skip_locked=True) if tx.dialect.row_locks else oldest).scalar()
    export = get(tx, found) if found else None
    if found is None or export is None:
        return None
    # The key is stored before the first byte is written, so that the file of a dead worker can be removed.
    held = {"lease": token, "lease_until": tx.now + lease, "worker": worker, "blob_key": export.key_of(token)}
    start = update(exports).where(exports.c.id == found, exports.c.state == ExportState.PENDING)
    if not tx.run(start.values(**held, state=ExportState.RUNNING, rows_done=0)).rowcount:
        return None
    return get(tx, found)


def beat(tx: Tx, export: Export, rows_done: int, rows_total: int, lease: timedelta) -> bool:
    """Renew the lease and store the progress. False if the export was cancelled, or another worker has it."""
    values = {"rows_done": rows_done, "rows_total": max(rows_done, rows_total), "lease_until": tx.now + lease}
    return bool(tx.run(update(exports).where(_held(export)).values(**values)).rowcount)


def finish(
    tx: Tx, export: Export, *, rows: int, size: int, sha256: str, home: str, spooled: bool, kept: timedelta
) -> bool:
    """Mark the file as done. False if the export was cancelled, or another worker makes it."""
    values = {
        "state": ExportState.DONE,
        "rows_done": rows,
        "rows_total": rows,
        "size": size,
        "sha256": sha256,
        "home": home,
        "spooled": spooled,
        "finished_at": tx.now,
        "expires_at": tx.now + kept,
    }
    if not tx.run(update(exports).where(_held(export)).values(**_FREED, **values)).rowcount:
        return False
    outbox.export_ready(tx, export, rows=rows, size=size, sha256=sha256, expires_at=tx.now + kept)
    return True


def fail(tx: Tx, export: Export, reason: str) -> bool:
    values = {"state": ExportState.FAILED, "reason": reason, "finished_at": tx.now}
    return bool(tx.run(update(exports).where(_held(export)).values(**_FREED, **values)).rowcount)


def give_back(tx: Tx, export: Export) -> bool:
    """Return an export that we stop working on, without counting a failure; it starts anew next time."""
    values = {"state": ExportState.PENDING, "rows_done": 0}
    return bool(tx.run(update(exports).where(_held(export)).values(**_FREED, **values)).rowcount)


def _held(export: Export) -> ColumnElement[bool]:
    return (exports.c.id == export.id) & (exports.c.state == ExportState.RUNNING) & (exports.c.lease == export.lease)


def cancel(tx: Tx, job_id: UUID, only: Collection[UUID] | None = None) -> int:
    """Cancel the unfinished exports of a job, or some of them; return their number."""
    wanted = (exports.c.job_id == job_id) & exports.c.state.in_(OPEN)
    if only is not None:
        wanted &= exports.c.id.in_(only)
    values = {"state": ExportState.CANCELLED, "finished_at": tx.now}
    return tx.run(update(exports).where(wanted).values(**_FREED, **values)).rowcount


def take_back(tx: Tx) -> int:
    """Return exports with expired leases to the queue, or fail them after too many tries; return their number."""
    lost = _lost(tx)
    values = {"state": ExportState.FAILED, "finished_at": tx.now, "reason": f"Given up after {MOST_TRIES} tries."}
    tx.run(update(exports).where(lost, exports.c.tries >= MOST_TRIES - 1).values(**_FREED, **values))
    again = {"state": ExportState.PENDING, "rows_done": 0, "tries": exports.c.tries + 1}
    return tx.run(update(exports).where(lost).values(**_FREED, **again)).rowcount


def any_lost(tx: Tx) -> bool:
    """Return True if the lease of any export has expired."""
    return bool(tx.run(select(exists().where(_lost(tx)))).scalar())


def _lost(tx: Tx) -> ColumnElement[bool]:
    return (exports.c.state == ExportState.RUNNING) & (exports.c.lease_until < tx.now)


def expire_of_job(tx: Tx, job_id: UUID) -> None:
    """Cancel a job's exports and let its files expire, because its results must not be available any longer."""
    cancel(tx, job_id)
    there = (exports.c.job_id == job_id) & exports.c.blob_key.is_not(None)
    tx.run(update(exports).where(there).values(expires_at=tx.now))


def expired(tx: Tx, home: str, *, remote: bool, limit: int = 100) -> list[Export]:
    """Return the files reachable from this data folder that have expired or are not needed any more."""
    return _found(tx, _due(tx) & _reachable(home, remote=remote), limit)


def count_expired(tx: Tx) -> int:
    """Count the expired files that still exist, on any storage."""
    return int(tx.run(select(func.count()).where(_due(tx))).scalar_one())


def count_spooled(tx: Tx, home: str, older_than: timedelta) -> int:
    """Count files of this age on the disk of a data folder that wait for object storage."""
    there = exports.c.spooled & exports.c.blob_key.is_not(None) & (exports.c.home == home)
    query = select(func.count()).where(there, exports.c.finished_at < tx.now - older_than)
    return int(tx.run(query).scalar_one())


def spooled(tx: Tx, home: str, limit: int = 100) -> list[Export]:
    """Return files on the disk of a data folder that belong in object storage."""
    there = exports.c.spooled & exports.c.blob_key.is_not(None) & (exports.c.home == home)
    there &= exports.c.state == ExportState.DONE
    return _found(tx, there, limit)


def moved(tx: Tx, export: Export) -> bool:
    """Mark a file as moved to object storage. False: it was deleted meanwhile."""
    this = (exports.c.id == export.id) & (exports.c.blob_key == export.blob_key)
    tx.run(update(exports).where(this, exports.c.spooled).values(home="", spooled=False))
    return bool(_found(tx, this & (exports.c.home == "")))  # also True if repeated


def forget_file(tx: Tx, export: Export) -> None:
    """Mark a file as deleted. The row is kept until its job is archived."""
    this = (exports.c.id == export.id) & (exports.c.blob_key == export.blob_key)
    tx.run(update(exports).where(this).values(blob_key=None, spooled=False))
    archived = select(jobs.c.id).where(jobs.c.state == JobState.ARCHIVED)
    ended = exports.c.state.not_in(OPEN) & exports.c.blob_key.is_(None)
    tx.run(delete(exports).where(ended, exports.c.job_id.in_(archived)))


def _due(tx: Tx) -> ColumnElement[bool]:
    unwanted = exports.c.state.in_((ExportState.FAILED, ExportState.CANCELLED))
    old = (exports.c.state == ExportState.DONE) & (exports.c.expires_at <= tx.now)
    return exports.c.blob_key.is_not(None) & (unwanted | old)


def _reachable(home: str, *, remote: bool) -> ColumnElement[bool]:
    return or_(exports.c.home == home, exports.c.home == "") if remote else exports.c.home == home


def _found(tx: Tx, wanted: ColumnElement[bool], limit: int | None = None) -> list[Export]:
    query = select(exports).where(wanted).order_by(exports.c.id).limit(limit)
    return [_export(row) for row in tx.run(query)]


def _export(row: Row[Any]) -> Export:
    return Export(
        id=row.id,
        job_id=row.job_id,
        type=row.type,
        format=row.format,
        options=row.options,
        name=row.name,
        partial=row.partial,
        state=ExportState(row.state),
        reason=row.reason,
        home=row.home,
        spooled=row.spooled,
        rows_done=row.rows_done,
        rows_total=row.rows_total,
        blob_key=row.blob_key,
        size=row.size,
        sha256=row.sha256,
        created_at=row.created_at,
        finished_at=row.finished_at,
        expires_at=row.expires_at,
        lease=row.lease,
    )
