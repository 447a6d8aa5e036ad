"""The account itself: its limits, what it has used, and its keys."""

import csv
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from gossamer.api import views
from gossamer.api.caller import Admin, Reader
from gossamer.api.codes import declared
from gossamer.api.guarded import ReadAgain
from gossamer.errors import UserError
from gossamer.model.account import Right
from gossamer.model.fields import Strict

router = APIRouter(prefix="/v1", tags=["account"], route_class=ReadAgain)

_LONGEST = timedelta(days=366)


class AccountView(BaseModel):
    id: str = Field(examples=["acme"])
    name: str
    month: str = Field(examples=["2026-11"])
    credits: int | None = Field(description="Account credits of a month; null: no limit. Not what providers charge.")
    credits_used: int
    credits_left: int | None
    running_jobs: int
    running_jobs_limit: int | None
    queued_jobs: int
    queued_jobs_limit: int | None


class Usage(BaseModel):
    """Per day, or per request with a cursor for the next page."""

    days: list[views.DayView] = Field(default_factory=list)
    items: list[views.UseView] = Field(default_factory=list)
    has_more: bool = False
    next_cursor: str | None = None


class NewKey(Strict):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"name": "nightly", "scope": "submit"}})

    name: str = Field(min_length=1, max_length=100, description="What it is for.")
    scope: Right = Field(Right.READ, description="read, submit or admin; each includes the ones before.")


class Keys(BaseModel):
    items: list[views.KeyView]


@router.get("/account", responses=declared(), summary="The account: limits and what is left")
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
    summary="What the account has used",
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
            f"{since} to {until} cannot be shown at once.",
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


@router.get("/keys", responses=declared(), summary="The keys of the account")
async def list_keys(tenant: Admin) -> Keys:
    return Keys(items=[views.KeyView(**views.key_fields(one)) for one in await tenant.keys()])


@router.post("/keys", status_code=201, responses=declared("account.name"), summary="Make a key")
async def create_key(body: NewKey, tenant: Admin) -> views.NewKeyView:
    """The key is in this answer, and nowhere else ever after."""
    new, kept = await tenant.add_key(body.name, body.scope)
    return views.NewKeyView(**views.key_fields(kept), key=new.text)


@router.delete("/keys/{key_id}", responses=declared("key.not_found"), summary="Revoke a key")
async def revoke_key(key_id: UUID, tenant: Admin) -> views.KeyView:
    """From now on it is refused, for good."""
    return views.KeyView(**views.key_fields(await tenant.revoke_key(key_id)))
