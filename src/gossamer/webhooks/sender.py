"""Send webhook messages to their endpoints: each at least once, under one id, by one sender at a time.

Messages are rows written in the transaction of their event. A sender leases an endpoint, sends its messages one after
the other, and stores the outcome of each before the next. If it dies, the rows are sent by another.

Results and links to them are added when a message is sent, so they are not in the log, and deleted ones are not sent.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import orjson

from gossamer.blobs.export_store import ExportStore
from gossamer.blobs.seam import BlobsAway, NoSuchBlob
from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway
from gossamer.logging import get_logger
from gossamer.model.alert import ALERTS, AlertKind
from gossamer.model.export import Export
from gossamer.model.ids import short
from gossamer.model.webhook import (
    Delivery,
    DeliveryAttempt,
    DeliveryState,
    Endpoint,
    EndpointAnswer,
    EventType,
    KeptKey,
    next_try,
    rest_after,
)
from gossamer.store import alerts, exports, outbox
from gossamer.webhooks import queries
from gossamer.webhooks.signing import KeySeals, headers_for

# Signs of overload, with an optional Retry-After.
_MAY_ASK_FOR_TIME = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class DeliveryDecision:
    state: DeliveryState
    error: str = ""
    due_at: datetime | None = None  # of the next try
    rest: timedelta = timedelta()  # back-off of the endpoint
    switch_off: str = ""  # reason to disable the endpoint


def judge(
    heard: EndpointAnswer,
    endpoint: Endpoint,
    delivery: Delivery,
    now: datetime,
    patience: timedelta,
    jitter: Callable[[], float] = random.random,
) -> DeliveryDecision:
    """Decide on a message after an attempt. `patience`: time without success until the endpoint is switched off."""
    status = heard.status
    if status is not None and 200 <= status < 300:
        return DeliveryDecision(DeliveryState.DELIVERED)
    error = heard.error or _said(status)
    if status == HTTPStatus.GONE:
        return DeliveryDecision(
            DeliveryState.FAILED, error, switch_off="it answered 410, which says that it is gone for good"
        )
    rest = rest_after(endpoint.failures + 1, heard.asked if status in _MAY_ASK_FOR_TIME else None)
    due_at = next_try(delivery.tries + 1, delivery.queued_at, now, jitter())
    if due_at is not None:
        return DeliveryDecision(DeliveryState.PENDING, error, max(due_at, now + rest), rest)
    since = endpoint.failing_since or now
    given_up = (
        f"nothing has arrived there since {since:%Y-%m-%d %H:%M} UTC ({error})" if since <= now - patience else ""
    )
    return DeliveryDecision(DeliveryState.FAILED, error, rest=rest, switch_off=given_up)


def _said(status: int | None) -> str:
    if status is None:
        return "no answer"
    if 300 <= status < 400:
        return f"HTTP {status}: redirects are not followed"
    return f"HTTP {status}"


LARGEST = 64 * 1024  # bytes of a result that is attached to its message

log = get_logger(__name__)


class Attachments:
    """Adds results and links to messages. `address` is the server's public URL, if this process knows it."""

    def __init__(self, database: Database, export_store: ExportStore, clock: Clock, address: str) -> None:
        self._database = database
        self._export_store = export_store
        self._clock = clock
        self._address = address

    async def body(self, message: Delivery) -> str:
        if message.type is not EventType.RESULT_READY:
            return message.body
        told = orjson.loads(message.body)
        if "data" not in told:
            return message.body  # erased
        export = await self._database.read(exports.get, UUID(told["data"]["export_id"]))
        told["data"] |= {"result": None, "url": None, **(await self._about(export) if export else {})}
        return orjson.dumps(told).decode()

    async def _about(self, export: Export) -> dict[str, Any]:
        link = await self._export_store.signed(export, self._clock.now())
        if link is None:
            return {}  # deleted, or on another machine
        url = f"{self._address}{link}" if link.startswith("/") else link
        return {"url": url, "result": await self._small(export)}

    async def _small(self, export: Export) -> Any:
        """Return the result itself, if it has one page and is small."""
        if export.rows_done != 1 or not export.blob_key or (export.size or 0) > LARGEST:
            return None
        blobs = self._export_store.local if self._export_store.path(export) else self._export_store.remote
        if blobs is None:
            return None
        try:
            return orjson.loads(b"".join([chunk async for chunk in blobs.open(export.blob_key)]))
        except (NoSuchBlob, BlobsAway) as error:
            log.warning("storage.away", export=export.id.hex, why=str(error))  # the link is sent anyway
            return None


KEPT = timedelta(days=30)
"""Retention period of the message log."""

UNREADABLE = "its secret cannot be read on the machine that sends; give it a new one"

