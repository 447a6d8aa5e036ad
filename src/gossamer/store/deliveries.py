"""Messages to endpoints: what is due, what became of each try, and the log of it all."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, bindparam, delete, func, or_, select, update

from gossamer.clock import milliseconds
from gossamer.model.ids import fits
from gossamer.model.webhook import Attempt, Delivery, DeliveryState, EndpointState, EventType
from gossamer.store.endpoints import is_rested, wake
from gossamer.store.tx import Tx
from gossamer.store.types import EPOCH, MILLISECOND
from gossamer.store.webhook_tables import deliveries, endpoints

_ATTEMPTS_KEPT = 20
_AT_A_TIME = 1_000


_NOW = bindparam("now", type_=deliveries.c.due_at.type)
# Prepared once: whoever sends asks twice a second.
_ENDPOINTS_DUE = (
    select(deliveries.c.endpoint_id)
    .join(endpoints, endpoints.c.id == deliveries.c.endpoint_id)
    .where(deliveries.c.state == DeliveryState.PENDING, deliveries.c.due_at <= _NOW)
    .where(endpoints.c.state == EndpointState.ACTIVE, is_rested(_NOW))
    .where(or_(endpoints.c.lease.is_(None), endpoints.c.lease_until < _NOW))
    .group_by(deliveries.c.endpoint_id)
    .order_by(func.min(deliveries.c.due_at))
    .limit(bindparam("most"))
)


def endpoints_due(tx: Tx, limit: int) -> list[UUID]:
    """Endpoints that take something now and that nobody sends to, those first whose oldest message waits longest."""
    return list(tx.run(_ENDPOINTS_DUE, {"now": tx.now, "most": limit}).scalars())


def due(tx: Tx, endpoint_id: UUID, limit: int, only: UUID | None = None) -> list[Delivery]:
    wanted = _waits() & (deliveries.c.endpoint_id == endpoint_id) & (deliveries.c.due_at <= tx.now)
    if only:
        wanted &= deliveries.c.id == only
    query = select(deliveries).where(wanted).order_by(deliveries.c.due_at, deliveries.c.id).limit(limit)
    return [_delivery(row) for row in tx.run(query)]


def record(tx: Tx, delivery: Delivery, attempt: Attempt, state: DeliveryState, due_at: datetime | None) -> None:
    """What became of a try. The caller holds the endpoint."""
    attempts = [_kept(one) for one in (*delivery.attempts, attempt)][-_ATTEMPTS_KEPT:]
    changes: dict[str, Any] = {"state": state, "tries": delivery.tries + 1, "attempts": attempts}
    if due_at is not None:
        changes["due_at"] = due_at
    if state is DeliveryState.DELIVERED:
        changes["delivered_at"] = attempt.at
    tx.run(update(deliveries).where(deliveries.c.id == delivery.id, _waits()).values(**changes))


def replay_one(tx: Tx, account: str, identifier: UUID) -> Delivery | None:
    """Send once more what was sent or given up, or at once what waits. Under the same id."""
    _replay(tx, account, deliveries.c.id == identifier)
    found = get(tx, account, identifier)
    if found:
        wake(tx, found.endpoint_id)
    return found


def replay_failed(tx: Tx, account: str, endpoint_id: UUID, since: datetime | None) -> int:
    """All of an endpoint that were given up, or those made since then."""
    wanted = (deliveries.c.endpoint_id == endpoint_id) & (deliveries.c.state == DeliveryState.FAILED)
    again = _replay(tx, account, wanted if since is None else wanted & (deliveries.c.created_at >= since))
    if again:
        wake(tx, endpoint_id)
    return again


def _replay(tx: Tx, account: str, wanted: ColumnElement[bool]) -> int:
    again = {"state": DeliveryState.PENDING, "queued_at": tx.now, "due_at": tx.now, "tries": 0}
    return tx.run(update(deliveries).where(wanted, _of(account)).values(**again)).rowcount


def get(tx: Tx, account: str, identifier: UUID) -> Delivery | None:
    row = tx.run(select(deliveries).where(deliveries.c.id == identifier, _of(account))).first()
    return _delivery(row) if row else None


def log(
    tx: Tx,
    account: str,
    endpoint_id: UUID | None = None,
    state: DeliveryState | None = None,
    before: UUID | None = None,
    limit: int = 50,
) -> list[Delivery]:
    """Newest first. The next page is what stands before the last of this one."""
    query = select(deliveries).where(_of(account)).order_by(deliveries.c.id.desc()).limit(limit)
    if endpoint_id:
        query = query.where(deliveries.c.endpoint_id == endpoint_id)
    if state:
        query = query.where(deliveries.c.state == state)
    if before:
        query = query.where(deliveries.c.id < before)
    return [_delivery(row) for row in tx.run(query)]


def matching(tx: Tx, account: str, text: str, limit: int = 5) -> list[UUID]:
    """Those whose id these hexadecimal digits fit, newest first."""
    ids = tx.run(select(deliveries.c.id).where(_of(account)).order_by(deliveries.c.id.desc())).scalars()
    return [identifier for identifier in ids if fits(identifier, text)][:limit]


def waiting(tx: Tx) -> tuple[int, datetime | None]:
    """How many could be sent now, and since when the oldest of them waits."""
    query = (
        select(func.count().label("all"), func.min(deliveries.c.due_at).label("oldest"))
        .join(endpoints, endpoints.c.id == deliveries.c.endpoint_id)
        .where(_waits(), deliveries.c.due_at <= tx.now, endpoints.c.state == EndpointState.ACTIVE, is_rested(tx.now))
    )
    row = tx.run(query).one()
    return int(row.all), row.oldest


def count_pending(tx: Tx) -> int:
    """Those that were not tried to their end, be it their time or not."""
    return int(tx.run(select(func.count()).where(_waits())).scalar_one())


def forget_old(tx: Tx, kept: timedelta) -> int:
    """A step of it: what was settled so long ago goes from the log."""
    old = ~_waits() & (deliveries.c.queued_at < tx.now - kept)
    some = select(deliveries.c.id).where(old).limit(_AT_A_TIME)
    return tx.run(delete(deliveries).where(deliveries.c.id.in_(some))).rowcount


def _waits() -> ColumnElement[bool]:
    return deliveries.c.state == DeliveryState.PENDING


def _of(account: str) -> ColumnElement[bool]:
    return deliveries.c.endpoint_id.in_(select(endpoints.c.id).where(endpoints.c.account == account))


def _kept(one: Attempt) -> list[Any]:
    return [milliseconds(one.at), one.status, one.milliseconds, one.error]


def _delivery(row: Row[Any]) -> Delivery:
    return Delivery(
        id=row.id,
        endpoint_id=row.endpoint_id,
        type=EventType(row.type),
        job_id=row.job_id,
        body=row.body,
        state=DeliveryState(row.state),
        created_at=row.created_at,
        queued_at=row.queued_at,
        due_at=row.due_at,
        tries=row.tries,
        attempts=tuple(Attempt(EPOCH + at * MILLISECOND, *rest) for at, *rest in row.attempts),
        delivered_at=row.delivered_at,
    )
