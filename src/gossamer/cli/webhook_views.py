"""Webhooks and what was sent to them, as people and scripts see them."""

from typing import Any
from uuid import UUID

from rich.table import Table
from rich.text import Text

from gossamer.assembly import App
from gossamer.cli import tables, words
from gossamer.cli.session import say, say_json
from gossamer.deliver import webhooks
from gossamer.errors import UserError
from gossamer.intake.typed_id import WRITTEN_IN, NotAnId, Several, find_id
from gossamer.model.ids import short
from gossamer.model.money import ACCOUNT
from gossamer.model.webhook import Delivery, DeliveryState, Endpoint
from gossamer.store import deliveries, endpoints
from gossamer.store.tx import Tx


async def find_endpoint(app: App, text: str) -> Endpoint:
    """The webhook a person means by what they typed."""

    def matching(tx: Tx, digits: str) -> list[UUID]:
        return endpoints.matching(tx, ACCOUNT, digits)

    match await find_id(app.database, text, matching):
        case NotAnId():
            hint = f"Give {WRITTEN_IN} 'gossamer webhook list'."
            raise UserError("webhook.bad_id", f"{text!r} is not the id of a webhook.", hint=hint)
        case Several(some):
            hint = "Give more characters."
            raise UserError("webhook.ambiguous", f"{text!r} fits more than one webhook: {some}.", hint=hint)
        case UUID() as identifier:
            return await webhooks.get(app.database, ACCOUNT, identifier)
    hint = "See 'gossamer webhook list' for the ones there are."
    raise UserError("webhook.not_found", f"There is no webhook {text!r} here.", hint=hint)


async def find_delivery(app: App, text: str) -> Delivery:
    """The message a person means by what they typed; also as receivers know it."""

    def matching(tx: Tx, digits: str) -> list[UUID]:
        return deliveries.matching(tx, ACCOUNT, digits)

    match await find_id(app.database, text.strip().removeprefix("msg_"), matching):
        case NotAnId():
            hint = f"Give {WRITTEN_IN} 'gossamer webhook deliveries'."
            raise UserError("webhook.bad_message", f"{text!r} is not the id of a message.", hint=hint)
        case Several(some):
            hint = "Give more characters."
            raise UserError("webhook.ambiguous", f"{text!r} fits more than one message: {some}.", hint=hint)
        case UUID() as identifier:
            return await webhooks.delivery(app.database, ACCOUNT, identifier)
    hint = "See 'gossamer webhook deliveries' for those of the last 30 days."
    raise UserError("webhook.no_delivery", f"There is no message {text!r} here.", hint=hint)


async def show_endpoints(app: App, *, as_json: bool) -> int:
    found = await webhooks.everything(app.database, ACCOUNT)
    if as_json:
        say_json([endpoint_json(endpoint) for endpoint in found])
        return 0
    if not found:
        say("No webhooks. Add one with 'gossamer webhook add https://example.com/hooks'.")
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("ID", "State", "URL", "Events", "How it does"):
        table.add_column(title, no_wrap=title in ("ID", "State"), overflow="fold")
    for endpoint in found:
        events = ", ".join(sorted(endpoint.events)) or "all but job.pages"
        table.add_row(short(endpoint.id), str(endpoint.state), Text(endpoint.url), events, Text(_health(endpoint)))
    tables.show(table)
    return 0


def _health(endpoint: Endpoint) -> str:
    if endpoint.reason:
        return endpoint.reason
    if endpoint.failing_since is None:
        return "well"
    return f"{words.several(endpoint.failures, 'failure')} since {words.moment(endpoint.failing_since)[:19]}"


async def show_deliveries(app: App, endpoint: str, state: str, limit: int, *, as_json: bool) -> int:
    chosen = await find_endpoint(app, endpoint) if endpoint else None
    wanted = _state(state) if state else None
    found = await webhooks.log(app.database, ACCOUNT, chosen.id if chosen else None, state=wanted, limit=limit)
    if as_json:
        say_json([delivery_json(one) for one in found])
        return 0
    if not found:
        say("No messages.")
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("Message", "Webhook", "Event", "State", "When", "Tries", "What came back"):
        table.add_column(title, no_wrap=title != "What came back", overflow="fold")
    for one in found:
        cells = (short(one.id), short(one.endpoint_id), str(one.type), str(one.state))
        table.add_row(*cells, words.moment(one.created_at)[:19], str(len(one.attempts)), Text(outcome(one)))
    tables.show(table)
    return 0


def _state(text: str) -> DeliveryState:
    try:
        return DeliveryState(text.strip().lower())
    except ValueError:
        states = ", ".join(DeliveryState)
        raise UserError("usage", f"{text!r} is no state of a message.", hint=f"There are {states}.") from None


def outcome(one: Delivery) -> str:
    """Of the last try, and what follows."""
    if not one.attempts:
        return "waits to be sent" if one.state is DeliveryState.PENDING else "was not sent"
    last = one.attempts[-1]
    said = last.error or f"HTTP {last.status}"
    told = f"{said} in {words.seconds(last.milliseconds)}"
    if one.state is DeliveryState.PENDING:
        return f"{told}; again at {words.moment(one.due_at)[:19]}"
    return f"{told}; given up" if one.state is DeliveryState.FAILED else told


def endpoint_json(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "id": str(endpoint.id),
        "url": endpoint.url,
        "events": sorted(endpoint.events),
        "state": endpoint.state,
        "reason": endpoint.reason,
        "created_at": words.stamp(endpoint.created_at),
        "failing_since": words.stamp(endpoint.failing_since),
        "failures": endpoint.failures,
    }


def delivery_json(one: Delivery) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "message_id": one.message_id,
        "webhook": str(one.endpoint_id),
        "type": one.type,
        "job": str(one.job_id) if one.job_id else None,
        "state": one.state,
        "created_at": words.stamp(one.created_at),
        "due_at": words.stamp(one.due_at) if one.state is DeliveryState.PENDING else None,
        "delivered_at": words.stamp(one.delivered_at),
        "attempts": [
            {
                "at": words.stamp(tried.at),
                "http_status": tried.status,
                "took_ms": tried.milliseconds,
                "error": tried.error,
            }
            for tried in one.attempts
        ],
    }
