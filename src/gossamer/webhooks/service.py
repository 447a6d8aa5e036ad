"""Endpoints of webhooks and their messages. Calls of users name the account.

The secret of an endpoint is shown only at its creation. Sent messages are logged and can be replayed under the same id.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol
from uuid import UUID

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.trouble import Reason
from gossamer.model.webhook import (
    WANTED,
    Delivery,
    DeliveryState,
    Endpoint,
    EndpointState,
    EventType,
    SigningKey,
)
from gossamer.store import outbox
from gossamer.webhooks import queries
from gossamer.webhooks.signing import LONGEST_OVERLAP, OVERLAP, KeySeals, new_key

LONGEST_URL = 2_000
MOST = 50  # endpoints of an account


class AddressCheck(Protocol):
    """Checks to which URLs messages may be sent."""

    async def refusal(self, url: str) -> str:
        """Return the reason why nothing could ever be sent there, as a sentence; "" if sending is possible."""
        ...


@dataclass(frozen=True, slots=True)
class NewEndpoint:
    """An endpoint and its secret, which cannot be read again."""

    endpoint: Endpoint
    secret: str = field(repr=False)


def read_events(names: Iterable[str]) -> frozenset[EventType]:
    """Parse the names of events; no names mean the usual events."""
    known = {str(kind): kind for kind in WANTED}
    wanted = [name.strip().lower() for name in names if name.strip()]
    for name in wanted:
        if name not in known:
            raise UserError(
                "webhook.event",
                f"There is no event {name[:40]!r}.",
                hint=f"There are {', '.join(known)}.",
            )
    return frozenset(known[name] for name in wanted)


async def add(
    database: Database,
    addresses: AddressCheck,
    seals: KeySeals,
    account: str,
    url: str,
    events: Collection[EventType] = (),
) -> NewEndpoint:
    """Add an endpoint. A URL that messages can never be sent to is refused."""
    await _check(addresses, url)
    key = new_key()  # made outside the transaction, which may be repeated
    endpoint = await database.write(_add, account, url, frozenset(events), partial(seals.seal, key))
    return NewEndpoint(endpoint, SigningKey(key).spelled)


def _add(tx: Tx, account: str, url: str, events: frozenset[EventType], sealed_for: Callable[[UUID], bytes]) -> Endpoint:
    if queries.count_endpoints(tx, account) >= MOST:
        raise UserError(
            "webhook.too_many",
            f"There are {MOST} webhooks already.",
            hint="Remove one that is not needed any more: 'gossamer webhook list'.",
        )
    return queries.add_endpoint(tx, account, url, events, sealed_for)


async def _check(addresses: AddressCheck, url: str) -> None:
    if len(url) > LONGEST_URL or not url.startswith(("https://", "http://")):
        raise UserError(
            "webhook.url",
            f"{url[:80]!r} cannot be a webhook's address.",
            hint=f"Give one like https://example.com/hooks, of at most {LONGEST_URL:,} characters.",
        )
    why = await addresses.refusal(url)
    if why:
        hint = (
            "Give an address on the public internet, without user name and password. Networks of your own are allowed "
            "by GOSSAMER_ALLOW_NETWORKS."
        )
        if why == Reason.DNS.sentence:
            hint = "Its name has no address: check the spelling, and whether this machine can look up names."
        raise UserError("webhook.address", f"Nothing can be sent to {url[:80]}: {why}.", hint=hint)


async def everything(database: Database, account: str) -> list[Endpoint]:
    """Return the endpoints of an account, oldest first."""
    return await database.read(queries.endpoints_of, account)


async def get(database: Database, account: str, identifier: UUID) -> Endpoint:
    return _there(await database.read(queries.get_endpoint, account, identifier), identifier)


async def change(
    database: Database,
    addresses: AddressCheck,
    account: str,
    identifier: UUID,
    *,
    url: str | None = None,
    events: Collection[EventType] | None = None,
) -> Endpoint:
    if url is not None:
        await _check(addresses, url)
    return _there(await database.write(queries.change_endpoint, account, identifier, url, events), identifier)


async def enable(database: Database, account: str, identifier: UUID) -> Endpoint:
    """Enable an endpoint whose problem was fixed. Failed deliveries are not resent: use `replay_failed`."""
    return _there(await database.write(queries.switch_on, account, identifier), identifier)


async def disable(database: Database, account: str, identifier: UUID) -> Endpoint:
    return _there(await database.write(queries.switch_off, account, identifier, "Switched off by hand."), identifier)


async def remove(database: Database, account: str, identifier: UUID) -> None:
    if not await database.write(queries.remove_endpoint, account, identifier):
        raise _missing(identifier)


async def rotate(
    database: Database, seals: KeySeals, account: str, identifier: UUID, overlap: timedelta = OVERLAP
) -> str:
    """Create a new secret. For the time of `overlap`, messages are signed with both."""
    if not timedelta() <= overlap <= LONGEST_OVERLAP:
        raise UserError(
            "webhook.overlap",
            "Two secrets can be valid at the same time for at most 7 days.",
            hint="Give a time such as 24h or 2d; 0 makes the old one invalid at once.",
        )
    key = new_key()
    sealed = seals.seal(key, identifier)  # outside the transaction, so that a repeated one writes the same
    if not await database.write(queries.rotate_key, account, identifier, sealed, overlap):
        raise _missing(identifier)
    return SigningKey(key).spelled


async def send_test(database: Database, account: str, identifier: UUID) -> Delivery:
    """Queue a test message for an endpoint. It waits like any other, and is sent within a second."""
    endpoint = await get(database, account, identifier)
    _refuse_off(endpoint)
    return await database.write(_test, endpoint)


def _test(tx: Tx, endpoint: Endpoint) -> Delivery:
    queries.wake_endpoint(tx, endpoint.id)
    data = {"endpoint_id": str(endpoint.id), "sentence": "This is a test of your webhook."}
    made = queries.get_delivery(tx, endpoint.account, outbox.tell_one(tx, endpoint, EventType.TEST, data))
    assert made is not None  # noqa: S101 - written in this very transaction
    return made


async def log(
    database: Database,
    account: str,
    identifier: UUID | None = None,
    *,
    state: DeliveryState | None = None,
    before: UUID | None = None,
    limit: int = 50,
) -> list[Delivery]:
    """Return sent messages, newest first; `before` is the last one of the previous page."""
    return await database.read(partial(queries.delivery_log, limit=limit), account, identifier, state, before)


async def delivery(database: Database, account: str, identifier: UUID) -> Delivery:
    found = await database.read(queries.get_delivery, account, identifier)
    if found is None:
        raise no_delivery(identifier)
    return found


async def replay(database: Database, account: str, identifier: UUID) -> Delivery:
    """Send a message again under the same id, by which receivers recognise duplicates."""
    known = await delivery(database, account, identifier)
    _refuse_off(await get(database, account, known.endpoint_id))
    return await database.write(queries.replay_one, account, identifier) or known


async def replay_failed(database: Database, account: str, identifier: UUID, since: datetime | None = None) -> int:
    """Replay all failed messages of an endpoint; return their number."""
    _refuse_off(await get(database, account, identifier))
    return await database.write(queries.replay_failed, account, identifier, since)


def _refuse_off(endpoint: Endpoint) -> None:
    if endpoint.state is EndpointState.OFF:
        raise UserError(
            "webhook.off",
            f"Webhook {short(endpoint.id)} is switched off: nothing is sent there.",
            hint=f"Switch it on with 'gossamer webhook enable {short(endpoint.id)}'.",
        )


def _there(endpoint: Endpoint | None, identifier: UUID) -> Endpoint:
    if endpoint is None:
        raise _missing(identifier)
    return endpoint


def _missing(identifier: UUID) -> UserError:
    return _no_endpoint(short(identifier))


def _no_endpoint(text: str) -> UserError:
    return UserError("webhook.not_found", f"There is no webhook {text!r} here.", hint="See 'gossamer webhook list'.")


def no_delivery(identifier: UUID) -> UserError:
    text = short(identifier)
    return UserError(
        "webhook.no_delivery", f"There is no message {text!r} here.", hint="See 'gossamer webhook deliveries'."
    )
