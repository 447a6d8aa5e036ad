"""Queries of webhooks: endpoints of accounts, and the log of messages to them. Requests of users name the account."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, bindparam, delete, func, insert, or_, select, true, update

from gossamer.clock import milliseconds
from gossamer.db.tables import deliveries, endpoint_keys, endpoints
from gossamer.db.transactions import Tx
from gossamer.db.types import EPOCH, MILLISECOND
from gossamer.model.alert import AlertKind
from gossamer.model.ids import fits, new_id
from gossamer.model.webhook import Delivery, DeliveryAttempt, DeliveryState, Endpoint, EndpointState, EventType, KeptKey
from gossamer.store import alerts
from gossamer.store.outbox import NOW, endpoint_of, is_rested, still_waits

_WELL = {"failing_since": None, "failures": 0, "not_before": None}
_FREE = {"lease": None, "lease_until": None, "worker": None}


def add_endpoint(
    tx: Tx, account: str, url: str, events: Collection[EventType], sealed_for: Callable[[UUID], bytes]
) -> Endpoint:
    """Add an endpoint; `sealed_for` returns the key encrypted for the new id."""
    identifier = new_id(tx.now)
    tx.run(
        insert(endpoints),
        {
            "id": identifier,
            "account": account,
            "url": url,
            **_wanted(events),
            "state": EndpointState.ACTIVE,
            "reason": "",
            "created_at": tx.now,
            "failures": 0,
        },
    )
    _add_key(tx, identifier, sealed_for(identifier))
    made = get_endpoint(tx, account, identifier)
    assert made is not None  # noqa: S101 - written in this very transaction
    return made


def _add_key(tx: Tx, identifier: UUID, sealed: bytes) -> None:
    new = {"id": new_id(tx.now), "endpoint_id": identifier, "key": sealed}
    tx.run(insert(endpoint_keys), new)


def _wanted(events: Collection[EventType]) -> dict[str, Any]:
    return {"events": sorted(events), "pages": EventType.JOB_PAGES in events}


def get_endpoint(tx: Tx, account: str, identifier: UUID) -> Endpoint | None:
    return next(iter(_found(tx, _mine(account, identifier))), None)


def endpoints_of(tx: Tx, account: str) -> list[Endpoint]:
    """Return the endpoints of an account, oldest first."""
    return _found(tx, endpoints.c.account == account)


def count_endpoints(tx: Tx, account: str) -> int:
    return int(tx.run(select(func.count()).where(endpoints.c.account == account)).scalar_one())


def endpoints_matching(tx: Tx, account: str, text: str, limit: int = 5) -> list[UUID]:
    """Return endpoints whose id matches these hexadecimal digits."""
    ids = tx.run(select(endpoints.c.id).where(endpoints.c.account == account).order_by(endpoints.c.id)).scalars()
    return [identifier for identifier in ids if fits(identifier, text)][:limit]


def change_endpoint(
    tx: Tx, account: str, identifier: UUID, url: str | None, events: Collection[EventType] | None
) -> Endpoint | None:
    """Change the URL or the events; None leaves a value unchanged. Waiting messages go to the new URL."""
    changed: dict[str, Any] = {} if events is None else _wanted(events)
    if url is not None:
        changed |= {"url": url, **_WELL}
    if changed:
        tx.run(update(endpoints).where(_mine(account, identifier)).values(**changed))
    return get_endpoint(tx, account, identifier)


def switch_on(tx: Tx, account: str, identifier: UUID) -> Endpoint | None:
    tx.run(update(endpoints).where(_mine(account, identifier)).values(state=EndpointState.ACTIVE, reason="", **_WELL))
    alerts.clear(tx, AlertKind.WEBHOOK, str(identifier))
    return get_endpoint(tx, account, identifier)


def switch_off(tx: Tx, account: str, identifier: UUID, why: str) -> Endpoint | None:
    """Disable an endpoint: waiting messages fail and can be replayed, and no new ones are queued."""
    off = update(endpoints).where(_mine(account, identifier), endpoints.c.state == EndpointState.ACTIVE)
    if tx.run(off.values(state=EndpointState.OFF, reason=why)).rowcount:
        waits = (deliveries.c.endpoint_id == identifier) & (deliveries.c.state == DeliveryState.PENDING)
        tx.run(update(deliveries).where(waits).values(state=DeliveryState.FAILED))
    return get_endpoint(tx, account, identifier)


def remove_endpoint(tx: Tx, account: str, identifier: UUID) -> bool:
    """Delete an endpoint with its messages."""
    alerts.clear(tx, AlertKind.WEBHOOK, str(identifier))
    return bool(tx.run(delete(endpoints).where(_mine(account, identifier))).rowcount)


def rotate_key(tx: Tx, account: str, identifier: UUID, sealed: bytes, overlap: timedelta) -> bool:
    """Store a new sealed key; the one before also signs for the time of `overlap`, older ones no longer."""
    if get_endpoint(tx, account, identifier) is None:
        return False
    of_it = endpoint_keys.c.endpoint_id == identifier
    if tx.run(select(endpoint_keys.c.id).where(of_it, endpoint_keys.c.key == sealed)).first():
        return True  # repeated after a commit that was not confirmed
    tx.run(delete(endpoint_keys).where(of_it, endpoint_keys.c.until.is_not(None)))
    tx.run(update(endpoint_keys).where(of_it).values(until=tx.now + overlap))
    _add_key(tx, identifier, sealed)
    return True


def keys_of(tx: Tx, identifier: UUID) -> tuple[KeptKey, ...]:
    """Return the current signing keys of an endpoint, newest first."""
    valid = or_(endpoint_keys.c.until.is_(None), endpoint_keys.c.until > tx.now)
    query = select(endpoint_keys).where(endpoint_keys.c.endpoint_id == identifier, valid)
    return tuple(map(_kept, tx.run(query.order_by(endpoint_keys.c.id.desc()))))


def all_keys(tx: Tx, after: UUID | None, limit: int) -> list[KeptKey]:
    """A page of the keys of all accounts, including expired ones, by id."""
    later = true() if after is None else endpoint_keys.c.id > after
    return [_kept(row) for row in tx.run(select(endpoint_keys).where(later).order_by(endpoint_keys.c.id).limit(limit))]


def seal_key(tx: Tx, kept: KeptKey, sealed: bytes) -> bool:
    """Replace a stored key by a newly encrypted form; False if another process was faster."""
    as_it_was = (endpoint_keys.c.id == kept.id) & (endpoint_keys.c.key == kept.kept)
    return bool(tx.run(update(endpoint_keys).where(as_it_was).values(key=sealed)).rowcount)


def _kept(row: Row[Any]) -> KeptKey:
    return KeptKey(row.id, row.endpoint_id, row.key, row.until)


def hold_endpoint(tx: Tx, identifier: UUID, token: UUID, worker: str, lease: timedelta) -> Endpoint | None:
    """Lease an endpoint for sending. None if another sender has it, or if it is disabled or in back-off."""
    free = or_(endpoints.c.lease.is_(None), endpoints.c.lease == token, endpoints.c.lease_until < tx.now)
    ready = (endpoints.c.id == identifier) & (endpoints.c.state == EndpointState.ACTIVE) & free & is_rested(tx.now)
    held = {"lease": token, "lease_until": tx.now + lease, "worker": worker}
    if not tx.run(update(endpoints).where(ready).values(**held)).rowcount:
        return None
    return next(iter(_found(tx, endpoints.c.id == identifier)), None)


def wake_endpoint(tx: Tx, identifier: UUID) -> None:
    """End the back-off of an endpoint after a manual request."""
    tx.run(update(endpoints).where(endpoints.c.id == identifier).values(not_before=None))


def keep_endpoint(tx: Tx, identifier: UUID, token: UUID, lease: timedelta, changes: Mapping[str, Any]) -> bool:
    """Extend the lease of an endpoint. False if another sender has it now."""
    ours = (endpoints.c.id == identifier) & (endpoints.c.lease == token)
    return bool(tx.run(update(endpoints).where(ours).values(lease_until=tx.now + lease, **changes)).rowcount)


def let_endpoint_go(tx: Tx, identifier: UUID, token: UUID) -> None:
    tx.run(update(endpoints).where(endpoints.c.id == identifier, endpoints.c.lease == token).values(**_FREE))


def void_leases(tx: Tx, worker: str) -> None:
    """Release the leases of dead senders whose names have this prefix."""
    tx.run(update(endpoints).where(endpoints.c.worker.startswith(worker, autoescape=True)).values(**_FREE))


def _mine(account: str, identifier: UUID) -> ColumnElement[bool]:
    return (endpoints.c.account == account) & (endpoints.c.id == identifier)


def _found(tx: Tx, wanted: ColumnElement[bool]) -> list[Endpoint]:
    return [endpoint_of(row) for row in tx.run(select(endpoints).where(wanted).order_by(endpoints.c.id))]


_ATTEMPTS_KEPT = 20
_AT_A_TIME = 1_000
# Prepared once: every sender asks twice a second.
_ENDPOINTS_DUE = (
    select(deliveries.c.endpoint_id)
    .join(endpoints, endpoints.c.id == deliveries.c.endpoint_id)
    .where(deliveries.c.state == DeliveryState.PENDING, deliveries.c.due_at <= NOW)
    .where(endpoints.c.state == EndpointState.ACTIVE, is_rested(NOW))
    .where(or_(endpoints.c.lease.is_(None), endpoints.c.lease_until < NOW))
    .group_by(deliveries.c.endpoint_id)
    .order_by(func.min(deliveries.c.due_at))
    .limit(bindparam("most"))
)


def endpoints_due(tx: Tx, limit: int) -> list[UUID]:
    """Return endpoints with due messages and without a sender, those with the longest-waiting message first."""
    return list(tx.run(_ENDPOINTS_DUE, {"now": tx.now, "most": limit}).scalars())


def due_deliveries(tx: Tx, endpoint_id: UUID, limit: int, only: UUID | None = None) -> list[Delivery]:
    wanted = still_waits() & (deliveries.c.endpoint_id == endpoint_id) & (deliveries.c.due_at <= tx.now)
    if only:
        wanted &= deliveries.c.id == only
    query = select(deliveries).where(wanted).order_by(deliveries.c.due_at, deliveries.c.id).limit(limit)
    return [_delivery(row) for row in tx.run(query)]


def record_attempt(
    tx: Tx, delivery: Delivery, attempt: DeliveryAttempt, state: DeliveryState, due_at: datetime | None
) -> None:
    """Store the outcome of a delivery attempt. The caller holds the endpoint's lease."""
    attempts = [_kept_attempt(one) for one in (*delivery.attempts, attempt)][-_ATTEMPTS_KEPT:]
    changes: dict[str, Any] = {"state": state, "tries": delivery.tries + 1, "attempts": attempts}
    if due_at is not None:
        changes["due_at"] = due_at
    if state is DeliveryState.DELIVERED:
        changes["delivered_at"] = attempt.at
    tx.run(update(deliveries).where(deliveries.c.id == delivery.id, still_waits()).values(**changes))


