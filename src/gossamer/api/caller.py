"""Authentication: recognise the caller of a request by its headers, and check rights and rate limits.

The order of refusals: 429 for an address with too many failed keys, 401, 403, 429 of the key. `api/guarded.py`
continues from there.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hmac import compare_digest
from typing import Annotated, TypeAlias
from uuid import UUID

from fastapi import Depends
from starlette.requests import HTTPConnection

from gossamer.accounts import queries as account_queries
from gossamer.accounts.service import digest_of, looks_like_key
from gossamer.accounts.tokens import looks_like_token
from gossamer.api.cursors import Cursors
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.tenant import Tenant
from gossamer.errors import StorageAway, UserError
from gossamer.model.account import DEFAULT, ApiKey, Right
from gossamer.questions.view import missing_right

_WRONG = (
    "Check that you copied the whole key. Ask whoever runs this server for one: 'gossamer system keys create NAME'."
)

Spends: TypeAlias = Callable[[Tenant, str | None], Awaitable[None]]
"""Refuses an account that cannot pay for a request; receives the idempotency key of the request, if any."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller."""

    account: str
    right: Right
    name: str  # what limits are counted by
    key: UUID | None = None
    session: UUID | None = None


_DEVELOPER = Caller(DEFAULT, Right.ADMIN, "development")


async def recognise(connection: HTTPConnection, parts: Parts, *, in_query: bool = False, otherwise: str = "") -> Caller:
    """Return the caller of a request; without a key, raise an error that becomes a 401.

    With `in_query`, a token may be part of the address: event streams in browsers cannot send headers. `otherwise` is
    a key from another place, such as a parameter.
    """
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    given = token.strip() if scheme.lower() == "bearer" else connection.headers.get("x-api-key", "").strip()
    given = given or otherwise.strip()
    if not given and in_query:
        given = connection.query_params.get("access_token", "")
        if looks_like_key(given):
            given = ""  # addresses end up in logs, so long-lived keys are not accepted there
    if parts.development and parts.development.lets_in(connection, given):
        connection.scope["state"]["caller"] = _DEVELOPER
        return _DEVELOPER
    if not given:
        parts.rates.refuse_keyless(connection.scope["state"]["ip"], parts.app.settings.api_failed_keys)
        raise UserError(
            "auth.missing",
            "This needs an API key.",
            hint="Send it as 'Authorization: Bearer KEY'. Keys are made with 'gossamer system keys create NAME'.",
        )
    caller = await _known(given, parts, connection.scope["state"]["ip"])
    connection.scope["state"]["caller"] = caller
    return caller


async def _known(given: str, parts: Parts, ip: str) -> Caller:
    """Return the caller of a key or token.

    A key that was not proven in the last hour is counted before the lookup.

    While the database is down, callers that were recognised recently are still accepted: they may read
    old answers.
    """
    named = parts.app.settings.admin_token
    if named and compare_digest(given.encode("utf-8", "surrogateescape"), named.get_secret_value().encode()):
        return Caller(DEFAULT, Right.ADMIN, "admin-token")
    memory, digest = parts.stale_cache, digest_of(given)
    tried = None if memory.is_proven(digest) else await parts.rates.try_key(ip, parts.app.settings.api_failed_keys)
    former = memory.caller(digest)
    if former and memory.is_away():
        return former
    try:
        caller = await _look_up(given, parts)
    except StorageAway:
        if former is None:
            raise
        return former
    except UserError:
        memory.unknown(digest)
        raise
    memory.recognised(digest, caller)
    if tried:
        await parts.rates.was_good(tried)
    return caller


async def _look_up(given: str, parts: Parts) -> Caller:
    if looks_like_key(given):
        return await _by_key(given, parts)
    if looks_like_token(given):
        return await _by_token(given, parts)
    raise UserError(
        "auth.wrong",
        "This does not look like an API key: keys start with gsk_.",
        hint=_WRONG,
    )


async def _by_key(given: str, parts: Parts) -> Caller:
    found = await parts.app.database.read_inline(account_queries.key_holder, digest_of(given))
    if found is None:
        raise UserError(
            "auth.wrong",
            "This API key is wrong: it is not known here, or it was revoked.",
            hint=_WRONG,
        )
    await _note_use(found, parts)
    return Caller(found.account, found.right, found.id.hex, key=found.id)


