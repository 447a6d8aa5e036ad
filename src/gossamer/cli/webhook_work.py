"""What `gossamer webhook` does, here or through a server: for the operator's own account, or for that of the key."""

import asyncio
from datetime import timedelta

from gossamer.cli import words
from gossamer.cli.home import Home
from gossamer.cli.main import FAILED
from gossamer.cli.session import say, say_json
from gossamer.cli.webhook_views import delivery_json, endpoint_json, outcome
from gossamer.deliver.webhooks import read_events
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.webhook import Delivery, DeliveryState
from gossamer.questions import webhooks
from gossamer.settings.forms import parse_duration

_WAIT = 30.0  # seconds for one message, of which somebody else may be sending the one before

_SAVE_IT = "Keep the secret: it is not shown again. The receiver checks every message with it."


async def add_endpoint(home: Home, url: str, events: str, *, as_json: bool) -> int:
    made = await home.ask(webhooks.add_hook, url, sorted(read_events(events.split(","))))
    endpoint = made.endpoint
    if as_json:
        say_json({**endpoint_json(endpoint), "secret": made.secret})
        return 0
    say(f"Webhook {short(endpoint.id)} added: {endpoint.url}")
    say(f"Secret: {made.secret}")
    say(_SAVE_IT)
    say(f"Try it with 'gossamer webhook test {short(endpoint.id)}'.")
    return 0


async def rotate_secret(home: Home, text: str, overlap: str, *, as_json: bool) -> int:
    try:
        time = parse_duration(overlap)
    except ValueError:
        raise UserError("usage", f"--overlap {overlap!r} is no time.", hint="Give something like 24h or 2d.") from None
    assert isinstance(time, timedelta)  # noqa: S101 - of a text it makes nothing else
    made = await home.ask(webhooks.rotate_hook, text, round(time.total_seconds()))
    if as_json:
        say_json({**endpoint_json(made.endpoint), "secret": made.secret})
        return 0
    say(f"Secret: {made.secret}")
    say(_SAVE_IT)
    say(f"The one before stays valid for {words.duration(time)}." if time else "The one before is valid no longer.")
    return 0


async def send_test(home: Home, text: str, *, as_json: bool) -> int:
    return await _sent(home, await home.ask(webhooks.test_hook, text), as_json=as_json)


async def replay_one(home: Home, text: str, *, as_json: bool) -> int:
    return await _sent(home, await home.ask(webhooks.replay_message, text), as_json=as_json)


async def _sent(home: Home, message: Delivery, *, as_json: bool) -> int:
    """Now, by us or by whoever is faster; 0 if it has arrived."""
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


async def replay_failed(home: Home, text: str, *, as_json: bool) -> int:
    again = await home.ask(webhooks.replay_given_up, text)
    if as_json:
        say_json({"replayed": again.messages})
        return 0
    nobody = "" if again.is_worked else "Nobody works here now: send them with 'gossamer webhook send'."
    say(f"{words.several(again.messages, 'message')} will be sent once more. {nobody}".rstrip())
    return 0


async def send_due(home: Home, *, as_json: bool) -> int:
    sent = await home.ask(webhooks.send_messages)
    if as_json:
        say_json({"tried": sent.tried, "waiting": sent.waiting})
    else:
        say(f"{words.several(sent.tried, 'message')} sent, {sent.waiting:,} waiting for another try.")
    return 0


async def switch(home: Home, text: str, *, on: bool, as_json: bool) -> int:
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
    return 0


async def remove_endpoint(home: Home, text: str, *, as_json: bool) -> int:
    endpoint = await home.ask(webhooks.remove_hook, text)
    if as_json:
        say_json(endpoint_json(endpoint))
    else:
        say(f"Webhook {short(endpoint.id)} removed, with the log of what was sent to it.")
    return 0
