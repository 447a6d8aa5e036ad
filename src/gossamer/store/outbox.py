"""Messages to webhook endpoints, written in the transaction of the event itself, so that none is lost.

Without endpoints this costs one read of a small table per change of a job's state, and nothing per
page.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import BindParameter, ColumnElement, Row, bindparam, delete, func, insert, or_, select, update

from gossamer.db.tables import deliveries, endpoint_pages, endpoints, jobs
from gossamer.db.transactions import Tx
from gossamer.db.types import dumps
from gossamer.model.export import RESULT, Export
from gossamer.model.ids import new_id
from gossamer.model.money import ACCOUNT, Budget, Scope
from gossamer.model.states import JobState
from gossamer.model.webhook import DeliveryState, Endpoint, EndpointState, EventType
from gossamer.store import counters


def endpoint_of(row: Row[Any]) -> Endpoint:
    return Endpoint(
        id=row.id,
        account=row.account,
        url=row.url,
        events=frozenset(map(EventType, row.events)),
        state=EndpointState(row.state),
        reason=row.reason,
        created_at=row.created_at,
        failing_since=row.failing_since,
        failures=row.failures,
        not_before=row.not_before,
    )


PAGES_AT_LEAST = 100  # ended pages per message,
PAGES_AFTER = timedelta(seconds=10)  # unless the last message is this old

_MOVES = {
    JobState.PAUSED: EventType.JOB_PAUSED,
    JobState.COMPLETED: EventType.JOB_COMPLETED,
    JobState.FAILED: EventType.JOB_FAILED,
    JobState.CANCELLED: EventType.JOB_CANCELLED,
}
_LISTENING = select(endpoints).where(
    endpoints.c.account == bindparam("account"), endpoints.c.state == EndpointState.ACTIVE
)


_WHOSE = select(jobs.c.account_id).where(jobs.c.id == bindparam("job"))


def account_of(tx: Tx, job_id: UUID) -> str:
    """Return the account of a job; the operator's for a deleted job."""
    return str(tx.run(_WHOSE, {"job": job_id}).scalar() or ACCOUNT)


def job_moved(tx: Tx, job_id: UUID, target: JobState, *, first: bool, account: str | None = None) -> None:
    """Add the event that a job changed its state; `first`: it runs for the first time."""
    if target is JobState.RUNNING:
        kind = EventType.JOB_STARTED if first else EventType.JOB_RESUMED
    elif target in _MOVES:
        kind = _MOVES[target]
    else:
        return
    listening = _listening(tx, account or account_of(tx, job_id))
    followers = [one for one in listening if one.wants(EventType.JOB_PAGES)]
    if followers and target is JobState.RUNNING:
        _follow_pages(tx, job_id, followers)
    elif followers:
        _last_pages(tx, job_id, {one.id: one for one in followers})
    wanting = [one for one in listening if one.wants(kind)]
    if wanting:
        _add(tx, wanting, kind, _about(tx, job_id), job_id)


def export_ready(tx: Tx, export: Export, *, rows: int, size: int, sha256: str, expires_at: datetime) -> None:
    data = {
        "export_id": str(export.id),
        "job_id": str(export.job_id),
        "type": export.type,
        "format": export.format,
        "name": export.name,
        "partial": export.partial,
        "rows": rows,
        "size": size,
        "sha256": sha256,
        "expires_at": stamp(expires_at),
    }
    kind = EventType.RESULT_READY if export.type == RESULT else EventType.EXPORT_READY
    tell(tx, account_of(tx, export.job_id), kind, data, export.job_id)


def budget_reached(tx: Tx, budget: Budget, sentence: str) -> None:
    """Add the event that spending passed a further warning level of a cap.

    Events of the system's budget go to the operator.
    """
    key = budget.key
    account = account_of(tx, key.job_id) if key.job_id else key.subject if key.scope is Scope.ACCOUNT else ACCOUNT
    data = {
        "percent": budget.told,
        "scope": str(key.scope),
        "job_id": str(key.job_id) if key.job_id else None,
        "period": key.period,
        "sentence": sentence,
        "spent": {"credits": budget.spent.credits, "usd": budget.spent.micros / 1e6, "bytes": budget.spent.bytes},
        "limit": {
            "credits": budget.cap.credits,
            "usd": None if budget.cap.micros is None else budget.cap.micros / 1e6,
            "bytes": budget.cap.bytes,
        },
    }
    tell(tx, account, EventType.BUDGET_REACHED, data, key.job_id)


def alert_fired(tx: Tx, kind: str, sentence: str, job_id: UUID | None) -> None:
    """Send an alert's message to the account of its job; for a system alert, to the operator."""
    account = account_of(tx, job_id) if job_id else ACCOUNT
    data = {"kind": str(kind), "sentence": sentence, "job_id": str(job_id) if job_id else None}
    tell(tx, account, EventType.ALERT_FIRED, data, job_id)


def tell(tx: Tx, account: str, kind: EventType, data: Mapping[str, Any], job_id: UUID | None = None) -> int:
    """Queue a message for every subscribed endpoint of an account; return their number."""
    wanting = [one for one in _listening(tx, account) if one.wants(kind)]
    _add(tx, wanting, kind, data, job_id)
    return len(wanting)


def tell_one(tx: Tx, endpoint: Endpoint, kind: EventType, data: Mapping[str, Any]) -> UUID:
    """Queue a message for one endpoint, whatever it is subscribed to; return its id."""
    return _add(tx, [endpoint], kind, data, None)[0]


def pages_wanted(tx: Tx) -> bool:
    """Return True if any endpoint subscribes to page events."""
    wanting = select(endpoints.c.id).where(endpoints.c.pages, endpoints.c.state == EndpointState.ACTIVE)
    return tx.run(wanting.limit(1)).first() is not None


