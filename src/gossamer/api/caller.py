"""Who asks, and whether they may: first stop of every request. 401 comes first, then 403, then 429."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hmac import compare_digest
from typing import Annotated
from uuid import UUID

from fastapi import Depends
from starlette.requests import HTTPConnection

from gossamer.access.secret_keys import digest_of, looks_like_key
from gossamer.api.parts import GivenParts, Parts
from gossamer.api.tenant import Tenant
from gossamer.errors import StorageAway, UserError
from gossamer.model.account import DEFAULT, ApiKey, Right
from gossamer.store import keys, users


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who has shown who they are."""

    account: str
    right: Right
    name: str  # what limits are counted by
    key: UUID | None = None
    session: UUID | None = None


async def recognise(connection: HTTPConnection, parts: Parts, *, in_query: bool = False, otherwise: str = "") -> Caller:
    """The caller of a request; nobody in particular is a 401. Browsers can only send a token with the address there.

    `otherwise` is a key that came in a way of its own.
    """
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    given = token.strip() if scheme.lower() == "bearer" else connection.headers.get("x-api-key", "").strip()
    given = given or otherwise.strip()
    if not given and in_query:
        given = connection.query_params.get("access_token", "")
        if looks_like_key(given):
            given = ""  # addresses end up in logs: what is good for long does not belong there
    if not given:
        raise UserError(
            "auth.missing",
            "This needs an API key.",
            hint="Send it as 'Authorization: Bearer KEY'. Keys are made with 'gossamer system keys create NAME'.",
        )
    caller = await _known(given, parts)
    connection.scope["state"]["caller"] = caller
    return caller


async def _known(given: str, parts: Parts) -> Caller:
    """While the database is away, whoever was known a moment ago still is: there are old answers they may read."""
    named = parts.app.settings.admin_token
    if named and compare_digest(given.encode("utf-8", "surrogateescape"), named.get_secret_value().encode()):
        return Caller(DEFAULT, Right.ADMIN, "admin-token")
    memory, digest = parts.remembered, digest_of(given)
    former = memory.caller(digest)
    if former and memory.is_away():
        return former
    try:
        caller = await (_by_key(given, parts) if looks_like_key(given) else _by_token(given, parts))
    except StorageAway:
        if former is None:
            raise
        return former
    except UserError:
        memory.unknown(digest)
        raise
    memory.recognised(digest, caller)
    return caller


async def _by_key(given: str, parts: Parts) -> Caller:
    found = await parts.app.database.glance(keys.holder, digest_of(given))
    if found is None:
        raise UserError(
            "auth.wrong",
            "This key is not known here, or it was revoked.",
            hint="Look at the keys there are with 'gossamer system keys list'.",
        )
    await _note_use(found, parts)
    return Caller(found.account, found.right, found.id.hex, key=found.id)


async def _note_use(key: ApiKey, parts: Parts) -> None:
    now = parts.app.clock.now()
    if key.used_at is None or now - key.used_at > keys.TOLD_EVERY:
        await parts.app.database.write(keys.used, key.account, key.id)


async def _by_token(given: str, parts: Parts) -> Caller:
    session = parts.signer.session(given)
    login = await parts.app.database.read(users.login, session) if session else None
    if login is None:
        raise UserError(
            "auth.login",
            "This login is over, or was never one.",
            hint="Get a new token from POST /v1/auth/refresh, or log in again.",
        )
    return Caller(login.user.account, login.user.right, login.user.id.hex, session=login.id)


def may(right: Right) -> Callable[..., Awaitable[Caller]]:
    """For an endpoint: whoever calls it has this right, and does not call too often."""

    async def checked(connection: HTTPConnection, parts: GivenParts) -> Caller:
        caller = await recognise(connection, parts)
        await admit(connection, parts, caller, right)
        return caller

    return checked


async def admit(connection: HTTPConnection, parts: Parts, caller: Caller, right: Right) -> None:
    """Whether they may, and how often. What is left to them goes with the answer, whatever that is."""
    settings = parts.app.settings
    if not caller.right.includes(right):
        raise UserError(
            "auth.forbidden",
            f"This key may {caller.right}, and this takes one that may {right}.",
            hint="Use another key, or have one made with that scope.",
        )
    connection.scope["state"]["headers"] = await parts.rates.take("key", caller.name, settings.api_key_rate)
    await parts.rates.take("ip", connection.scope["state"]["ip"], settings.api_ip_rate)
    if parts.remembered.is_away():
        raise StorageAway("It is known to be away, and requests do not queue up before it.")


def _tenant(right: Right) -> Callable[..., Awaitable[Tenant]]:
    async def scoped(parts: GivenParts, caller: Annotated[Caller, Depends(may(right))]) -> Tenant:
        return tenant_of(parts, caller)

    return scoped


def tenant_of(parts: Parts, caller: Caller) -> Tenant:
    return Tenant(parts.app, caller.account, caller.key, parts.prices)


Reader = Annotated[Tenant, Depends(_tenant(Right.READ))]
Submitter = Annotated[Tenant, Depends(_tenant(Right.SUBMIT))]
Admin = Annotated[Tenant, Depends(_tenant(Right.ADMIN))]