async def _note_use(key: ApiKey, parts: Parts) -> None:
    now = parts.app.clock.now()
    if key.used_at is None or now - key.used_at > account_queries.TOLD_EVERY:
        await parts.app.database.write(account_queries.note_key_use, key.account, key.id)


async def _by_token(given: str, parts: Parts) -> Caller:
    session = parts.signer.session(given)
    login = await parts.app.database.read(account_queries.get_login, session) if session else None
    if login is None:
        raise UserError(
            "auth.login",
            "This login is over, or was never one.",
            hint="Get a new token from POST /v1/auth/refresh, or log in again.",
        )
    return Caller(login.user.account, login.user.right, login.user.id.hex, session=login.id)


class KeyAccess:
    """Endpoint dependency: require a caller with at least this right, within the rate limits.

    `Guarded` finds it among the dependencies of a route and runs it before the body is read.
    """

    def __init__(
        self, right: Right, *, spends: Spends | None = None, in_query: bool = False, parameter: str = ""
    ) -> None:
        """`spends` refuses an account without room or credits; the query `parameter` may hold the key."""
        self._right = right
        self._in_query = in_query
        self._parameter = parameter
        self.spends = spends

    async def admit(self, connection: HTTPConnection, parts: Parts) -> Caller:
        otherwise = connection.query_params.get(self._parameter, "") if self._parameter else ""
        caller = await recognise(connection, parts, in_query=self._in_query, otherwise=otherwise)
        await _check(connection, parts, caller, self._right)
        connection.scope["state"]["enter"](caller.account)
        connection.scope["state"]["admitted"] = caller
        return caller

    async def __call__(self, connection: HTTPConnection, parts: GivenParts) -> Caller:
        admitted: Caller | None = connection.scope["state"].get("admitted")
        return admitted or await self.admit(connection, parts)


class Keyless:
    """Endpoint dependency of routes without a key: limit the requests of an address."""

    def __init__(self, kind: str, limit: int | None = None) -> None:
        """Without a `limit`, that of the settings applies."""
        self._kind = kind
        self._limit = limit

    async def admit(self, connection: HTTPConnection, parts: Parts) -> None:
        limit = parts.app.settings.api_ip_rate if self._limit is None else self._limit
        await parts.rates.take(self._kind, connection.scope["state"]["ip"], limit)

    async def __call__(self) -> None:
        """Do nothing: the route has called `admit` already."""


async def _check(connection: HTTPConnection, parts: Parts, caller: Caller, right: Right) -> None:
    """Check the caller's right and rate limits.

    The remaining allowance is sent with every answer, errors included.
    """
    settings = parts.app.settings
    if not caller.right.includes(right):
        raise missing_right(caller.right, right)
    connection.scope["state"]["headers"] = await parts.rates.take("key", caller.name, settings.api_key_rate)
    await parts.rates.take("ip", connection.scope["state"]["ip"], settings.api_ip_rate)
    if parts.stale_cache.is_away():
        raise StorageAway("The database is known to be away; requests do not wait for it.")


def tenant_by(access: KeyAccess) -> Callable[..., Awaitable[Tenant]]:
    """Return an endpoint dependency that gives the account of the caller."""

    async def scoped(parts: GivenParts, caller: Annotated[Caller, Depends(access)]) -> Tenant:
        return tenant_of(parts, caller)

    return scoped


def tenant_of(parts: Parts, caller: Caller) -> Tenant:
    cursors = Cursors(parts.signer.secret, caller.account)
    return Tenant(parts.app, caller.account, caller.key, parts.prices, cursors)


Reader = Annotated[Tenant, Depends(tenant_by(KeyAccess(Right.READ)))]
Submitter = Annotated[Tenant, Depends(tenant_by(KeyAccess(Right.SUBMIT)))]
Spender = Annotated[Tenant, Depends(tenant_by(KeyAccess(Right.SUBMIT, spends=Tenant.check_quota)))]
"""For endpoints that create jobs: refused without looking at the request if the account has no room or credits left."""
Continuer = Annotated[Tenant, Depends(tenant_by(KeyAccess(Right.SUBMIT, spends=Tenant.check_balance)))]
"""For endpoints that continue a job: refused like `Spender` if the account has no credits left."""
Admin = Annotated[Tenant, Depends(tenant_by(KeyAccess(Right.ADMIN)))]
