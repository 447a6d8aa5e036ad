"""API keys: kept as digests, found by them, revoked for good. Every question but the first names the account."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, bindparam, insert, select, update

from gossamer.model.account import ApiKey, Right
from gossamer.model.ids import new_id
from gossamer.store.access_tables import accounts, api_keys
from gossamer.store.tx import Tx

TOLD_EVERY = timedelta(minutes=1)
"""How exactly it is known when a key was last used: not each request is worth a write."""


def add(tx: Tx, account: str, name: str, right: Right, start: str, digest: bytes) -> ApiKey:
    key = ApiKey(new_id(tx.now), account, name, start, right, tx.now)
    values = {"id": key.id, "account_id": account, "name": name, "start": start, "digest": digest}
    tx.run(insert(api_keys), {**values, "scope": right, "created_at": tx.now})
    return key


# Prepared once: every request asks for it.
_HOLDER = (
    select(api_keys)
    .join(accounts, accounts.c.id == api_keys.c.account_id)
    .where(api_keys.c.digest == bindparam("given"), api_keys.c.revoked_at.is_(None), accounts.c.closed_at.is_(None))
)


def holder(tx: Tx, digest: bytes) -> ApiKey | None:
    """The key of this digest, if it is good and so is its account."""
    row = tx.run(_HOLDER, {"given": digest}).first()
    return _key(row) if row else None


def used(tx: Tx, account: str, key_id: UUID) -> None:
    mine = (api_keys.c.account_id == account) & (api_keys.c.id == key_id)
    tx.run(update(api_keys).where(mine).values(used_at=tx.now))


def of_account(tx: Tx, account: str) -> list[ApiKey]:
    query = select(api_keys).where(api_keys.c.account_id == account).order_by(api_keys.c.id)
    return [_key(row) for row in tx.run(query)]


def get(tx: Tx, account: str, key_id: UUID) -> ApiKey | None:
    mine = (api_keys.c.account_id == account) & (api_keys.c.id == key_id)
    row = tx.run(select(api_keys).where(mine)).first()
    return _key(row) if row else None


def matching(tx: Tx, digits: str, account: str | None, limit: int = 5) -> list[ApiKey]:
    """Keys of the account whose id ends or begins with these digits; for the operator, of any account."""
    query = select(api_keys).order_by(api_keys.c.id.desc())
    if account is not None:
        query = query.where(api_keys.c.account_id == account)
    found = [_key(row) for row in tx.run(query)]
    return [key for key in found if key.id.hex.endswith(digits) or key.id.hex.startswith(digits)][:limit]


def revoke(tx: Tx, account: str, key_id: UUID) -> bool:
    """False if there is no such key, or it was revoked before."""
    mine = (api_keys.c.account_id == account) & (api_keys.c.id == key_id) & api_keys.c.revoked_at.is_(None)
    return bool(tx.run(update(api_keys).where(mine).values(revoked_at=tx.now)).rowcount)


def any_good(tx: Tx, right: Right) -> bool:
    """Whether anybody has a key that may do this."""
    good = (api_keys.c.scope == right) & api_keys.c.revoked_at.is_(None)
    return tx.run(select(api_keys.c.id).where(good).limit(1)).first() is not None


def _key(row: Row[Any]) -> ApiKey:
    return ApiKey(
        row.id,
        row.account_id,
        row.name,
        row.start,
        Right(row.scope),
        row.created_at,
        row.used_at,
        row.revoked_at,
    )