_LOOK = 0.5  # seconds between checks for due messages
_PAGES = 2.0  # seconds between checks for page events
_TIDY = 3_600.0  # seconds between cleanups of the log
_AT_ONCE = 20  # endpoints that one process sends to at the same time
_KEYS = 200  # per query
_IN_A_ROW = 20  # messages to one endpoint before others are served
_LEASE = timedelta(seconds=20)  # twice the time limit of a message
_LEAVE = 5.0  # seconds for the release of a lease at shutdown

Turn = Callable[[], AbstractAsyncContextManager[None]]


class MessagePoster(Protocol):
    """Sends a message to a URL, after checking that the URL is allowed."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> EndpointAnswer: ...


@dataclass(frozen=True, slots=True)
class Parcel:
    """Messages for one endpoint that are sent in one turn."""

    endpoint: Endpoint
    keys: tuple[KeptKey, ...]
    messages: tuple[Delivery, ...]


Attach = Callable[[Delivery], Awaitable[str]]


async def _as_it_is(message: Delivery) -> str:
    return message.body


class Sender:
    """Sends the due messages of one process. `turn` limits the concurrency; `enclose` adds results to a message."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        carrier: Callable[[], Awaitable[MessagePoster]],
        seals: KeySeals,
        worker: str,
        turn: Turn,
        *,
        patience: timedelta = timedelta(days=3),
        lease: timedelta = _LEASE,
        enclose: Attach = _as_it_is,
    ) -> None:
        self._enclose = enclose
        self._call_carrier = carrier  # called at first use
        self._carrier: MessagePoster | None = None
        self._database = database
        self._clock = clock
        self._seals = seals
        self._worker = worker
        self._turn = turn
        self._patience = patience
        self._lease = lease
        self._sending: dict[UUID, asyncio.Task[int]] = {}
        self._pages_at = self._tidy_at = clock.monotonic()

    async def run(self) -> None:
        """Send messages until cancelled. A message being sent then is sent again later."""
        await self.renew_seals()
        try:
            while True:
                await self.look()
                await asyncio.sleep(_LOOK)
        finally:
            for task in self._sending.values():
                task.cancel()
            await asyncio.gather(*self._sending.values(), return_exceptions=True)

    async def renew_seals(self) -> None:
        """Encrypt keys again that were encrypted with a former secret of the home."""
        last = None
        while page := await self._database.read(queries.all_keys, last, _KEYS):
            for kept in page:
                sealed = self._seals.renewed(kept)
                if sealed is not None and await self._database.write(queries.seal_key, kept, sealed):
                    log.info("webhook.key_sealed", endpoint=short(kept.endpoint_id))
            last = page[-1].id

    async def look(self) -> None:
        """Start sending to endpoints with due messages; raise the errors of ended tasks."""
        for endpoint_id in [one for one, task in self._sending.items() if task.done()]:
            self._sending.pop(endpoint_id).result()
        await self._look_at_pages()
        await self._look_at_the_log()
        due = await self._database.read(queries.endpoints_due, _AT_ONCE)
        for endpoint_id in [one for one in due if one not in self._sending][: _AT_ONCE - len(self._sending)]:
            self._sending[endpoint_id] = asyncio.create_task(self.send_to(endpoint_id))

    async def send_due(self, within: timedelta) -> int:
        """Send everything that is due now, once; return the number of attempts. For a worker that is about to stop."""
        tried = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(within.total_seconds()):
                while due := await self._database.read(queries.endpoints_due, _AT_ONCE):
                    sent = sum(await asyncio.gather(*map(self.send_to, due)))
                    tried += sent
                    if not sent:
                        break  # other senders have the endpoints
        return tried

    async def send_to(self, endpoint_id: UUID, only: UUID | None = None) -> int:
        """Send an endpoint's due messages, or `only` this one, until one fails; return the number of attempts."""
        token = uuid4()  # made here and not in the transaction, which may have to be made twice
        tried = 0
        async with self._turn():
            parcel = await self._database.write(_take, endpoint_id, token, self._worker, self._lease, only)
            if parcel is None:
                return 0
            try:
                for message in parcel.messages:
                    tried += 1
                    if not await self._send(parcel, message, token):
                        break
                    parcel = replace(parcel, endpoint=_well(parcel.endpoint))
            finally:
                await self._let_go(endpoint_id, token)
        return tried

    async def _let_go(self, endpoint_id: UUID, token: UUID) -> None:
        with suppress(StorageAway, TimeoutError):  # then the lease expires
            async with asyncio.timeout(_LEAVE):
                await asyncio.shield(self._database.write(queries.let_endpoint_go, endpoint_id, token))

    async def _send(self, parcel: Parcel, message: Delivery, token: UUID) -> bool:
        """Send a message and store the outcome; False if no more may be sent to the endpoint now."""
        endpoint = parcel.endpoint
        at, started = self._clock.now(), self._clock.monotonic()
        heard = await self._heard(parcel, message)
        took = round((self._clock.monotonic() - started) * 1000)
        verdict = judge(heard, endpoint, message, self._clock.now(), self._patience)
        attempt = DeliveryAttempt(at, heard.status, took, verdict.error)
        ours = await self._database.write(_settle, endpoint, message, token, attempt, verdict, self._lease)
        about = {"endpoint": short(endpoint.id), "message": message.message_id, "kind": str(message.type)}
        if verdict.state is DeliveryState.DELIVERED:
            log.info("webhook.delivered", **about, status=heard.status, ms=took)
        else:
            given_up = verdict.state is DeliveryState.FAILED
            log.warning("webhook.not_delivered", **about, why=verdict.error, tries=message.tries + 1, given_up=given_up)
        if verdict.switch_off:
            log.error("webhook.switched_off", endpoint=short(endpoint.id), why=verdict.switch_off)
        return ours and verdict.state is DeliveryState.DELIVERED

    async def _heard(self, parcel: Parcel, message: Delivery) -> EndpointAnswer:
        keys = self._seals.opened(parcel.keys)
        if len(keys) < len(parcel.keys):
            log.error("webhook.key_unreadable", endpoint=short(parcel.endpoint.id), readable=len(keys))
        if not keys:
            return EndpointAnswer(None, UNREADABLE)  # never sent unsigned
        try:
            body = (await self._enclose(message)).encode()
            headers = headers_for(message.message_id, self._clock.now(), body, keys)
            headers |= {"content-type": "application/json"}
            if self._carrier is None:
                self._carrier = await self._call_carrier()
            return await self._carrier.post(parcel.endpoint.url, headers, body)
        except StorageAway:
            raise  # not a failure of the receiver
        except Exception as error:
            # An internal error with one message must not stop the others.
            log.exception("webhook.crashed", endpoint=short(parcel.endpoint.id), message=message.message_id)
            return EndpointAnswer(None, f"internal error ({type(error).__name__})")

    async def _look_at_pages(self) -> None:
        if self._clock.monotonic() < self._pages_at:
            return
        self._pages_at = self._clock.monotonic() + _PAGES
        if await self._database.read(outbox.pages_wanted):
            await self._database.write(outbox.tell_pages)

    async def _look_at_the_log(self) -> None:
        if self._clock.monotonic() < self._tidy_at:
            return
        self._tidy_at = self._clock.monotonic() + _TIDY
        while await self._database.write(queries.forget_old_deliveries, KEPT):
            pass


