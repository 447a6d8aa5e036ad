"""One visit's session at a provider: checks the request, takes a concurrency slot, builds a Response.

The provider follows redirects automatically. A page from another site is returned as the redirect it was,
so that it goes to that site; a page that stayed on the site is returned with its final address.
"""

from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus

from wreq import Response as Arrived

from gossamer.clock import Clock
from gossamer.fetch.body import BodyLimit, read_body, read_headers
from gossamer.fetch.deny_list import DenyList
from gossamer.fetch.errors import CLIENT_ERRORS, FetchError, ProviderBusy, ProviderTrouble
from gossamer.fetch.forward_proxy import Permit
from gossamer.fetch.guard import Clearance, Guard
from gossamer.fetch.providers.base import Head, ProviderApi, Told, failed
from gossamer.fetch.providers.concurrency import NoFreeSlot
from gossamer.fetch.providers.provider_client import HEALTH_TIMEOUT, ProviderClient, broken
from gossamer.fetch.rung import Accept, Before, Sink
from gossamer.logging import get_logger
from gossamer.model.document import Request, Response
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import normalise, site_of_url

_FAILURE_BYTES = 65_536  # what a provider writes about a failure
_WRAPPING = 4  # times as large as a page at the most is the document it comes in
_FOUND = 302

log = get_logger(__name__)


