"""Queries of accounts: API keys, kept as digests, and users with their logins."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, bindparam, insert, select, update

from gossamer.db.tables import accounts, api_keys, sessions, users
from gossamer.db.transactions import Tx
from gossamer.model.account import ApiKey, Right, User
from gossamer.model.ids import new_id

TOLD_EVERY = timedelta(minutes=1)
"""Precision of the time of a key's last use: not every request is worth a write."""


def add_key(tx: Tx, account: str, name: str, right: Right, start: str, digest: bytes) -> ApiKey:
    key = ApiKey(new_id(tx.now), account, name, start, right, tx.now)
    values = {"id": key.id, "account_id": account, "name": name, "start": start, "digest": digest}
    tx.run(insert(api_keys), {**values, "scope": right, "created_at": tx.now})
    return key


# Prepared once: every request runs it.
_HOLDER = (
    select(api_keys)
    .join(accounts, accounts.c.id == api_keys.c.account_id)
    .where(api_keys.c.digest == bindparam("given"), api_keys.c.revoked_at.is_(None), accounts.c.closed_at.is_(None))
)


def key_holder(tx: Tx, digest: bytes) -> ApiKey | None:
    """Return the key with this digest, if the key is not revoked and its account not closed."""
    row = tx.run(_HOLDER, {"given": digest}).first()
    return _key(row) if row else None


def note_key_use(tx: Tx, account: str, key_id: UUID) -> None:
    mine = (api_keys.c.account_id == account) & (api_keys.c.id == key_id)
    tx.run(update(api_keys).where(mine).values(used_at=tx.now))


def keys_of(tx: Tx, account: str) -> list[ApiKey]:
    query = select(api_keys).where(api_keys.c.account_id == account).order_by(api_keys.c.id)
    return [_key(row) for row in tx.run(query)]


def get_key(tx: Tx, account: str, key_id: UUID) -> ApiKey | None:
    mine = (api_keys.c.account_id == account) & (api_keys.c.id == key_id)
    row = tx.run(select(api_keys).where(mine)).first()
    return _key(row) if row else None


def keys_matching(tx: Tx, digits: str, account: str | None, limit: int = 5) -> list[ApiKey]:
    """Return keys whose id begins or ends with these digits, of one account or, for None, of all."""
    query = select(api_keys).order_by(api_keys.c.id.desc())
    if account is not None:
        query = query.where(api_keys.c.account_id == account)
    found = [_key(row) for row in tx.run(query)]
    return [key for key in found if key.id.hex.endswith(digits) or key.id.hex.startswith(digits)][:limit]


def revoke_key(tx: Tx, account: str, key_id: UUID) -> bool:
    """Revoke a key; False if there is no such key or it was revoked before."""
    mine = (api_keys.c.account_id == account) & (api_keys.c.id == key_id) & api_keys.c.revoked_at.is_(None)
    return bool(tx.run(update(api_keys).where(mine).values(revoked_at=tx.now)).rowcount)


def any_good_key(tx: Tx, right: Right) -> bool:
    """Return True if an unrevoked key with this right exists."""
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


@dataclass(frozen=True, slots=True)
class ActiveLogin:
    """A valid login: its user, and how often it was renewed."""

    id: UUID
    user: User
    turns: int
    expires_at: datetime


def add_user(tx: Tx, account: str, email: str, password: str, right: Right) -> User | None:
    """Add a user with the digest of a password; None if the address is taken."""
    fresh = tx.dialect.insert_new(users)
    user = User(new_id(tx.now), account, email, right, tx.now)
    values = {"id": user.id, "account_id": account, "email": email, "password": password}
    added = tx.run(fresh, {**values, "scope": right, "created_at": tx.now}).rowcount
    return user if added else None


_GOOD = users.c.closed_at.is_(None) & accounts.c.closed_at.is_(None)
_WITH_ACCOUNT = users.join(accounts, accounts.c.id == users.c.account_id)


def user_by_email(tx: Tx, email: str) -> tuple[User, str] | None:
    """Return the user and the digest of their password, if neither the user nor the account is closed."""
    row = tx.run(select(users).select_from(_WITH_ACCOUNT).where(users.c.email == email, _GOOD)).first()
    return (_user(row), str(row.password)) if row else None


def set_password(tx: Tx, user_id: UUID, password: str) -> None:
    """Set a new password, which ends all logins."""
    tx.run(update(users).where(users.c.id == user_id).values(password=password))
    tx.run(update(sessions).where(sessions.c.user_id == user_id).values(revoked_at=tx.now))


def begin_login(tx: Tx, user_id: UUID, digest: bytes, expires_at: datetime) -> UUID:
    identifier = new_id(tx.now)
    values = {"id": identifier, "user_id": user_id, "digest": digest, "turns": 0}
    tx.run(insert(sessions), {**values, "created_at": tx.now, "expires_at": expires_at})
    return identifier


def get_login(tx: Tx, session_id: UUID) -> ActiveLogin | None:
    """Return a login if it is valid."""
    row = tx.run(_LOGIN.where(sessions.c.id == session_id, sessions.c.expires_at > tx.now)).first()
    return ActiveLogin(row.session_id, _user(row), row.turns, row.expires_at) if row else None


_LOGIN = (
    select(users, sessions.c.id.label("session_id"), sessions.c.turns, sessions.c.expires_at)
    .select_from(sessions.join(_WITH_ACCOUNT, users.c.id == sessions.c.user_id))
    .where(sessions.c.revoked_at.is_(None), _GOOD)
)


def renew_login(tx: Tx, session_id: UUID, old: bytes, new: bytes) -> ActiveLogin | None:
    """Replace the refresh token. A token used twice was copied: the login ends, and the result is None."""
    found = get_login(tx, session_id)
    if found is None:
        return None
    mine = (sessions.c.id == session_id) & (sessions.c.digest == old)
    if tx.run(update(sessions).where(mine).values(digest=new, turns=sessions.c.turns + 1)).rowcount:
        return found
    end_login(tx, session_id)
    return None


def end_login(tx: Tx, session_id: UUID) -> None:
    tx.run(update(sessions).where(sessions.c.id == session_id).values(revoked_at=tx.now))


def _user(row: Row[Any]) -> User:
    return User(row.id, row.account_id, row.email, Right(row.scope), row.created_at, row.closed_at)
