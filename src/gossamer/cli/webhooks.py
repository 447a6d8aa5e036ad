"""`gossamer webhook`: manage webhooks, and list and resend their messages."""

import asyncio
from datetime import timedelta
from typing import Any

from rich.table import Table
from rich.text import Text

from gossamer.cli import formatting, tables
from gossamer.cli.home import Home
from gossamer.cli.main import FAILED
from gossamer.cli.runtime import say, say_json
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.webhook import Delivery, DeliveryState, Endpoint
from gossamer.questions import webhooks
from gossamer.settings.types import parse_duration
from gossamer.webhooks.service import read_events


async def show_endpoints(home: Home, *, as_json: bool) -> None:
    found = await home.ask(webhooks.hooks)
    if as_json:
        say_json([endpoint_json(endpoint) for endpoint in found])
        return
    if not found:
        say("No webhooks. Add one with 'gossamer webhook add https://example.com/hooks'.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("ID", "State", "URL", "Events", "How it does"):
        table.add_column(title, no_wrap=title in ("ID", "State"), overflow="fold")
    for endpoint in found:
        events = ", ".join(sorted(endpoint.events)) or "all but job.pages"
        table.add_row(short(endpoint.id), str(endpoint.state), Text(endpoint.url), events, Text(_health(endpoint)))
    tables.show(table)


def _health(endpoint: Endpoint) -> str:
    if endpoint.reason:
        return endpoint.reason
    if endpoint.failing_since is None:
        return "well"
    return (
        f"{formatting.plural(endpoint.failures, 'failure')} since {formatting.local_time(endpoint.failing_since)[:19]}"
    )


async def show_deliveries(home: Home, endpoint: str, state: str, limit: int, *, as_json: bool) -> None:
    found = await home.ask(webhooks.hook_log, endpoint or None, _state(state) if state else None, limit)
    if as_json:
        say_json([delivery_json(one) for one in found])
        return
    if not found:
        say("No messages.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("Message", "Webhook", "Event", "State", "When", "Tries", "What came back"):
        table.add_column(title, no_wrap=title != "What came back", overflow="fold")
    for one in found:
        cells = (short(one.id), short(one.endpoint_id), str(one.type), str(one.state))
        table.add_row(*cells, formatting.local_time(one.created_at)[:19], str(len(one.attempts)), Text(outcome(one)))
    tables.show(table)


def _state(text: str) -> DeliveryState:
    try:
        return DeliveryState(text.strip().lower())
    except ValueError:
        states = ", ".join(DeliveryState)
        raise UserError("usage", f"{text!r} is not a state of a message.", hint=f"There are {states}.") from None


def outcome(one: Delivery) -> str:
    """The result of the last try, and what follows."""
    if not one.attempts:
        return "waits to be sent" if one.state is DeliveryState.PENDING else "was not sent"
    last = one.attempts[-1]
    said = last.error or f"HTTP {last.status}"
    result = f"{said} in {formatting.seconds(last.milliseconds)}"
    if one.state is DeliveryState.PENDING:
        return f"{result}; again at {formatting.local_time(one.due_at)[:19]}"
    return f"{result}; given up" if one.state is DeliveryState.FAILED else result


def endpoint_json(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "id": str(endpoint.id),
        "url": endpoint.url,
        "events": sorted(endpoint.events),
        "state": endpoint.state,
        "reason": endpoint.reason,
        "created_at": formatting.timestamp(endpoint.created_at),
        "failing_since": formatting.timestamp(endpoint.failing_since),
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
        "created_at": formatting.timestamp(one.created_at),
        "due_at": formatting.timestamp(one.due_at) if one.state is DeliveryState.PENDING else None,
        "delivered_at": formatting.timestamp(one.delivered_at),
        "attempts": [
            {
                "at": formatting.timestamp(tried.at),
                "http_status": tried.status,
                "took_ms": tried.milliseconds,
                "error": tried.error,
            }
            for tried in one.attempts
        ],
    }


_WAIT = 30.0  # seconds to wait for one message; another process may be sending the one before
_SAVE_IT = "Keep the secret: it is not shown again. The receiver checks every message with it."


async def add_endpoint(home: Home, url: str, events: str, *, as_json: bool) -> None:
    made = await home.ask(webhooks.add_hook, url, sorted(read_events(events.split(","))))
    endpoint = made.endpoint
    if as_json:
        say_json({**endpoint_json(endpoint), "secret": made.secret})
        return
    say(f"Webhook {short(endpoint.id)} added: {endpoint.url}")
    say(f"Secret: {made.secret}")
    say(_SAVE_IT)
    say(f"Try it with 'gossamer webhook test {short(endpoint.id)}'.")


async def rotate_secret(home: Home, text: str, overlap: str, *, as_json: bool) -> None:
    try:
        time = parse_duration(overlap)
    except ValueError:
        raise UserError("usage", f"--overlap {overlap!r} is not a duration.", hint="Give one like 24h or 2d.") from None
    assert isinstance(time, timedelta)  # noqa: S101 - a text gives nothing else
    made = await home.ask(webhooks.rotate_hook, text, round(time.total_seconds()))
    if as_json:
        say_json({**endpoint_json(made.endpoint), "secret": made.secret})
        return
    say(f"Secret: {made.secret}")
    say(_SAVE_IT)
    still = f"stays valid for {formatting.duration(time)}" if time else "is no longer valid"
    say(f"The previous secret {still}.")


async def send_test(home: Home, text: str, *, as_json: bool) -> int:
    return await _sent(home, await home.ask(webhooks.test_hook, text), as_json=as_json)


async def replay_one(home: Home, text: str, *, as_json: bool) -> int:
    return await _sent(home, await home.ask(webhooks.replay_message, text), as_json=as_json)


async def _sent(home: Home, message: Delivery, *, as_json: bool) -> int:
    """Wait until the message was tried, by this process or another. Exit code 0 if it has arrived."""
    tries = len(message.attempts)
    until = asyncio.get_running_loop().time() + _WAIT
    while len(message.attempts) == tries and asyncio.get_running_loop().time() < until:
        if not await home.send(message):
            await asyncio.sleep(home.pace)
        message = await home.ask(webhooks.message, str(message.id))
    if as_json:
        say_json(delivery_json(message))
    else:
        arrived = "Delivered" if message.state is DeliveryState.DELIVERED else "Not delivered"
        say(f"{arrived}: {outcome(message)}. Message {short(message.id)}.")
    return 0 if message.state is DeliveryState.DELIVERED else FAILED


async def replay_failed(home: Home, text: str, *, as_json: bool) -> None:
    again = await home.ask(webhooks.replay_given_up, text)
    if as_json:
        say_json({"replayed": again.messages})
        return
    how = "" if again.is_worked else "No process sends them now: use 'gossamer webhook send'."
    say(f"{formatting.plural(again.messages, 'message')} will be sent again. {how}".rstrip())


async def send_due(home: Home, *, as_json: bool) -> None:
    sent = await home.ask(webhooks.send_messages)
    if as_json:
        say_json({"tried": sent.tried, "waiting": sent.waiting})
    else:
        say(f"{formatting.plural(sent.tried, 'message')} sent, {sent.waiting:,} waiting for another try.")


async def switch(home: Home, text: str, *, on: bool, as_json: bool) -> None:
    endpoint = await home.ask(webhooks.switch_hook, text, on)
    if as_json:
        say_json(endpoint_json(endpoint))
    elif on:
        say(
            f"Webhook {short(endpoint.id)} is switched on. What was given up meanwhile is sent with "
            f"'gossamer webhook replay --failed {short(endpoint.id)}'."
        )
    else:
        say(f"Webhook {short(endpoint.id)} is switched off.")


async def remove_endpoint(home: Home, text: str, *, as_json: bool) -> None:
    endpoint = await home.ask(webhooks.remove_hook, text)
    if as_json:
        say_json(endpoint_json(endpoint))
    else:
        say(f"Webhook {short(endpoint.id)} removed, with the log of what was sent to it.")
