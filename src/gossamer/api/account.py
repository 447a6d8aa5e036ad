"""The account: its limits, its usage, its keys, and logins with a password."""

import asyncio
import csv
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from gossamer.accounts import passwords, tokens
from gossamer.accounts import queries as account_queries
from gossamer.accounts.service import digest_of
from gossamer.api import views
from gossamer.api.caller import Admin, Caller, KeyAccess, Keyless, Reader
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.error_codes import declared
from gossamer.api.guarded import Guarded, ReadAgain
from gossamer.errors import UserError
from gossamer.model.account import Right
from gossamer.model.fields import Strict

router = APIRouter(prefix="/v1", tags=["account"], route_class=ReadAgain)
logins = APIRouter(prefix="/v1/auth", tags=["login"], route_class=Guarded)

TRIES = 10  # per minute and address
_LONGEST = timedelta(days=366)


class AccountView(BaseModel):
    id: str = Field(examples=["acme"])
    name: str
    month: str = Field(examples=["2026-11"])
    credits: int | None = Field(
        description="Account credits per month, which are not what providers charge; null: no limit."
    )
    credits_used: int
    credits_left: int | None
    running_jobs: int
    running_jobs_limit: int | None
    queued_jobs: int
    queued_jobs_limit: int | None


class Usage(BaseModel):
    """Usage per day, or per request with a cursor for the next page."""

    days: list[views.DayView] = Field(default_factory=list)
    items: list[views.UseView] = Field(default_factory=list)
    has_more: bool = False
    next_cursor: str | None = None


class NewKey(Strict):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"name": "nightly", "scope": "submit"}})

    name: str = Field(min_length=1, max_length=100, description="Purpose of the key.")
    scope: Right = Field(Right.READ, description="read, submit or admin; each includes the ones before.")


class Keys(BaseModel):
    items: list[views.KeyView]


class Credentials(Strict):
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
    refresh_token: str = Field(description="Valid once. Using it a second time ends the login.")
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - no password, only a kind
    expires_in: int = Field(description="Seconds for which the access token is valid.")


@router.get("/account", responses=declared(), summary="Limits and remaining credits of the account")
async def account(tenant: Reader) -> AccountView:
    found, limits, spent = await tenant.account(), await tenant.quota(), await tenant.spent()
    running, waiting = await tenant.at_work()
    return AccountView(
        id=found.id,
        name=found.name,
        month=f"{datetime.now(UTC):%Y-%m}",
        credits=limits.credits,
        credits_used=spent,
        credits_left=None if limits.credits is None else max(0, limits.credits - spent),
        running_jobs=running,
        running_jobs_limit=limits.running,
        queued_jobs=waiting,
        queued_jobs_limit=limits.queued,
    )


@router.get(
    "/usage",
    responses={**declared("usage.span", "request.cursor"), 200: {"content": {"text/csv": {}}}},
    response_model=Usage,
    summary="Usage of the account",
)
async def usage(
    tenant: Reader,
    first: Annotated[date | None, Query(alias="from", description="The first day; 30 days ago if not given.")] = None,
    last: Annotated[date | None, Query(alias="to", description="The last day; today if not given. UTC.")] = None,
    by: Literal["day", "request"] = "day",
    form: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Usage | Response:
    until = last or datetime.now(UTC).date()
    since = first or until - timedelta(days=min(30, (until - date.min).days))
    if until - since > _LONGEST or since > until:
        raise UserError(
            "usage.span",
            f"The period {since} to {until} is longer than 366 days, or ends before it begins.",
            hint="Ask for up to 366 days, first day first.",
        )
    if by == "day":
        found = Usage(days=[views.day(one) for one in await tenant.used_by_day(str(since), str(until))])
        return _csv(views.DayView, found.days) if form == "csv" else found
    rows = await tenant.used(str(since), str(until), tenant.cursors.id_place("usage", cursor), limit + 1)
    more = len(rows) > limit
    items = [views.use(one) for one in rows[:limit]]
    after = tenant.cursors.cursor("usage", rows[limit - 1].job_id.bytes) if more else None
    if form == "csv":
        answer = _csv(views.UseView, items)
        if after:
            answer.headers["X-Next-Cursor"] = after
        return answer
    return Usage(items=items, has_more=more, next_cursor=after)


def _csv(shape: type[BaseModel], rows: list[views.DayView] | list[views.UseView]) -> Response:
    text = StringIO()
    writer = csv.DictWriter(text, list(shape.model_fields))
    writer.writeheader()
    writer.writerows(row.model_dump(mode="json") for row in rows)
    return PlainTextResponse(text.getvalue(), media_type="text/csv")


@router.get("/keys", responses=declared(), summary="List the keys of the account")
async def list_keys(tenant: Admin) -> Keys:
    return Keys(items=[views.KeyView(**views.key_fields(one)) for one in await tenant.keys()])


@router.post("/keys", status_code=201, responses=declared("account.name"), summary="Create a key")
async def create_key(body: NewKey, tenant: Admin) -> views.NewKeyView:
    """Create a key. It is shown in this answer only."""
    new, kept = await tenant.add_key(body.name, body.scope)
    return views.NewKeyView(**views.key_fields(kept), key=new.text)


@router.delete("/keys/{key_id}", responses=declared("key.not_found"), summary="Revoke a key")
async def revoke_key(key_id: UUID, tenant: Admin) -> views.KeyView:
    """Revoke a key permanently."""
    return views.KeyView(**views.key_fields(await tenant.revoke_key(key_id)))


@logins.post(
    "/login",
    responses=declared("auth.login", keyless=True),
    dependencies=[Depends(Keyless("login", TRIES))],
    summary="Log in",
)
async def log_in(body: Credentials, parts: GivenParts) -> Tokens:
    found = await parts.app.database.read(account_queries.user_by_email, body.email.strip().lower())
    user, kept = found if found else (None, None)
    if not await asyncio.to_thread(passwords.fits, body.password, kept) or user is None:
        raise UserError(
            "auth.login",
            "Wrong e-mail address or password.",
            hint="Try again, or ask the operator to set a new password.",
        )
    secret = tokens.refresh_secret()
    until = parts.app.clock.now() + tokens.REFRESH
    session = await parts.app.database.write(account_queries.begin_login, user.id, digest_of(secret), until)
    return _pair(parts, tokens.refresh_token(session, secret))


@logins.post(
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


@logins.post("/logout", status_code=204, responses=declared(), summary="Log out")
async def log_out(caller: Annotated[Caller, Depends(KeyAccess(Right.READ))], parts: GivenParts) -> Response:
    """End the login: its tokens are refused from now on."""
    if caller.session:
        await parts.app.database.write(account_queries.end_login, caller.session)
    return Response(status_code=204)


def _pair(parts: Parts, renewing: str) -> Tokens:
    session, _ = tokens.read_refresh(renewing)
    assert session is not None  # noqa: S101 - made a line above
    access = parts.signer.access(session, parts.app.clock.now())
    return Tokens(access_token=access, refresh_token=renewing, expires_in=round(tokens.ACCESS.total_seconds()))
