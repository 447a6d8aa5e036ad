"""Webhooks and what was sent to them, as people and scripts see them."""

from typing import Any

from rich.table import Table
from rich.text import Text

from gossamer.cli import tables, words
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.webhook import Delivery, DeliveryState, Endpoint
from gossamer.questions import webhooks


async def show_endpoints(home: Home, *, as_json: bool) -> int:
    found = await home.ask(webhooks.hooks)
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


async def show_deliveries(home: Home, endpoint: str, state: str, limit: int, *, as_json: bool) -> int:
    found = await home.ask(webhooks.hook_log, endpoint or None, _state(state) if state else None, limit)
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
