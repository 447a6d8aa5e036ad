"""Create accounts, users and API keys: the same for the command line and the server."""

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from gossamer.accounts import queries
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.account import DEFAULT, Account, ApiKey, Right, User
from gossamer.store import accounts

_PREFIX = "gsk_"
_RANDOM = 32  # bytes: cannot be guessed, so that a plain digest is enough
_SHOWN = 12
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class PlainKey:
    """A new key in clear text, which is not stored."""

    text: str

    @property
    def start(self) -> str:
        """The first characters of the key: enough to distinguish it from other keys, useless for signing in."""
        return self.text[:_SHOWN]

    @property
    def digest(self) -> bytes:
        return digest_of(self.text)


def make_key() -> PlainKey:
    return PlainKey(_PREFIX + secrets.token_urlsafe(_RANDOM))


def looks_like_key(text: str) -> bool:
    return text.startswith(_PREFIX) and len(text) <= _LONGEST


def digest_of(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()


LONGEST_NAME = 100

_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")


async def open_account(database: Database, identifier: str, name: str) -> Account:
    if _ID.fullmatch(identifier) is None:
        raise UserError(
            "account.id",
            f"{identifier!r} cannot be the id of an account.",
            hint="Take up to 40 small letters, digits and hyphens, like acme-2.",
        )
    await database.write(accounts.ensure_default)
    made = await database.write(accounts.create, identifier, check_label(name))
    if made is None:
        raise UserError(
            "account.taken", f"There is an account {identifier!r} already.", hint="See 'gossamer account list'."
        )
    return made


async def find_account(database: Database, identifier: str) -> Account:
    if identifier == DEFAULT:
        return await database.write(accounts.ensure_default)
    found = await database.read(accounts.get, identifier)
    if found is None:
        raise UserError(
            "account.not_found", f"There is no account {identifier!r}.", hint="See 'gossamer account list'."
        )
    return found


async def add_user(database: Database, account: Account, email: str, digest: str, right: Right) -> User:
    """Add a user with the digest of their password."""
    address = email.strip().lower()
    if _EMAIL.fullmatch(address) is None:
        raise UserError("account.email", f"{email!r} is not an e-mail address.", hint="Give one like ann@acme.com.")
    added = await database.write(queries.add_user, account.id, address, digest, right)
    if added is None:
        raise UserError("account.email_taken", f"There is already a user {address}.", hint="Give another address.")
    return added


async def issue_key(database: Database, account: str, name: str, right: Right) -> tuple[PlainKey, ApiKey]:
    """Create a key; return it in clear text, which is not stored, and its stored form."""
    new = make_key()
    return new, await database.write(queries.add_key, account, check_label(name), right, new.start, new.digest)


async def first_key(database: Database) -> PlainKey | None:
    """Create an admin key for the first start of the server; None if a key with all rights exists."""
    new = make_key()
    return new if await database.write(_first_key, new) else None


def _first_key(tx: Tx, new: PlainKey) -> bool:
    # Locked, so that of two servers that start at once only one creates a key.
    accounts.ensure_default(tx)
    accounts.hold(tx, DEFAULT)
    if queries.any_good_key(tx, Right.ADMIN):
        return False
    queries.add_key(tx, DEFAULT, "first key", Right.ADMIN, new.start, new.digest)
    return True


async def change_account(
    database: Database, account: Account, limits: dict[str, int | None], closed: bool | None, now: datetime
) -> Account:
    """Change the given limits of an account, and close or reopen it; None leaves a value unchanged."""
    values: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    if closed is not None:
        values["closed_at"] = now if closed else None
    changed = await database.write(accounts.change, account.id, values)
    return account if changed is None else changed


def check_label(name: str) -> str:
    label = " ".join(name.split())
    if not 0 < len(label) <= LONGEST_NAME or not label.isprintable():
        raise UserError(
            "account.name",
            f"A name has 1 to {LONGEST_NAME} characters, this one has {len(label)}.",
            hint="Give another one.",
        )
    return label
