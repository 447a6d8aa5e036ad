"""Queries and commands for an account's webhooks, for API keys that may submit jobs."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated
from uuid import UUID

from pydantic import Field

from gossamer.app import key_seals, open_poster
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.intake.typed_id import WRITTEN_IN, NotAnId, Several, find_id
from gossamer.model.account import Right
from gossamer.model.webhook import WANTED, Delivery, DeliveryState, Endpoint
from gossamer.questions.view import Few, Text, View
from gossamer.webhooks import queries as webhook_queries
from gossamer.webhooks import service as webhook_service

Events = Annotated[list[Annotated[str, Field(max_length=40)]], Field(max_length=2 * len(WANTED))]
Seconds = Annotated[int, Field(ge=0, le=10_000_000)]
_ALL = timedelta(minutes=10)
_WHILE_ASKED = timedelta(seconds=30)  # limit for a request to a server


@dataclass(frozen=True, slots=True)
class MadeHook:
    """A webhook with its new secret, which is shown once."""

    endpoint: Endpoint
    secret: str


@dataclass(frozen=True, slots=True)
class Again:
    """Number of messages that will be sent again; `is_worked` is True if a worker is running."""

    messages: int
    is_worked: bool


@dataclass(frozen=True, slots=True)
class Sent:
    tried: int
    waiting: int


async def hooks(view: View) -> tuple[Endpoint, ...]:
    account, database = view.own(Right.READ)
    return tuple(await webhook_service.everything(database, account))


async def hook_log(view: View, text: Text | None, state: DeliveryState | None, limit: Few) -> tuple[Delivery, ...]:
    """Return the messages sent to one webhook, or to all."""
    account, database = view.own(Right.READ)
    chosen = (await _hook(view, text)).id if text else None
    return tuple(await webhook_service.log(database, account, chosen, state=state, limit=limit))


async def message(view: View, text: Text) -> Delivery:
    """Return the message named by a user's text; the form that receivers see is accepted too."""
    account, database = view.own(Right.READ)

    def matching(tx: Tx, digits: str) -> list[UUID]:
        return webhook_queries.deliveries_matching(tx, account, digits)

    match await find_id(database, text.strip().removeprefix("msg_"), matching):
        case NotAnId():
            hint = f"Give {WRITTEN_IN} 'gossamer webhook deliveries'."
            raise UserError("webhook.bad_message", f"{text!r} is not the id of a message.", hint=hint)
        case Several(some):
            hint = "Give more characters."
            raise UserError("webhook.ambiguous", f"{text!r} fits more than one message: {some}.", hint=hint)
        case UUID() as identifier:
            return await webhook_service.delivery(database, account, identifier)
    hint = "See 'gossamer webhook deliveries' for those of the last 30 days."
    raise UserError("webhook.no_delivery", f"There is no message {text!r} here.", hint=hint)


async def _hook(view: View, text: str) -> Endpoint:
    """Return the webhook named by a user's text."""
    account, database = view.own(Right.READ)

    def matching(tx: Tx, digits: str) -> list[UUID]:
        return webhook_queries.endpoints_matching(tx, account, digits)

    match await find_id(database, text, matching):
        case NotAnId():
            hint = f"Give {WRITTEN_IN} 'gossamer webhook list'."
            raise UserError("webhook.bad_id", f"{text!r} is not the id of a webhook.", hint=hint)
        case Several(some):
            hint = "Give more characters."
            raise UserError("webhook.ambiguous", f"{text!r} fits more than one webhook: {some}.", hint=hint)
        case UUID() as identifier:
            return await webhook_service.get(database, account, identifier)
    hint = "See 'gossamer webhook list' for the ones there are."
    raise UserError("webhook.not_found", f"There is no webhook {text!r} here.", hint=hint)


# What follows changes something.


async def add_hook(view: View, url: Text, events: Events) -> MadeHook:
    account, database = view.own(Right.SUBMIT)
    wanted = webhook_service.read_events(events)
    async with open_poster(view.settings, view.clock) as addresses:
        made = await webhook_service.add(database, addresses, key_seals(view.settings), account, url, wanted)
    return MadeHook(made.endpoint, made.secret)


async def rotate_hook(view: View, text: Text, overlap_seconds: Seconds) -> MadeHook:
    account, database = view.own(Right.ADMIN)
    endpoint = await _hook(view, text)
    seals, overlap = key_seals(view.settings), timedelta(seconds=overlap_seconds)
    return MadeHook(endpoint, await webhook_service.rotate(database, seals, account, endpoint.id, overlap))


async def switch_hook(view: View, text: Text, on: bool) -> Endpoint:
    account, database = view.own(Right.SUBMIT)
    endpoint = await _hook(view, text)
    return await (webhook_service.enable if on else webhook_service.disable)(database, account, endpoint.id)


async def remove_hook(view: View, text: Text) -> Endpoint:
    account, database = view.own(Right.SUBMIT)
    endpoint = await _hook(view, text)
    await webhook_service.remove(database, account, endpoint.id)
    return endpoint


async def test_hook(view: View, text: Text) -> Delivery:
    """Queue a test message; a worker sends it like any other."""
    account, database = view.own(Right.SUBMIT)
    return await webhook_service.send_test(database, account, (await _hook(view, text)).id)


async def replay_message(view: View, text: Text) -> Delivery:
    account, database = view.own(Right.SUBMIT)
    return await webhook_service.replay(database, account, (await message(view, text)).id)


async def replay_given_up(view: View, text: Text) -> Again:
    account, database = view.own(Right.SUBMIT)
    again = await webhook_service.replay_failed(database, account, (await _hook(view, text)).id)
    return Again(again, await view.runner() is not None)


async def send_messages(view: View) -> Sent:
    """Send all due messages of all accounts; for the operator."""
    app = view.house()
    async with app.sender("command") as sender:
        tried = await sender.send_due(_WHILE_ASKED if view.is_remote else _ALL)
    return Sent(tried, await app.database.read(webhook_queries.count_pending))
