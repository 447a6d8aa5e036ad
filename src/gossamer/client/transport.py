"""One request and its response: the only HTTP code of the client.

After 429 and 503 the client waits as long as the server asks, up to `patience` in total. A failed
connection is retried if a repetition is harmless: reading, deleting, and submitting under an idempotency
key.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

import orjson
import wreq.exceptions as foreign
from pydantic import BaseModel, ValidationError
from wreq import Client as Line
from wreq import Method, Response
from wreq.redirect import Policy
from wreq.tls import CertStore

from gossamer import __version__
from gossamer.client.answers import APage
from gossamer.client.errors import ServerError, Unreachable, problem_of

T = TypeVar("T", bound=BaseModel)

AGENT = f"gossamer-client/{__version__}"
PATIENCE = timedelta(seconds=60)
TIMEOUT = timedelta(seconds=100)  # the server itself waits for a page for up to 60
_CONNECT = timedelta(seconds=10)
_SILENCE = timedelta(seconds=45)  # in a stream: the server sends something every 15
_AGAIN = (0.2, 0.5, 1.0)  # seconds before each retry of a failed connection
_BUSY = frozenset({429, 503})
_MOVED = frozenset({302, 303, 307, 308})
_FAILURES = tuple(
    kind for kind in vars(foreign).values() if isinstance(kind, type) and issubclass(kind, Exception)
)  # they have no common base class
_VERBS = {"GET": Method.GET, "POST": Method.POST, "PATCH": Method.PATCH, "DELETE": Method.DELETE}


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and the type of its answer."""

    verb: str
    path: str
    shape: type[T]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def may_be_repeated(self) -> bool:
        return self.verb != "POST" or "Idempotency-Key" in self.headers


class Transport:
    """HTTP connection to one server with one key."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: timedelta = TIMEOUT,
        patience: timedelta = PATIENCE,
        ca_file: Path | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"} if key else {}
        self._timeout = timeout
        self._patience = patience
        trust = CertStore(pem_certs=[ca_file.read_text(encoding="ascii")], default_paths=True) if ca_file else None
        self._line = Line(
            redirect=Policy.none(),
            user_agent=AGENT,
            connect_timeout=_CONNECT,
            tls_verify=True if trust is None else trust,
            gzip=True,
        )

    async def close(self) -> None:
        self._line.close()

    async def answer(self, call: Call[T]) -> T:
        """Return the server's answer to a call, or raise the error it contains."""
        _, _, text = await self.whole(call)
        return self.read(call, text)

    def read(self, call: Call[T], text: bytes) -> T:
        try:
            return call.shape.model_validate_json(text)
        except ValidationError as error:
            said = f"{self.url} answers, but not as a Gossamer server does."
            raise ServerError(200, {"detail": said, "code": "answer.unknown"}) from error

    async def pages(self, call: Call[APage]) -> AsyncIterator[APage]:
        """Yield all pages of a list."""
        cursor: str | None = None
        while True:
            page = await self.answer(replace(call, query={**call.query, "cursor": cursor}))
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return

    async def whole(self, call: Call[Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of the answer, after waiting for a busy server if necessary."""
        until = time.monotonic() + self._patience.total_seconds()
        while True:
            status, headers, text = await self._exchange(call)
            if status < 300:
                return status, headers, text
            asked = _seconds_asked(headers.get("retry-after", ""))
            if status not in _BUSY or time.monotonic() + (asked or 0.0) > until:
                raise problem_of(status, _json(text), asked, headers.get("x-gossamer-reason", ""))
            await asyncio.sleep(max(0.05, asked or 1.0))

    async def _exchange(self, call: Call[Any]) -> tuple[int, dict[str, str], bytes]:
        for wait in (*_AGAIN, None):
            try:
                async with await self._send(call, self._timeout) as arrived:
                    return arrived.status.as_int(), _headers(arrived), bytes(await arrived.bytes())
            except _FAILURES as error:
                if wait is None or not call.may_be_repeated:
                    raise self._away(error) from error
                await asyncio.sleep(wait)
        raise AssertionError("not reached")

    async def _send(self, call: Call[Any], timeout: timedelta | None) -> Response:
        query = {name: _plain(value) for name, value in call.query.items() if value is not None}
        address = f"{self.url}{call.path}{'?' if query else ''}{urlencode(query, doseq=True)}"
        more: dict[str, Any] = {"timeout": timeout} if timeout else {"read_timeout": _SILENCE}
        headers = {**self._headers, **call.headers}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
            more["body"] = orjson.dumps(call.body)
        return await self._line.request(_VERBS[call.verb], address, headers=headers, **more)

    @asynccontextmanager
    async def stream(self, call: Call[Any]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open an answer's body as a stream of pieces, following a redirect to object storage."""
        try:
            arrived = await self._send(call, None)
            if arrived.status.as_int() in _MOVED:
                # The key is not sent to other servers.
                place = urljoin(f"{self.url}{call.path}", _headers(arrived).get("location", ""))
                await arrived.close()
                arrived = await self._line.get(place, read_timeout=_SILENCE)
            async with arrived:
                status = arrived.status.as_int()
                if status >= 300:
                    raise problem_of(status, _json(bytes(await arrived.bytes())))
                yield self._pieces(arrived)
        except _FAILURES as error:
            raise self._away(error) from error

    async def _pieces(self, arrived: Response) -> AsyncIterator[bytes]:
        try:
            async with arrived.stream() as stream:
                async for piece in stream:
                    if isinstance(piece, memoryview):
                        yield bytes(piece)
        except _FAILURES as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> Unreachable:
        why = "it took too long" if isinstance(error, foreign.TimeoutError) else _why(str(error))
        return Unreachable(f"{self.url} does not answer: {why}.")


def _why(text: str) -> str:
    told = {
        "ConnectionRefused": "no server is listening there",
        "dns error": "its name has no address",
        "ErrorStack": "its certificate is not trusted, or it does not speak TLS",
        "TimedOut": "it took too long",
    }
    return next((said for mark, said in told.items() if mark in text), "the connection failed")


def _plain(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return [str(one) for one in value] if isinstance(value, list | tuple) else str(value)


def _headers(arrived: Response) -> dict[str, str]:
    return {str(name, "latin-1").lower(): str(value, "latin-1") for name, value in arrived.headers}


def _json(text: bytes) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _seconds_asked(text: str) -> float | None:
    """Return the seconds to wait by `Retry-After`, which has seconds or a date."""
    if text.strip().isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (at - datetime.now(UTC)).total_seconds()) if at.tzinfo else None


def is_safe(url: str) -> bool:
    """Return True if a key can be sent there securely: over TLS, or within this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.hostname or "") in ("localhost", "127.0.0.1", "::1")
