"""API keys of an account: list, create and revoke. Admins manage their account's keys, the operator all keys."""

from dataclasses import dataclass
from datetime import datetime

from gossamer.accounts import queries as account_queries
from gossamer.accounts import service as account_service
from gossamer.errors import UserError
from gossamer.intake.typed_id import SHORTEST
from gossamer.model.account import ApiKey, Right
from gossamer.questions.view import Text, View


@dataclass(frozen=True, slots=True)
class AccountKeys:
    account: str
    keys: tuple[ApiKey, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class MadeKey:
    """A new key with its text, which is not stored."""

    key: ApiKey
    text: str


@dataclass(frozen=True, slots=True)
class RevokedKey:
    key: ApiKey
    was_good: bool


async def keys(view: View, account: Text | None) -> AccountKeys:
    """List the keys of an account, by default the caller's own."""
    identifier, database = view.admin(account)
    found = await account_service.find_account(database, identifier)
    return AccountKeys(found.id, tuple(await database.read(account_queries.keys_of, found.id)), view.now)


# What follows changes something.


async def make_key(view: View, account: Text | None, name: Text, right: Right) -> MadeKey:
    identifier, database = view.admin(account)
    found = await account_service.find_account(database, identifier)
    new, kept = await account_service.issue_key(database, found.id, name, right)
    return MadeKey(kept, new.text)


async def revoke_key(view: View, text: Text) -> RevokedKey:
    digits = text.strip().lower().replace("-", "")
    found = await view.keys(digits) if len(digits) >= SHORTEST else []
    if len(found) != 1:
        raise UserError(
            "key.not_found",
            f"{text!r} fits {'more than one' if found else 'no'} key.",
            hint="Give an id as shown by 'gossamer system keys list --account ACCOUNT'.",
        )
    key = found[0]
    _, database = view.admin(key.account)
    return RevokedKey(key, await database.write(account_queries.revoke_key, key.account, key.id))
