"""Webhooks: endpoints notified of the account's job events, a log of their deliveries, and resending."""

from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from gossamer.api import cursors
from gossamer.api.caller import Admin, Reader, Submitter
from gossamer.api.error_codes import declared
from gossamer.api.guarded import Guarded
from gossamer.model.fields import Strict
from gossamer.model.webhook import WANTED, Delivery, DeliveryState, Endpoint, EndpointState, EventType
from gossamer.webhooks.service import LONGEST_URL, read_events
from gossamer.webhooks.signing import LONGEST_OVERLAP, OVERLAP

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=Guarded)

_HOOK = "https://example.com/hooks"
_ADDRESS = ("webhook.url", "webhook.address", "webhook.event")
_MESSAGE = ("webhook.not_found", "webhook.no_delivery")


class NewWebhook(Strict):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"url": _HOOK, "events": ["job.completed", "job.failed"]}}
    )

    url: str = Field(min_length=1, max_length=LONGEST_URL, description="Address that messages are sent to, by POST.")
    events: list[Annotated[str, Field(max_length=40)]] = Field(
        default_factory=list,
        max_length=len(WANTED),
        description=f"Of {', '.join(WANTED)}. Default: all but job.pages, which is frequent.",
    )


class ChangedWebhook(Strict):
    """Changes to a webhook. Fields that are not given remain unchanged."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"enabled": True}})

    url: str | None = Field(None, min_length=1, max_length=LONGEST_URL)
    events: list[Annotated[str, Field(max_length=40)]] | None = Field(None, max_length=len(WANTED))
    enabled: bool | None = Field(None, description="false: messages are neither sent nor kept.")


class Rotation(Strict):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"overlap_hours": 24}})

    overlap_hours: float = Field(
        OVERLAP / timedelta(hours=1),
        ge=0,
        le=LONGEST_OVERLAP / timedelta(hours=1),
        allow_inf_nan=False,
        description="Hours during which messages are signed with the old secret too.",
    )


class WebhookView(BaseModel):
    id: str = Field(examples=["0192f3a1-7b2c-7d4e-8f5a-6b7c8d9e0f1a"])
    url: str = Field(examples=[_HOOK])
    events: list[EventType] = Field(description="Events sent to it; none: all but job.pages.")
    state: EndpointState = Field(description="active, or off.")
    reason: str = Field("", description="Why the webhook is off.")
    created_at: datetime
    failing_since: datetime | None = Field(None, description="Time of the first failure since the last success.")
    failures: int = Field(0, description="Number of consecutive failures.")


class NewWebhookView(WebhookView):
    secret: str = Field(description="Secret that signs messages, shown only in this answer.", examples=["whsec_..."])


class Webhooks(BaseModel):
    items: list[WebhookView]


class AttemptView(BaseModel):
    at: datetime
    http_status: int | None = Field(description="Status of the answer; null: no answer.")
    took_ms: int
    error: str = ""


class DeliveryView(BaseModel):
    """One message to one webhook."""

    id: str
    message_id: str = Field(description="Value of the header webhook-id, the same on every attempt.")
    webhook_id: str
    type: EventType
    job_id: str | None = None
    state: DeliveryState
    created_at: datetime
    due_at: datetime | None = Field(None, description="Time of the next attempt of a pending message.")
    delivered_at: datetime | None = None
    attempts: list[AttemptView]


class DeliveryPage(BaseModel):
    items: list[DeliveryView]
    has_more: bool
    next_cursor: str | None = None


class Replayed(BaseModel):
    replayed: int


def _fields(one: Endpoint) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "url": one.url,
        "events": sorted(one.events),
        "state": one.state,
        "reason": one.reason,
        "created_at": one.created_at,
        "failing_since": one.failing_since,
        "failures": one.failures,
    }


def _shown(one: Delivery) -> DeliveryView:
    return DeliveryView(
        id=str(one.id),
        message_id=one.message_id,
        webhook_id=str(one.endpoint_id),
        type=one.type,
        job_id=str(one.job_id) if one.job_id else None,
        state=one.state,
        created_at=one.created_at,
        due_at=one.due_at if one.state is DeliveryState.PENDING else None,
        delivered_at=one.delivered_at,
        attempts=[
            AttemptView(at=tried.at, http_status=tried.status, took_ms=tried.milliseconds, error=tried.error)
            for tried in one.attempts
        ],
    )


@router.get("", responses=declared("request.cursor"), summary="List the webhooks of the account")
async def list_webhooks(tenant: Reader, cursor: cursors.NoCursor = None) -> Webhooks:
    cursors.refuse(cursor)
    return Webhooks(items=[WebhookView(**_fields(one)) for one in await tenant.webhooks.all()])


@router.post(
    "", status_code=201, responses=declared(*_ADDRESS, "webhook.too_many", "webhook.no_secret"), summary="Add a webhook"
)
async def add(body: NewWebhook, tenant: Submitter, response: Response) -> NewWebhookView:
    """Add a webhook; an account can have up to 50. Messages follow Standard Webhooks, and go to public addresses only.

    The secret is shown in this answer only.
    """
    made = await tenant.webhooks.add(body.url, read_events(body.events))
    response.headers["Location"] = f"/v1/webhooks/{made.endpoint.id}"
    return NewWebhookView(**_fields(made.endpoint), secret=made.secret)


@router.get("/{webhook_id}", responses=declared("webhook.not_found"), summary="Get a webhook")
async def look(webhook_id: UUID, tenant: Reader) -> WebhookView:
    return WebhookView(**_fields(await tenant.webhooks.get(webhook_id)))


@router.patch(
    "/{webhook_id}",
    responses=declared("webhook.not_found", *_ADDRESS),
    summary="Change a webhook, or turn it on or off",
)
async def change(webhook_id: UUID, body: ChangedWebhook, tenant: Submitter) -> WebhookView:
    """Change a webhook. One that was turned off after failures is turned on again with `enabled`."""
    one = await tenant.webhooks.get(webhook_id)
    if body.url is not None or body.events is not None:
        events = None if body.events is None else read_events(body.events)
        one = await tenant.webhooks.change(webhook_id, body.url, events)
    if body.enabled is not None:
        one = await tenant.webhooks.switch(webhook_id, on=body.enabled)
    return WebhookView(**_fields(one))


@router.delete("/{webhook_id}", status_code=204, responses=declared("webhook.not_found"), summary="Remove a webhook")
async def remove(webhook_id: UUID, tenant: Submitter) -> Response:
    """Remove a webhook and the log of its deliveries."""
    await tenant.webhooks.remove(webhook_id)
    return Response(status_code=204)


@router.post(
    "/{webhook_id}/rotate",
    responses=declared("webhook.not_found", "webhook.overlap", "webhook.no_secret"),
    summary="Give a webhook a new secret",
)
async def rotate(webhook_id: UUID, tenant: Admin, body: Rotation | None = None) -> NewWebhookView:
    """Replace the secret; both sign messages for a while. Needs an admin key, since the answer has the new secret."""
    overlap = timedelta(hours=(body or Rotation.model_validate({})).overlap_hours)
    secret = await tenant.webhooks.rotate(webhook_id, overlap)
    return NewWebhookView(**_fields(await tenant.webhooks.get(webhook_id)), secret=secret)


@router.post(
    "/{webhook_id}/test",
    status_code=202,
    responses=declared("webhook.not_found", "webhook.off"),
    summary="Send a test message",
)
async def test(webhook_id: UUID, tenant: Submitter) -> DeliveryView:
    """Queue a test message; a running worker sends it within two seconds. Its delivery shows the response."""
    return _shown(await tenant.webhooks.send_test(webhook_id))


@router.get(
    "/{webhook_id}/deliveries",
    responses=declared("webhook.not_found", "request.cursor"),
    summary="List the deliveries of a webhook",
)
async def deliveries(
    webhook_id: UUID,
    tenant: Reader,
    state: DeliveryState | None = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DeliveryPage:
    """List the deliveries of the last 30 days, newest first."""
    found = await tenant.webhooks.log(
        webhook_id, state, tenant.cursors.id_place(f"deliveries {webhook_id}", cursor), limit + 1
    )
    more = len(found) > limit
    after = tenant.cursors.cursor(f"deliveries {webhook_id}", found[limit - 1].id.bytes) if more else None
    return DeliveryPage(items=[_shown(one) for one in found[:limit]], has_more=more, next_cursor=after)


@router.get("/{webhook_id}/deliveries/{delivery_id}", responses=declared(*_MESSAGE), summary="Get a delivery")
async def delivery(webhook_id: UUID, delivery_id: UUID, tenant: Reader) -> DeliveryView:
    return _shown(await tenant.webhooks.delivery(webhook_id, delivery_id))


@router.post(
    "/{webhook_id}/deliveries/{delivery_id}/replay",
    status_code=202,
    responses=declared(*_MESSAGE, "webhook.off"),
    summary="Send a message again",
)
async def replay(webhook_id: UUID, delivery_id: UUID, tenant: Submitter) -> DeliveryView:
    """Send a message again, whatever its state, with the same id: receivers can recognise duplicates."""
    return _shown(await tenant.webhooks.replay(webhook_id, delivery_id))


@router.post(
    "/{webhook_id}/replay-failed",
    status_code=202,
    responses=declared("webhook.not_found", "webhook.off"),
    summary="Send undelivered messages again",
)
async def replay_failed(
    webhook_id: UUID,
    tenant: Submitter,
    since: Annotated[AwareDatetime | None, Query(description="Only messages created since then.")] = None,
) -> Replayed:
    return Replayed(replayed=await tenant.webhooks.replay_failed(webhook_id, since))
