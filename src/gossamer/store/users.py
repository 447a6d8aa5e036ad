"""Users and their logins. A login is renewed with a token that is good for one time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, insert, select, update

from gossamer.model.account import Right, User
from gossamer.model.ids import new_id
from gossamer.store.access_tables import accounts, sessions, users
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Login:
    """A login that holds: whose it is, and how often it was renewed."""

    id: UUID
    user: User
    turns: int
    expires_at: datetime


def add(tx: Tx, account: str, email: str, password: str, right: Right) -> User | None:
    """A new user with the digest of a password; None if somebody has this address."""
    fresh = tx.dialect.insert_new(users)
    user = User(new_id(tx.now), account, email, right, tx.now)
    values = {"id": user.id, "account_id": account, "email": email, "password": password}
    added = tx.run(fresh, {**values, "scope": right, "created_at": tx.now}).rowcount
    return user if added else None


def of_account(tx: Tx, account: str) -> list[User]:
    query = select(users).where(users.c.account_id == account).order_by(users.c.email)
    return [_user(row) for row in tx.run(query)]


_GOOD = users.c.closed_at.is_(None) & accounts.c.closed_at.is_(None)
_WITH_ACCOUNT = users.join(accounts, accounts.c.id == users.c.account_id)


def by_email(tx: Tx, email: str) -> tuple[User, str] | None:
    """The user and the digest of their password, if they may come in."""
    row = tx.run(select(users).select_from(_WITH_ACCOUNT).where(users.c.email == email, _GOOD)).first()
    return (_user(row), str(row.password)) if row else None


def set_password(tx: Tx, user_id: UUID, password: str) -> None:
    """Another password ends all logins."""
    tx.run(update(users).where(users.c.id == user_id).values(password=password))
    tx.run(update(sessions).where(sessions.c.user_id == user_id).values(revoked_at=tx.now))


def begin(tx: Tx, user_id: UUID, digest: bytes, expires_at: datetime) -> UUID:
    identifier = new_id(tx.now)
    values = {"id": identifier, "user_id": user_id, "digest": digest, "turns": 0}
    tx.run(insert(sessions), {**values, "created_at": tx.now, "expires_at": expires_at})
    return identifier


def login(tx: Tx, session_id: UUID) -> Login | None:
    """A login as long as it holds."""
    row = tx.run(_LOGIN.where(sessions.c.id == session_id, sessions.c.expires_at > tx.now)).first()
    return Login(row.session_id, _user(row), row.turns, row.expires_at) if row else None


_LOGIN = (
    select(users, sessions.c.id.label("session_id"), sessions.c.turns, sessions.c.expires_at)
    .select_from(sessions.join(_WITH_ACCOUNT, users.c.id == sessions.c.user_id))
    .where(sessions.c.revoked_at.is_(None), _GOOD)
)


def renew(tx: Tx, session_id: UUID, old: bytes, new: bytes) -> Login | None:
    """Take the next token instead of the last. One that was used before means that two have it: the login ends."""
    found = login(tx, session_id)
    if found is None:
        return None
    mine = (sessions.c.id == session_id) & (sessions.c.digest == old)
    if tx.run(update(sessions).where(mine).values(digest=new, turns=sessions.c.turns + 1)).rowcount:
        return found
    end(tx, session_id)
    return None


def end(tx: Tx, session_id: UUID) -> None:
    tx.run(update(sessions).where(sessions.c.id == session_id).values(revoked_at=tx.now))


def _user(row: Row[Any]) -> User:
    return User(row.id, row.account_id, row.email, Right(row.scope), row.created_at, row.closed_at)