def replay_one(tx: Tx, account: str, identifier: UUID) -> Delivery | None:
    """Queue a message again under the same id, whatever its state."""
    _replay(tx, account, deliveries.c.id == identifier)
    found = get_delivery(tx, account, identifier)
    if found:
        wake_endpoint(tx, found.endpoint_id)
    return found


def replay_failed(tx: Tx, account: str, endpoint_id: UUID, since: datetime | None) -> int:
    """Queue all failed messages of an endpoint again, optionally only those created since a time."""
    wanted = (deliveries.c.endpoint_id == endpoint_id) & (deliveries.c.state == DeliveryState.FAILED)
    again = _replay(tx, account, wanted if since is None else wanted & (deliveries.c.created_at >= since))
    if again:
        wake_endpoint(tx, endpoint_id)
    return again


def _replay(tx: Tx, account: str, wanted: ColumnElement[bool]) -> int:
    again = {"state": DeliveryState.PENDING, "queued_at": tx.now, "due_at": tx.now, "tries": 0}
    return tx.run(update(deliveries).where(wanted, _of(account)).values(**again)).rowcount


def get_delivery(tx: Tx, account: str, identifier: UUID) -> Delivery | None:
    row = tx.run(select(deliveries).where(deliveries.c.id == identifier, _of(account))).first()
    return _delivery(row) if row else None


