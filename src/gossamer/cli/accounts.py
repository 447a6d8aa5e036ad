"""`gossamer account` and `gossamer system keys`: accounts, users and API keys."""

import asyncio
import sys
from typing import Any

from gossamer.accounts import passwords
from gossamer.accounts import queries as account_queries
from gossamer.accounts import service as account_service
from gossamer.app import App
from gossamer.cli import formatting, prompts, tables
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.account import Account, ApiKey, Right
from gossamer.model.ids import short
from gossamer.questions.keys import keys, make_key, revoke_key
from gossamer.store import accounts, usage


async def create_account(app: App, identifier: str, name: str, *, as_json: bool) -> None:
    made = await account_service.open_account(app.database, identifier, name)
    if as_json:
        say_json(_account_json(made, 0))
    else:
        say(f"Account {made.id} was made. Give it a key with 'gossamer system keys create NAME --account {made.id}'.")


async def show_accounts(app: App, *, as_json: bool) -> None:
    await app.database.write(accounts.ensure_default)
    found = await app.database.read(_with_use)
    if as_json:
        say_json([_account_json(account, spent) for account, spent in found])
        return
    titles = ["Account", "Name", "Credits used", "of", "Running jobs", "Waiting jobs", "State"]
    cells = [
        [
            account.id,
            account.name,
            f"{spent:,}",
            *(_limit(value) for value in (quota.credits, quota.running, quota.queued)),
            "closed" if account.closed_at else "open",
        ]
        for account, spent in found
        for quota in (app.quota.of(account),)
    ]
    tables.show(tables.plain(titles, cells, right=("Credits used", "of", "Running jobs", "Waiting jobs")))


def _with_use(tx: Tx) -> list[tuple[Account, int]]:
    month = f"{tx.now:%Y-%m}"
    return [(account, usage.credits_of_month(tx, account.id, month)) for account in accounts.known(tx)]


def _limit(value: int | None) -> str:
    return "any" if value is None else f"{value:,}"


async def change_account(
    app: App, identifier: str, limits: dict[str, int | None], *, closed: bool | None, as_json: bool
) -> None:
    if closed is None and all(value is None for value in limits.values()):
        raise UserError("usage", "Nothing to change was given.", hint="See 'gossamer account set --help'.")
    account = await account_service.find_account(app.database, identifier)
    changed = await account_service.change_account(app.database, account, limits, closed, app.clock.now())
    if as_json:
        say_json(_account_json(changed, 0))
    else:
        say(f"Account {changed.id} was changed: see 'gossamer account list'.")


async def create_user(app: App, identifier: str, email: str, right: Right, *, as_json: bool) -> None:
    account = await account_service.find_account(app.database, identifier)
    password = _asked_password()
    digest = await asyncio.to_thread(passwords.digest, password)
    user = await account_service.add_user(app.database, account, email, digest, right)
    if as_json:
        say_json({"id": str(user.id), "account": user.account, "email": user.email, "scope": str(user.right)})
    else:
        say(f"{user.email} can log in to {user.account}.")


async def change_password(app: App, email: str, *, as_json: bool) -> None:
    found = await app.database.read(account_queries.user_by_email, email.strip().lower())
    if found is None:
        raise UserError("account.no_user", f"No user logs in as {email!r}.", hint="See that the address is right.")
    user, _ = found
    password = _asked_password()
    await app.database.write(account_queries.set_password, user.id, await asyncio.to_thread(passwords.digest, password))
    if as_json:
        say_json({"id": str(user.id), "email": user.email, "changed": True})
    else:
        say(f"{user.email} has a new password, and has to log in again everywhere.")


def _asked_password() -> str:
    if sys.stdin.isatty():
        return prompts.secret("Password", twice=True)
    return sys.stdin.readline().rstrip("\r\n")


async def make_new_key(home: Home, account: str | None, name: str, right: Right, *, as_json: bool) -> None:
    made = await home.ask(make_key, account, name, right)
    if as_json:
        say_json({**_key_json(made.key), "key": made.text})
    else:
        say(f"Key of {made.key.account}, which may {made.key.right}. It is shown this once:")
        say(made.text)


async def show_keys(home: Home, account: str | None, *, as_json: bool) -> None:
    answer = await home.ask(keys, account)
    found, now = answer.keys, answer.now
    if as_json:
        say_json([_key_json(key) for key in found])
        return
    if not found:
        say(
            f"{answer.account} has no key. Make one with 'gossamer system keys create NAME --account {answer.account}'."
        )
        return
    titles = ["Id", "Name", "Begins", "Scope", "Made", "Last used", "State"]
    cells = [
        [
            short(key.id),
            key.name,
            key.start + "...",
            str(key.right),
            formatting.ago(key.created_at, now),
            formatting.ago(key.used_at, now),
            "revoked" if key.revoked_at else "good",
        ]
        for key in found
    ]
    tables.show(tables.plain(titles, cells, right=()))


async def revoke_one(home: Home, text: str, *, as_json: bool) -> None:
    revoked = await home.ask(revoke_key, text)
    key, gone = revoked.key, revoked.was_good
    if as_json:
        say_json({"id": str(key.id), "revoked": True, "was_good": gone})
    else:
        say(f"Key {short(key.id)} ({key.name}) {'is' if gone else 'was already'} revoked.")


def _account_json(account: Account, spent: int) -> dict[str, Any]:
    return {
        "id": account.id,
        "name": account.name,
        "credits": account.credits,
        "credits_used": spent,
        "running_jobs": account.running_jobs,
        "queued_jobs": account.queued_jobs,
        "created_at": formatting.timestamp(account.created_at),
        "closed_at": formatting.timestamp(account.closed_at),
    }


def _key_json(key: ApiKey) -> dict[str, Any]:
    return {
        "id": str(key.id),
        "account": key.account,
        "name": key.name,
        "start": key.start,
        "scope": str(key.right),
        "created_at": formatting.timestamp(key.created_at),
        "used_at": formatting.timestamp(key.used_at),
        "revoked_at": formatting.timestamp(key.revoked_at),
    }
