"""Accounts: creation, listing and changes. The first one is created on first access."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row, bindparam, insert, select, update

from gossamer.db.tables_accounts import accounts
from gossamer.db.transactions import Tx
from gossamer.model.account import DEFAULT, Account


def create(tx: Tx, identifier: str, name: str) -> Account | None:
    """A new account; None if there is one of this name."""
    fresh = tx.dialect.insert_new(accounts)
    if not tx.run(fresh, {"id": identifier, "name": name, "created_at": tx.now}).rowcount:
        return None
    return get(tx, identifier)


def ensure_default(tx: Tx) -> Account:
    """The account of everybody who has no other: jobs of the command line are its."""
    found = get(tx, DEFAULT)
    if found is None:
        tx.run(insert(accounts), {"id": DEFAULT, "name": DEFAULT, "created_at": tx.now})
        found = Account(DEFAULT, DEFAULT, tx.now)
    return found


_GET = select(accounts).where(accounts.c.id == bindparam("id"))


def get(tx: Tx, account: str) -> Account | None:
    row = tx.run(_GET, {"id": account}).first()
    return _account(row) if row else None


def hold(tx: Tx, identifier: str) -> Account | None:
    """Like `get`, but locked: no other transaction admits a job of the account until commit."""
    row = tx.run(tx.locked(_GET), {"id": identifier}).first()
    return _account(row) if row else None


def known(tx: Tx) -> list[Account]:
    return [_account(row) for row in tx.run(select(accounts).order_by(accounts.c.id))]


def change(tx: Tx, identifier: str, values: Mapping[str, Any]) -> Account | None:
    """Give an account other limits, or close it."""
    if values:
        tx.run(update(accounts).where(accounts.c.id == identifier).values(**values))
    return get(tx, identifier)


def _account(row: Row[Any]) -> Account:
    return Account(
        row.id, row.name, row.created_at, row.credits, row.running_jobs, row.queued_jobs, closed_at=row.closed_at
    )
