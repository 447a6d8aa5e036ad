"""Logging in with a password: a short token to ask with, and one that is good for a new pair."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from gossamer.accounts import passwords, tokens
from gossamer.accounts import queries as account_queries
from gossamer.accounts.service import digest_of
from gossamer.api.caller import Access, Caller, Keyless
from gossamer.api.codes import declared
from gossamer.api.guarded import Guarded
from gossamer.api.parts import GivenParts, Parts
from gossamer.errors import UserError
from gossamer.model.account import Right
from gossamer.model.fields import Strict

router = APIRouter(prefix="/v1/auth", tags=["login"], route_class=Guarded)

TRIES = 10  # per minute and address


class Login(Strict):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"email": "ann@acme.com", "password": "a long sentence"}}
    )

    email: str = Field(min_length=3, max_length=300)
    password: str = Field(min_length=1, max_length=passwords.LONGEST)


class Refresh(Strict):
    model_config = ConfigDict(extra="forbid")

    refresh_token: str = Field(min_length=1, max_length=200)


class Tokens(BaseModel):
    access_token: str
    refresh_token: str = Field(description="Good for one time. One that comes twice ends the login.")
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - no password, only a kind
    expires_in: int = Field(description="Seconds for which the access token is good.")


@router.post(
    "/login",
    responses=declared("auth.login", keyless=True),
    dependencies=[Depends(Keyless("login", TRIES))],
    summary="Log in",
)
async def log_in(body: Login, parts: GivenParts) -> Tokens:
    found = await parts.app.database.read(account_queries.user_by_email, body.email.strip().lower())
    user, kept = found if found else (None, None)
    if not await asyncio.to_thread(passwords.fits, body.password, kept) or user is None:
        raise UserError(
            "auth.login",
            "E-mail address and password do not fit together.",
            hint="Try again, or have a new password set.",
        )
    secret = tokens.refresh_secret()
    until = parts.app.clock.now() + tokens.REFRESH
    session = await parts.app.database.write(account_queries.begin_login, user.id, digest_of(secret), until)
    return _pair(parts, tokens.refresh_token(session, secret))


@router.post(
    "/refresh",
    responses=declared("auth.login", keyless=True),
    dependencies=[Depends(Keyless("login", TRIES * 6))],
    summary="Get a new pair of tokens",
)
async def refresh(body: Refresh, parts: GivenParts) -> Tokens:
    session, secret = tokens.read_refresh(body.refresh_token)
    new = tokens.refresh_secret()
    renewed = None
    if session:
        renewed = await parts.app.database.write(
            account_queries.renew_login, session, digest_of(secret), digest_of(new)
        )
    if session is None or renewed is None:
        raise UserError("auth.login", "This login is over, or was never one.", hint="Log in again.")
    return _pair(parts, tokens.refresh_token(session, new))


@router.post("/logout", status_code=204, responses=declared(), summary="Log out")
async def log_out(caller: Annotated[Caller, Depends(Access(Right.READ))], parts: GivenParts) -> Response:
    """Ends the login: its tokens are refused from now on."""
    if caller.session:
        await parts.app.database.write(account_queries.end_login, caller.session)
    return Response(status_code=204)


def _pair(parts: Parts, renewing: str) -> Tokens:
    session, _ = tokens.read_refresh(renewing)
    assert session is not None  # noqa: S101 - made a line above
    access = parts.signer.access(session, parts.app.clock.now())
    return Tokens(access_token=access, refresh_token=renewing, expires_in=round(tokens.ACCESS.total_seconds()))