def tell_pages(tx: Tx) -> int:
    """Queue page events of all running jobs with enough newly ended pages; return the number of messages."""
    wanting = select(endpoints).where(endpoints.c.pages, endpoints.c.state == EndpointState.ACTIVE)
    followers = {row.id: endpoint_of(row) for row in tx.run(wanting)}
    running = set(tx.run(select(jobs.c.id).where(jobs.c.state == JobState.RUNNING)).scalars())
    for job_id in running:
        # A new subscriber gets only pages that end from now on.
        account = account_of(tx, job_id)
        _follow_pages(tx, job_id, [one for one in followers.values() if one.account == account])
    told = 0
    for row in tx.run(select(endpoint_pages)).all():
        if row.job_id not in running or row.endpoint_id not in followers:
            tx.run(delete(endpoint_pages).where(_place(row.endpoint_id, row.job_id)))
        else:
            long_ago = tx.now - row.at >= PAGES_AFTER
            told += _tell_pages(tx, followers[row.endpoint_id], row, 1 if long_ago else PAGES_AT_LEAST)
    return told


def _last_pages(tx: Tx, job_id: UUID, followers: Mapping[UUID, Endpoint]) -> None:
    """Send the remaining page events of a job that has stopped, before the message about its stop."""
    for row in tx.run(select(endpoint_pages).where(endpoint_pages.c.job_id == job_id)).all():
        if row.endpoint_id in followers:
            _tell_pages(tx, followers[row.endpoint_id], row, 1)
    tx.run(delete(endpoint_pages).where(endpoint_pages.c.job_id == job_id))


def _tell_pages(tx: Tx, to: Endpoint, row: Row[Any], least: int) -> bool:
    ended = _ended(tx, row.job_id)
    # A retry may have reduced the number.
    if ended >= row.pages and ended - row.pages < least:
        return False
    mine = update(endpoint_pages).where(_place(to.id, row.job_id), endpoint_pages.c.pages == row.pages)
    # Another process may report the same pages: only one of the two updates the row.
    if not tx.run(mine.values(pages=ended, at=tx.now)).rowcount or ended < row.pages:
        return False
    _add(tx, [to], EventType.JOB_PAGES, {**_about(tx, row.job_id), "batch": ended - row.pages}, row.job_id)
    return True


def _place(endpoint_id: UUID, job_id: UUID) -> ColumnElement[bool]:
    return (endpoint_pages.c.endpoint_id == endpoint_id) & (endpoint_pages.c.job_id == job_id)


def _follow_pages(tx: Tx, job_id: UUID, followers: Iterable[Endpoint]) -> None:
    rows = [{"endpoint_id": one.id, "job_id": job_id, "at": tx.now} for one in followers]
    if rows:
        ended = _ended(tx, job_id)
        fresh = tx.dialect.insert_new(endpoint_pages)
        tx.run_many(fresh, [{**row, "pages": ended} for row in rows])


def _ended(tx: Tx, job_id: UUID) -> int:
    progress = counters.progress(tx, job_id)
    return progress.pages_done + progress.pages_failed + progress.pages_skipped


def _about(tx: Tx, job_id: UUID) -> dict[str, Any]:
    """Return the data of a job for its messages: small, and without results."""
    job = tx.run(select(jobs).where(jobs.c.id == job_id)).one()
    progress = counters.progress(tx, job_id)
    return {
        "job_id": str(job_id),
        "name": job.name,
        "recipe": job.recipe,
        "state": job.state,
        "reason": job.reason,
        "sites": {
            "total": progress.sites_total,
            "done": progress.sites_done,
            "failed": progress.sites_failed,
            "partial": progress.sites_partial,
        },
        "pages": {"done": progress.pages_done, "failed": progress.pages_failed, "skipped": progress.pages_skipped},
        "records": progress.records,
    }


def _listening(tx: Tx, account: str) -> list[Endpoint]:
    return [endpoint_of(row) for row in tx.run(_LISTENING, {"account": account})]


def _add(tx: Tx, to: Iterable[Endpoint], kind: EventType, data: Mapping[str, Any], job_id: UUID | None) -> list[UUID]:
    body = dumps({"type": kind, "timestamp": stamp(tx.now), "data": data})
    rows: list[dict[str, Any]] = [
        {
            "id": new_id(tx.now),
            "endpoint_id": one.id,
            "type": kind,
            "job_id": job_id,
            "body": body,
            "state": DeliveryState.PENDING,
            "created_at": tx.now,
            "queued_at": tx.now,
            "due_at": tx.now,
            "tries": 0,
            "attempts": [],
        }
        for one in to
    ]
    tx.run_many(insert(deliveries), rows)
    return [row["id"] for row in rows]


def stamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_rested(now: datetime | BindParameter[Any]) -> ColumnElement[bool]:
    return or_(endpoints.c.not_before.is_(None), endpoints.c.not_before <= now)


NOW = bindparam("now", type_=deliveries.c.due_at.type)


def waiting(tx: Tx) -> tuple[int, datetime | None]:
    """Return the number of messages that could be sent now, and since when the oldest of them has waited."""
    query = (
        select(func.count().label("all"), func.min(deliveries.c.due_at).label("oldest"))
        .join(endpoints, endpoints.c.id == deliveries.c.endpoint_id)
        .where(
            still_waits(), deliveries.c.due_at <= tx.now, endpoints.c.state == EndpointState.ACTIVE, is_rested(tx.now)
        )
    )
    row = tx.run(query).one()
    return int(row.all), row.oldest


def still_waits() -> ColumnElement[bool]:
    return deliveries.c.state == DeliveryState.PENDING
