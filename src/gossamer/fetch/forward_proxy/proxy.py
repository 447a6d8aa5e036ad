"""The forward proxy between a browser and the web: each destination is resolved and checked, its bytes counted.

A browser resolves names, follows redirects and loads subresources on its own. Behind this proxy it
can do none of that: CONNECT and plain requests arrive here with a name, the guard resolves and checks
it at that moment, and the connection goes to just those addresses. Access needs the name and password
of an open permit.

One request per connection: the next one from a browser may be for another host, and is checked
separately.
"""

import asyncio
import errno
import re
import secrets
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from hmac import compare_digest
from html import escape
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from gossamer.errors import UserError
from gossamer.fetch.errors import FetchError, spell_seconds
from gossamer.fetch.forward_proxy.dialing import Connection, Dialer, Unreached
from gossamer.fetch.forward_proxy.head import BadHead, RequestHead, read_answer, read_request
from gossamer.fetch.guard import Clearance, Guard
from gossamer.logging import get_logger
from gossamer.model.trouble import Reason, Trouble

REFUSED = frozenset({Reason.FORBIDDEN_ADDRESS, Reason.NEVER_VISIT, Reason.BAD_URL})
"""By the guard, and not by how things are out there."""

_REMEMBERED = 50  # troubles of one way


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    """Limits of one process's proxy, and of each browser's share of it."""

    connections: int = 256
    per_way: int = 64  # a browser opens 32 to a proxy
    bytes_per_way: int = 300_000_000  # both directions
    upload: int = 10_000_000  # of one request that is not in a tunnel
    connect: timedelta = timedelta(seconds=10)
    head: timedelta = timedelta(seconds=10)
    idle: timedelta = timedelta(seconds=60)
    longest: timedelta = timedelta(minutes=10)


class NoMore(Exception):
    """A permit has used up its traffic."""


@dataclass(slots=True, eq=False)
class Permit:
    """One browser's permit to use the proxy, until it is closed. Its repr does not show the password."""

    url: str  # of the proxy, as the browser reaches it
    mark: str = field(repr=False)  # what a page of the proxy's own has in it, and no other page can know
    limits: ProxyLimits = field(repr=False)
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    carried: int = 0  # bytes
    tasks: set[asyncio.Task[None]] = field(default_factory=set, repr=False)
    _troubles: dict[str, Trouble] = field(default_factory=dict)
    _closed: Callable[["Permit"], None] = field(default=lambda _: None, repr=False)

    def carry(self, size: int) -> None:
        self.carried += size
        if self.carried > self.limits.bytes_per_way:
            raise NoMore

    def note(self, host: str, trouble: Trouble) -> bool:
        """Remember why a host could not be reached; True if that is new and worth a log line."""
        is_new = host not in self._troubles and len(self._troubles) < _REMEMBERED
        if is_new:
            self._troubles[host] = trouble
        return is_new

    def forget(self) -> None:
        """Begin the next page: what is noted from now on is about it."""
        self._troubles.clear()

    def trouble_with(self, host: str) -> Trouble | None:
        """Return the reason why a page of `host` did not arrive.

        After a redirect to another host it is the refusal of that host, because browsers request much that
        does not exist while they start; subresources are not requested before the page has arrived.
        """
        refused = (one for one in self._troubles.values() if one.reason in REFUSED)
        return self._troubles.get(host) or next(refused, None) or next(iter(self._troubles.values()), None)

    def said_by_proxy(self, page: str) -> Trouble | None:
        """Return the reason for a page made by the proxy itself; None for a page of a site."""
        if self.mark not in page:
            return None
        found = re.search(f'{self.mark}" data-host="([^"]*)"', page)
        return self.trouble_with(found[1] if found else "") or Trouble(Reason.UNREACHABLE)

    def close(self) -> None:
        """Revoke the permit and cut its open connections. Safe to call twice."""
        self._closed(self)
        for task in self.tasks:
            task.cancel()


_CHUNK = 65_536


class Flow:
    """One connection's traffic, in both directions."""

    def __init__(self, way: Permit, idle: timedelta) -> None:
        self._way = way
        self._idle = idle.total_seconds()
        self._clock = asyncio.get_running_loop().time
        self._moved = self._clock()

    async def pour(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int | None = None) -> None:
        """Copy from one end to the other until it ends or `size` bytes have passed. Raises NoMore at the limit."""
        left = size
        while left is None or left > 0:
            chunk = await reader.read(_CHUNK if left is None else min(_CHUNK, left))
            if not chunk:
                return
            self._moved = self._clock()
            self._way.carry(len(chunk))
            left = None if left is None else left - len(chunk)
            writer.write(chunk)
            await writer.drain()

    async def rest(self) -> None:
        """Wait until nothing has moved for too long."""
        left = self._idle
        while left > 0:
            await asyncio.sleep(left)
            left = self._moved + self._idle - self._clock()