class ProviderSession:
    """A Fetcher. Give it the time limit of its rung: a call that is given up early is charged all the same."""

    def __init__(
        self,
        rung: str,
        provider: ProviderApi,
        client: ProviderClient,
        guard: Guard,
        never_send: DenyList,
        clock: Clock,
        patience: timedelta,
        way: Permit | None = None,
    ) -> None:
        """`way`: the browser's permit for the forward proxy; closed with the session."""
        self._rung = rung
        self._way = way
        self._provider = provider
        self._client = client
        self._guard = guard
        self._never_send = never_send
        self._clock = clock
        self._patience = patience
        self._closed = False
        self._was_poor = False

    async def fetch(
        self,
        url: str,
        *,
        timeout: timedelta,
        max_bytes: int,
        accept: Accept | None = None,
        truncate: bool = False,
        sink: Sink | None = None,
        before: Before | None = None,
        request: Request | None = None,
    ) -> Response:
        """One call; see Fetcher. A call that is refused because others run is a ProviderBusy, and no try of the page.

        `timeout` is for the call alone: the time spent in the queue for a slot is not part of it.
        """
        if self._closed:
            raise RuntimeError("this session is closed")
        if request is not None:
            unable = FetchError(Trouble(Reason.NOT_CONFIGURED, f"{self._rung} fetches pages and sends nothing"))
            unable.credits = 0
            raise unable
        try:
            await self.admit(url)
        except FetchError as error:
            error.credits = 0
            raise
        await self._client.learn(self._provider)
        limit = BodyLimit(max_bytes, truncate)
        try:
            async with self._client.slots.one(timeout, self._patience):
                if before is not None:
                    await before()
                await self._client.breaker.ask()
                told, body = await self._watched(url, timeout, limit, accept, sink)
        except NoFreeSlot:
            provider = self._provider
            raise failed(provider.name, provider.title, Reason.PROVIDER_BUSY, why="all its seats are taken") from None
        except ProviderBusy:
            await self._client.too_many(self._provider)
            raise
        return await self._response(url, told, body)

    async def admit(self, url: str) -> None:
        """Raise FetchError for URLs that must not be visited, or not be passed to third parties."""
        clearance = await self._guard.admit(url)
        entry = self._never_send.covers(_host(clearance))
        if not entry and not clearance.by_rule:
            entry = self._never_send.covers_any(clearance.addresses)
        if entry:
            raise FetchError(Trouble(Reason.NEVER_SEND, entry))

    async def close(self) -> None:
        self._closed = True
        if self._way is not None:
            self._way.close()

    async def _watched(
        self, url: str, timeout: timedelta, limit: BodyLimit, accept: Accept | None, sink: Sink | None
    ) -> tuple[Told, bytes]:
        """Make the call, and report what it shows about the provider."""
        breaker = self._client.breaker
        try:
            brought = await self._exchange(url, timeout, limit, accept, sink)
        except FetchError as error:
            if isinstance(error, ProviderTrouble):
                self._log(url, error)
            meant = await self._client.meant_by(self._provider, error)
            raised = await breaker.failed(meant, again=self._was_poor)
            self._was_poor |= meant.trouble.reason is Reason.PROVIDER_FAILED
            if raised is error:
                raise
            raise raised from error
        await breaker.worked()
        return brought

    def _log(self, url: str, error: ProviderTrouble) -> None:
        """Log the error in the provider's own words, which the operator can look up in its documentation."""
        status = error.trouble.http_status
        said = error.trouble.detail if status is None else f"{self._provider.title}: HTTP {status} {_phrase(status)}"
        log.error(
            "provider.error",
            said=said.rstrip(),
            url=url,
            provider=error.provider,
            error=error.trouble.reason.name,
            status=status,
        )

    async def _exchange(
        self, url: str, timeout: timedelta, limit: BodyLimit, accept: Accept | None, sink: Sink | None
    ) -> tuple[Told, bytes]:
        provider = self._provider
        told: Told | None = None
        try:
            await self._client.check(provider)
        except CLIENT_ERRORS as error:
            raise broken(provider, error, HEALTH_TIMEOUT) from error
        try:
            async with self._client.send(provider.ask(url, timeout), timeout) as arrived:
                head = Head(arrived.status.as_int(), read_headers(arrived))
                told = provider.peek(head)
                body = await self._read(arrived, head, told, limit, accept, sink)
        except CLIENT_ERRORS as error:
            raised = broken(provider, error, timeout)
            raised.credits = raised.credits if told is None else told.credits
            raise raised from error
        except FetchError as error:
            error.credits = told.credits if told else None
            raise
        told = provider.read(head, body)
        if not provider.wraps:
            return told, body if told.body is None else told.body
        return told, await _unwrapped(told, limit, accept, sink)

    async def _read(
        self,
        arrived: Arrived,
        head: Head,
        told: Told | None,
        limit: BodyLimit,
        accept: Accept | None,
        sink: Sink | None,
    ) -> bytes:
        if told is None:
            wrapped = BodyLimit(limit.max_bytes * _WRAPPING + _FAILURE_BYTES)
            expected = wrapped if self._provider.wraps else BodyLimit(_FAILURE_BYTES, truncate=True)
            return await read_body(arrived, head.headers, expected)
        if accept is not None and not accept(told.status, told.headers):
            await arrived.close()
            return b""
        return await read_body(arrived, head.headers, limit, sink if told.status == 200 else None)

    async def _response(self, url: str, told: Told, body: bytes) -> Response:
        final = (normalise(told.url) if told.url else None) or url
        if final == normalise(url):
            final = url
        if site_of_url(final) != site_of_url(url):
            return self._made(url, url, _FOUND, {"location": final}, b"", told.credits)
        if final != url:
            try:
                await self._guard.admit(final)
            except FetchError as error:
                error.credits = told.credits
                raise
        return self._made(url, final, told.status, told.headers, body, told.credits)

    def _made(
        self,
        url: str,
        final: str,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        credits: int | None,
    ) -> Response:
        return Response(
            requested=url,
            url=final,
            status=status,
            headers=headers,
            body=body,
            rung=self._rung,
            fetched_at=self._clock.now(),
            hops=(url, final) if final != url else (),
            credits=credits,
        )


async def _unwrapped(told: Told, limit: BodyLimit, accept: Accept | None, sink: Sink | None) -> bytes:
    """Take the page out of its document, under the limits that hold for pages."""
    body = told.body or b""
    if accept is not None and not accept(told.status, told.headers):
        return b""
    if len(body) > limit.max_bytes:
        if not limit.truncate:
            passed = limit.passed()
            passed.credits = told.credits
            raise passed
        body = body[: limit.max_bytes]
    if sink is None or told.status != 200:
        return body
    await sink(body)
    return b""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _host(clearance: Clearance) -> str:
    return clearance.host.rstrip(".")