def delivery_log(
    tx: Tx,
    account: str,
    endpoint_id: UUID | None = None,
    state: DeliveryState | None = None,
    before: UUID | None = None,
    limit: int = 50,
) -> list[Delivery]:
    """Return deliveries, newest first. For the next page pass the last one as `before`."""
    query = select(deliveries).where(_of(account)).order_by(deliveries.c.id.desc()).limit(limit)
    if endpoint_id:
        query = query.where(deliveries.c.endpoint_id == endpoint_id)
    if state:
        query = query.where(deliveries.c.state == state)
    if before:
        query = query.where(deliveries.c.id < before)
    return [_delivery(row) for row in tx.run(query)]


def deliveries_matching(tx: Tx, account: str, text: str, limit: int = 5) -> list[UUID]:
    """Return messages whose id matches these hexadecimal digits, newest first."""
    ids = tx.run(select(deliveries.c.id).where(_of(account)).order_by(deliveries.c.id.desc())).scalars()
    return [identifier for identifier in ids if fits(identifier, text)][:limit]


def count_pending(tx: Tx) -> int:
    """Count the waiting messages, due or not."""
    return int(tx.run(select(func.count()).where(still_waits())).scalar_one())


def forget_old_deliveries(tx: Tx, kept: timedelta) -> int:
    """Delete some old messages from the log; return their number."""
    old = ~still_waits() & (deliveries.c.queued_at < tx.now - kept)
    some = select(deliveries.c.id).where(old).limit(_AT_A_TIME)
    return tx.run(delete(deliveries).where(deliveries.c.id.in_(some))).rowcount


def _of(account: str) -> ColumnElement[bool]:
    return deliveries.c.endpoint_id.in_(select(endpoints.c.id).where(endpoints.c.account == account))


def _kept_attempt(one: DeliveryAttempt) -> list[Any]:
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
        attempts=tuple(DeliveryAttempt(EPOCH + at * MILLISECOND, *rest) for at, *rest in row.attempts),
        delivered_at=row.delivered_at,
    )
