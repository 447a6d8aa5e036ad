"""Where accounts want their messages. Everything a person asks for names the account it is asked for."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import BindParameter, ColumnElement, Row, delete, func, insert, or_, select, true, update

from gossamer.model.alert import AlertKind
from gossamer.model.ids import fits, new_id
from gossamer.model.webhook import DeliveryState, Endpoint, EndpointState, EventType, KeptKey
from gossamer.store import alerts
from gossamer.store.endpoint_rows import endpoint_of
from gossamer.store.tx import Tx
from gossamer.store.webhook_tables import deliveries, endpoint_keys, endpoints

_WELL = {"failing_since": None, "failures": 0, "not_before": None}
_FREE = {"lease": None, "lease_until": None, "worker": None}


def add(tx: Tx, account: str, url: str, events: Collection[EventType], sealed_for: Callable[[UUID], bytes]) -> Endpoint:
    """`sealed_for` gives its key, sealed for the id that it gets here."""
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
    made = get(tx, account, identifier)
    assert made is not None  # noqa: S101 - written in this very transaction
    return made


def _add_key(tx: Tx, identifier: UUID, sealed: bytes) -> None:
    new = {"id": new_id(tx.now), "endpoint_id": identifier, "key": sealed, "is_sealed": True}
    tx.run(insert(endpoint_keys), new)


def _wanted(events: Collection[EventType]) -> dict[str, Any]:
    return {"events": sorted(events), "pages": EventType.JOB_PAGES in events}


def get(tx: Tx, account: str, identifier: UUID) -> Endpoint | None:
    return next(iter(_found(tx, _mine(account, identifier))), None)


def of_account(tx: Tx, account: str) -> list[Endpoint]:
    """Oldest first."""
    return _found(tx, endpoints.c.account == account)


def count(tx: Tx, account: str) -> int:
    return int(tx.run(select(func.count()).where(endpoints.c.account == account)).scalar_one())


def matching(tx: Tx, account: str, text: str, limit: int = 5) -> list[UUID]:
    """Those whose id these hexadecimal digits fit."""
    ids = tx.run(select(endpoints.c.id).where(endpoints.c.account == account).order_by(endpoints.c.id)).scalars()
    return [identifier for identifier in ids if fits(identifier, text)][:limit]


def change(
    tx: Tx, account: str, identifier: UUID, url: str | None, events: Collection[EventType] | None
) -> Endpoint | None:
    """Another address, other events; None: as it was. What waits goes to the new address."""
    changed: dict[str, Any] = {} if events is None else _wanted(events)
    if url is not None:
        changed |= {"url": url, **_WELL}
    if changed:
        tx.run(update(endpoints).where(_mine(account, identifier)).values(**changed))
    return get(tx, account, identifier)


def switch_on(tx: Tx, account: str, identifier: UUID) -> Endpoint | None:
    tx.run(update(endpoints).where(_mine(account, identifier)).values(state=EndpointState.ACTIVE, reason="", **_WELL))
    alerts.clear(tx, AlertKind.WEBHOOK, str(identifier))
    return get(tx, account, identifier)


def switch_off(tx: Tx, account: str, identifier: UUID, why: str) -> Endpoint | None:
    """From here on nothing is sent there and nothing is kept for it; what waits is given up, and can be replayed."""
    off = update(endpoints).where(_mine(account, identifier), endpoints.c.state == EndpointState.ACTIVE)
    if tx.run(off.values(state=EndpointState.OFF, reason=why)).rowcount:
        waits = (deliveries.c.endpoint_id == identifier) & (deliveries.c.state == DeliveryState.PENDING)
        tx.run(update(deliveries).where(waits).values(state=DeliveryState.FAILED))
    return get(tx, account, identifier)


def remove(tx: Tx, account: str, identifier: UUID) -> bool:
    """With everything that was sent there."""
    alerts.clear(tx, AlertKind.WEBHOOK, str(identifier))
    return bool(tx.run(delete(endpoints).where(_mine(account, identifier))).rowcount)


def rotate(tx: Tx, account: str, identifier: UUID, sealed: bytes, overlap: timedelta) -> bool:
    """A new key, sealed. The one before signs beside it for a while, any older one no longer."""
    if get(tx, account, identifier) is None:
        return False
    of_it = endpoint_keys.c.endpoint_id == identifier
    if tx.run(select(endpoint_keys.c.id).where(of_it, endpoint_keys.c.key == sealed)).first():
        return True  # said twice, and heard the first time
    tx.run(delete(endpoint_keys).where(of_it, endpoint_keys.c.until.is_not(None)))
    tx.run(update(endpoint_keys).where(of_it).values(until=tx.now + overlap))
    _add_key(tx, identifier, sealed)
    return True


def keys(tx: Tx, identifier: UUID) -> tuple[KeptKey, ...]:
    """What signs for an endpoint now, the newest first."""
    valid = or_(endpoint_keys.c.until.is_(None), endpoint_keys.c.until > tx.now)
    query = select(endpoint_keys).where(endpoint_keys.c.endpoint_id == identifier, valid)
    return tuple(map(_kept, tx.run(query.order_by(endpoint_keys.c.id.desc()))))


def all_keys(tx: Tx, after: UUID | None, limit: int) -> list[KeptKey]:
    """Those of everybody, also the ones that sign no longer, page by page."""
    later = true() if after is None else endpoint_keys.c.id > after
    return [_kept(row) for row in tx.run(select(endpoint_keys).where(later).order_by(endpoint_keys.c.id).limit(limit))]


def seal(tx: Tx, kept: KeptKey, sealed: bytes) -> bool:
    """Keep a key in another way; False if somebody was faster."""
    as_it_was = (endpoint_keys.c.id == kept.id) & (endpoint_keys.c.key == kept.kept)
    return bool(tx.run(update(endpoint_keys).where(as_it_was).values(key=sealed, is_sealed=True)).rowcount)


def _kept(row: Row[Any]) -> KeptKey:
    return KeptKey(row.id, row.endpoint_id, row.key, row.is_sealed, row.until)


def hold(tx: Tx, identifier: UUID, token: UUID, worker: str, lease: timedelta) -> Endpoint | None:
    """To send to it; None if somebody else does, or if it is off or rests."""
    free = or_(endpoints.c.lease.is_(None), endpoints.c.lease == token, endpoints.c.lease_until < tx.now)
    ready = (endpoints.c.id == identifier) & (endpoints.c.state == EndpointState.ACTIVE) & free & is_rested(tx.now)
    held = {"lease": token, "lease_until": tx.now + lease, "worker": worker}
    if not tx.run(update(endpoints).where(ready).values(**held)).rowcount:
        return None
    return next(iter(_found(tx, endpoints.c.id == identifier)), None)


def wake(tx: Tx, identifier: UUID) -> None:
    """A person wants something sent: it rests no longer."""
    tx.run(update(endpoints).where(endpoints.c.id == identifier).values(not_before=None))


def is_rested(now: datetime | BindParameter[Any]) -> ColumnElement[bool]:
    return or_(endpoints.c.not_before.is_(None), endpoints.c.not_before <= now)


def keep(tx: Tx, identifier: UUID, token: UUID, lease: timedelta, changes: Mapping[str, Any]) -> bool:
    """Still ours, for a while longer. False: somebody else has it now."""
    ours = (endpoints.c.id == identifier) & (endpoints.c.lease == token)
    return bool(tx.run(update(endpoints).where(ours).values(lease_until=tx.now + lease, **changes)).rowcount)


def let_go(tx: Tx, identifier: UUID, token: UUID) -> None:
    tx.run(update(endpoints).where(endpoints.c.id == identifier, endpoints.c.lease == token).values(**_FREE))


def void(tx: Tx, worker: str) -> None:
    """Whoever sent under such a name is gone."""
    tx.run(update(endpoints).where(endpoints.c.worker.startswith(worker, autoescape=True)).values(**_FREE))


def _mine(account: str, identifier: UUID) -> ColumnElement[bool]:
    return (endpoints.c.account == account) & (endpoints.c.id == identifier)


def _found(tx: Tx, wanted: ColumnElement[bool]) -> list[Endpoint]:
    return [endpoint_of(row) for row in tx.run(select(endpoints).where(wanted).order_by(endpoints.c.id))]