def _well(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint with its failure state cleared, as after a successful delivery."""
    return replace(endpoint, failing_since=None, failures=0, not_before=None)


def _take(tx: Tx, endpoint_id: UUID, token: UUID, worker: str, lease: timedelta, only: UUID | None) -> Parcel | None:
    endpoint = queries.hold_endpoint(tx, endpoint_id, token, worker, lease)
    if endpoint is None:
        return None
    return Parcel(
        endpoint, queries.keys_of(tx, endpoint_id), tuple(queries.due_deliveries(tx, endpoint_id, _IN_A_ROW, only))
    )


def _settle(
    tx: Tx,
    endpoint: Endpoint,
    message: Delivery,
    token: UUID,
    attempt: DeliveryAttempt,
    verdict: DeliveryDecision,
    lease: timedelta,
) -> bool:
    """Store the outcome; return True if the endpoint is still ours.

    If another sender has its lease, only a successful delivery is stored.
    """
    arrived = verdict.state is DeliveryState.DELIVERED
    how: dict[str, object]
    if arrived:
        how = {"failing_since": None, "failures": 0, "not_before": None}
    else:
        since = endpoint.failing_since or attempt.at
        how = {"failing_since": since, "failures": endpoint.failures + 1, "not_before": tx.now + verdict.rest}
    ours = queries.keep_endpoint(tx, endpoint.id, token, lease, how)
    if ours or arrived:
        queries.record_attempt(tx, message, attempt, verdict.state, verdict.due_at)
    if ours and verdict.switch_off:
        queries.switch_off(tx, endpoint.account, endpoint.id, f"Switched off: {verdict.switch_off}.")
        host = urlsplit(endpoint.url).hostname or ""
        sentence = ALERTS[AlertKind.WEBHOOK].format(host=host, why=verdict.switch_off, endpoint=short(endpoint.id))
        alerts.fire(tx, AlertKind.WEBHOOK, str(endpoint.id), sentence)
    return ours
