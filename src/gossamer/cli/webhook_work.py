"""What `gossamer webhook` does: through the same door as everybody else, for the operator's own account."""

import asyncio
from datetime import timedelta

from gossamer.assembly import App, open_poster
from gossamer.cli import words
from gossamer.cli.main import FAILED
from gossamer.cli.session import say, say_json
from gossamer.cli.webhook_views import delivery_json, endpoint_json, find_delivery, find_endpoint, outcome
from gossamer.deliver import webhooks
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.money import ACCOUNT
from gossamer.model.webhook import Delivery, DeliveryState
from gossamer.settings.forms import parse_duration
from gossamer.store import deliveries

_WAIT = 30.0  # seconds for one message, of which somebody else may be sending the one before
_LOOK = 0.2
_ALL = timedelta(minutes=10)

_SAVE_IT = "Keep the secret: it is not shown again. The receiver checks every message with it."


async def add_endpoint(app: App, url: str, events: str, *, as_json: bool) -> int:
    wanted = webhooks.read_events(events.split(","))
    async with open_poster(app.settings, app.clock) as poster:
        made = await webhooks.add(app.database, poster, ACCOUNT, url, wanted)
    endpoint = made.endpoint
    if as_json:
        say_json({**endpoint_json(endpoint), "secret": made.secret})
        return 0
    say(f"Webhook {short(endpoint.id)} added: {endpoint.url}")
    say(f"Secret: {made.secret}")
    say(_SAVE_IT)
    say(f"Try it with 'gossamer webhook test {short(endpoint.id)}'.")
    return 0


async def rotate_secret(app: App, text: str, overlap: str, *, as_json: bool) -> int:
    endpoint = await find_endpoint(app, text)
    try:
        time = parse_duration(overlap)
    except ValueError:
        raise UserError("usage", f"--overlap {overlap!r} is no time.", hint="Give something like 24h or 2d.") from None
    assert isinstance(time, timedelta)  # noqa: S101 - of a text it makes nothing else
    secret = await webhooks.rotate(app.database, ACCOUNT, endpoint.id, time)
    if as_json:
        say_json({**endpoint_json(endpoint), "secret": secret})
        return 0
    say(f"Secret: {secret}")
    say(_SAVE_IT)
    say(f"The one before stays valid for {words.duration(time)}." if time else "The one before is valid no longer.")
    return 0


async def send_test(app: App, text: str, *, as_json: bool) -> int:
    endpoint = await find_endpoint(app, text)
    return await _send(app, await webhooks.send_test(app.database, ACCOUNT, endpoint.id), as_json=as_json)


async def replay_one(app: App, text: str, *, as_json: bool) -> int:
    known = await find_delivery(app, text)
    return await _send(app, await webhooks.replay(app.database, ACCOUNT, known.id), as_json=as_json)


async def _send(app: App, message: Delivery, *, as_json: bool) -> int:
    """Now and here, unless somebody else is faster; 0 if it has arrived."""
    tries = len(message.attempts)
    until = asyncio.get_running_loop().time() + _WAIT
    async with app.sender("command") as sender:
        while len(message.attempts) == tries and asyncio.get_running_loop().time() < until:
            if not await sender.send_to(message.endpoint_id, message.id):
                await asyncio.sleep(_LOOK)
            message = await webhooks.delivery(app.database, ACCOUNT, message.id)
    if as_json:
        say_json(delivery_json(message))
    else:
        arrived = "Delivered" if message.state is DeliveryState.DELIVERED else "Not delivered"
        say(f"{arrived}: {outcome(message)}. Message {short(message.id)}.")
    return 0 if message.state is DeliveryState.DELIVERED else FAILED


async def replay_failed(app: App, text: str, *, as_json: bool) -> int:
    endpoint = await find_endpoint(app, text)
    again = await webhooks.replay_failed(app.database, ACCOUNT, endpoint.id)
    if as_json:
        say_json({"replayed": again})
    else:
        say(f"{words.several(again, 'message')} will be sent once more. {_whoever(app)}".rstrip())
    return 0


async def send_due(app: App, *, as_json: bool) -> int:
    async with app.sender("command") as sender:
        tried = await sender.send_due(_ALL)
    waiting = await app.database.read(deliveries.count_pending)
    if as_json:
        say_json({"tried": tried, "waiting": waiting})
    else:
        say(f"{words.several(tried, 'message')} sent, {waiting:,} waiting for another try.")
    return 0


async def switch(app: App, text: str, *, on: bool, as_json: bool) -> int:
    endpoint = await find_endpoint(app, text)
    endpoint = await (webhooks.enable if on else webhooks.disable)(app.database, ACCOUNT, endpoint.id)
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


async def remove_endpoint(app: App, text: str, *, as_json: bool) -> int:
    endpoint = await find_endpoint(app, text)
    await webhooks.remove(app.database, ACCOUNT, endpoint.id)
    if as_json:
        say_json(endpoint_json(endpoint))
    else:
        say(f"Webhook {short(endpoint.id)} removed, with the log of what was sent to it.")
    return 0


def _whoever(app: App) -> str:
    return "" if app.lock.holder() is not None else "Nobody works here now: send them with 'gossamer webhook send'."
