"""Webhooks, and what was sent to them."""

from datetime import datetime

from gossamer.client.answers.answer import Answer


class Webhook(Answer):
    id: str
    url: str
    events: list[str]
    state: str
    reason: str = ""
    created_at: datetime
    failing_since: datetime | None = None
    failures: int = 0


class NewWebhook(Webhook):
    secret: str  # shown this once


class Webhooks(Answer):
    items: list[Webhook]


class Attempt(Answer):
    at: datetime
    http_status: int | None
    took_ms: int
    error: str = ""


class Delivery(Answer):
    id: str
    message_id: str
    webhook_id: str
    type: str
    job_id: str | None = None
    state: str
    created_at: datetime
    due_at: datetime | None = None
    delivered_at: datetime | None = None
    attempts: list[Attempt]


class DeliveryPage(Answer):
    items: list[Delivery]
    has_more: bool
    next_cursor: str | None = None


class Replayed(Answer):
    replayed: int