async def first_of(*ways: Coroutine[Any, Any, None]) -> None:
    """Wait until one of them has ended, and cancel the others. Its error is raised."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


_MOST_HEAD = 65_536
_AUTHORITY = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_FAREWELL = 5.0  # seconds for the last bytes of an answer
_DEFAULT_PORTS = {"http": 80, "https": 443}
_GONE = (ConnectionError, asyncio.IncompleteReadError)

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Listen:
    """Address and ports on which the proxy listens, and the host name that browsers use for it."""

    address: str = "127.0.0.1"
    ports: Sequence[int] = (0,)  # the first that is free; 0 is any
    name: str = ""  # empty: the address


class _Answer(Exception):
    """An answer of the proxy itself instead of a site's."""

    def __init__(self, status: HTTPStatus, trouble: Trouble | None = None, host: str = "") -> None:
        super().__init__(status.phrase)
        self.status = status
        self.trouble = trouble
        self.host = host


class ForwardProxy:
    """The forward proxy. One per process and event loop; listens while its block is open."""

    def __init__(
        self,
        guard: Guard,
        listen: Listen | None = None,
        *,
        dialer: Dialer | None = None,
        limits: ProxyLimits | None = None,
    ) -> None:
        self._guard = guard
        self._listen = listen or Listen()
        self._dialer = dialer or Dialer()
        self._limits = limits or ProxyLimits()
        self._mark = secrets.token_hex(16)
        self._ways: dict[str, Permit] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server, port = await _start(self._connected, self._listen)
        name = self._listen.name or self._listen.address
        self.url = f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
        log.info("forward_proxy.listening", address=self._listen.address, port=port, reached_at=self.url)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is None:
            return
        self._server.close()
        self._ways.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    def open_way(self) -> Permit:
        """Issue a permit for a new browser."""
        way = Permit(self.url, self._mark, self._limits, _closed=self._forget)
        self._ways[way.name] = way
        return way

    def _forget(self, way: Permit) -> None:
        self._ways.pop(way.name, None)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(Connection(reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task that is cancelled before its first step never comes to its own end.
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _serve(self, near: Connection) -> None:
        with suppress(TimeoutError, NoMore, *_GONE):
            async with asyncio.timeout(self._limits.longest.total_seconds()):
                try:
                    await self._converse(near)
                except _Answer as answer:
                    near.writer.write(self._page(answer))
            near.writer.close()
            async with asyncio.timeout(_FAREWELL):
                await near.writer.wait_closed()

    async def _converse(self, near: Connection) -> None:
        if len(self._tasks) > self._limits.connections:
            return  # who has not been heard is not answered
        asked = await self._hear(near)
        way = self._way_of(asked)
        task = asyncio.current_task()
        if way is None or task is None:
            raise _Answer(HTTPStatus.PROXY_AUTHENTICATION_REQUIRED)
        if len(way.tasks) >= self._limits.per_way or way.carried >= self._limits.bytes_per_way:
            raise _Answer(HTTPStatus.SERVICE_UNAVAILABLE)
        way.tasks.add(task)
        try:
            await (self._tunnel(way, asked, near) if asked.method == "CONNECT" else self._plain(way, asked, near))
        finally:
            way.tasks.discard(task)

    async def _hear(self, near: Connection) -> RequestHead:
        try:
            async with asyncio.timeout(self._limits.head.total_seconds()):
                asked = read_request(await near.reader.readuntil(b"\r\n\r\n"))
                length = asked.length or 0
        except (BadHead, asyncio.LimitOverrunError):
            raise _Answer(HTTPStatus.BAD_REQUEST) from None
        if asked.is_coded:
            raise _Answer(HTTPStatus.LENGTH_REQUIRED)
        if length > self._limits.upload:
            raise _Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return asked

    def _way_of(self, asked: RequestHead) -> Permit | None:
        name, password = asked.credentials
        way = self._ways.get(name)
        right = way is not None and compare_digest(way.password.encode(), password.encode("latin-1", "replace"))
        return way if right else None

    async def _tunnel(self, way: Permit, asked: RequestHead, near: Connection) -> None:
        if _AUTHORITY.fullmatch(asked.target) is None:
            raise _Answer(HTTPStatus.BAD_REQUEST)
        _, far = await self._open(way, f"https://{asked.target}/", is_tunnel=True)
        try:
            near.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            flow = Flow(way, self._limits.idle)
            await first_of(flow.pour(near.reader, far.writer), flow.pour(far.reader, near.writer), flow.rest())
        finally:
            far.writer.transport.abort()

    async def _plain(self, way: Permit, asked: RequestHead, near: Connection) -> None:
        if not asked.target.startswith("http://") or asked.method not in _METHODS:
            raise _Answer(HTTPStatus.BAD_REQUEST)
        clearance, far = await self._open(way, asked.target, is_tunnel=False)
        try:
            await first_of(self._exchange(way, asked, clearance, near, far), _until_gone(near.reader, asked))
        except (BadHead, asyncio.LimitOverrunError):
            raise _Answer(HTTPStatus.BAD_GATEWAY, Trouble(Reason.NOT_HTTP, "bad head")) from None
        finally:
            far.writer.transport.abort()

    async def _exchange(
        self, way: Permit, asked: RequestHead, clearance: Clearance, near: Connection, far: Connection
    ) -> None:
        there = urlsplit(clearance.send)
        authority = clearance.authority or there.netloc
        credentials = self._dialer.credentials_for(clearance)
        target = clearance.send if credentials is not None else clearance.send.removeprefix(f"http://{there.netloc}")
        flow = Flow(way, self._limits.idle)
        far.writer.write(asked.onward(target, authority, *(credentials or ())))
        await first_of(flow.pour(near.reader, far.writer, asked.length or 0), flow.rest())
        async with asyncio.timeout(self._limits.idle.total_seconds()):
            answered = read_answer(await far.reader.readuntil(b"\r\n\r\n"))
            while answered.is_interim:
                answered = read_answer(await far.reader.readuntil(b"\r\n\r\n"))
        length = None if answered.is_coded else answered.length
        near.writer.write(answered.onward())
        if answered.has_body(asked.method):
            await first_of(flow.pour(far.reader, near.writer, length), flow.rest())

    async def _open(self, way: Permit, url: str, *, is_tunnel: bool) -> tuple[Clearance, Connection]:
        """Have the destination checked by the guard and connect; a refusal becomes an answer, and is remembered."""
        host = _host_in(url)
        limit = self._limits.connect
        try:
            async with asyncio.timeout(limit.total_seconds()):
                clearance = await self._guard.admit(url)
                there = urlsplit(clearance.send)
                dial = self._dialer.tunnel if is_tunnel else self._dialer.plain
                return clearance, await dial(clearance, there.port or _DEFAULT_PORTS[there.scheme])
        except FetchError as error:
            trouble = error.trouble
            status = HTTPStatus.FORBIDDEN if trouble.reason in REFUSED else HTTPStatus.BAD_GATEWAY
        except Unreached:
            trouble, status = Trouble(Reason.UNREACHABLE), HTTPStatus.BAD_GATEWAY
        except TimeoutError:
            trouble, status = Trouble(Reason.TIMEOUT, spell_seconds(limit)), HTTPStatus.GATEWAY_TIMEOUT
        # Once per host: a page can name one a thousand times.
        if way.note(host, trouble) and status is HTTPStatus.FORBIDDEN:
            log.info("forward_proxy.refused", host=host, error=trouble.reason.name, why=trouble.detail)
        raise _Answer(status, trouble, host)

    def _page(self, answer: _Answer) -> bytes:
        status = answer.status
        said = answer.trouble.sentence if answer.trouble else status.phrase
        # The mark is only for who has shown a password.
        mark = f' id="{self._mark}" data-host="{escape(answer.host)}"' if answer.trouble else ""
        body = f"<!doctype html><title>{status.value} {status.phrase}</title><p{mark}>{escape(said)}</p>".encode()
        asks = 'Proxy-Authenticate: Basic realm="gossamer"\r\n' if status is _WHO else ""
        return (
            f"HTTP/1.1 {status.value} {status.phrase}\r\n{asks}Content-Type: text/html; charset=utf-8\r\n"
            f"Cache-Control: no-store\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        ).encode("latin-1") + body


_WHO = HTTPStatus.PROXY_AUTHENTICATION_REQUIRED


def _host_in(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        raise _Answer(HTTPStatus.BAD_REQUEST) from None


async def _until_gone(reader: asyncio.StreamReader, asked: RequestHead) -> None:
    """Wait until the client has disconnected, and discard any other data it sends."""
    if asked.length:
        await asyncio.Event().wait()  # the body is read elsewhere
    while await reader.read(_MOST_HEAD):
        continue


async def _start(
    connected: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None], listen: Listen
) -> tuple[asyncio.Server, int]:
    for port in listen.ports:
        try:
            server = await asyncio.start_server(connected, listen.address, port, limit=_MOST_HEAD)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and port != listen.ports[-1]:
                continue
            raise UserError(
                "forward_proxy.no_place",
                f"Nothing can listen on {listen.address}, port {port}: {error.strerror or error}.",
                hint="Set GOSSAMER_FORWARD_PROXY_LISTEN to an address of this machine, with a port for every process.",
            ) from error
        return server, server.sockets[0].getsockname()[1]
    raise ValueError("no port to listen on")
