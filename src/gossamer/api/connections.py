"""Time limits of a connection's requests, and the number of connections that may wait for one.

A connection is in one of these phases, each with its own time limit, after which the connection is
closed:

    NEW      connected, and nothing was sent yet
    HEAD     the headers have begun and are incomplete
    BODY     the body arrives; every byte counts as progress, and time in which we do not read does not count
    WORKING  the answer is being made or sent: no limit, so streams and scrapes can take as long as they need
    LEFT     answered, but the body of the request is still arriving
    IDLE     between two requests

In addition, the client has to read the answer: if data waits here and none of it is taken for a
minute, the connection is aborted. Closing it would not work, because that waits for the unsent data.
"""

import asyncio
import resource
import struct
import termios
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from fcntl import ioctl
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gossamer.errors import UserError

_TOO_LARGE = "431 Request Header Fields Too Large"
# The request has no id at this point, so the problem has none either.
_PROBLEM = (
    b'{"type":"urn:gossamer:problem:request.head_too_large","title":"Request Header Fields Too Large",'
    b'"status":431,"code":"request.head_too_large",'
    b'"detail":"The head of the request is too large.","hint":"Send a shorter address, and fewer or shorter headers."}'
)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of a connection: seconds, and how much unread data is kept."""

    first_byte: float = 30.0
    head: float = 60.0
    body: float = 60.0
    keep_alive: float = 72.0
    sending: float = 60.0
    head_bytes: int = 64 * 1024
    headers: int = 200
    waiting: int = 2_000  # connections that have no request under way: new, with half a head, idle


class _HeadTooLarge(Exception):
    pass


class UnderWay:
    """Number of requests in progress per account; streams and waiting scrapes count for as long as they last.

    The limit keeps one account from using up all connections that the system allows.
    """

    def __init__(self, most: int) -> None:
        self._most = min(most, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
        self._of: Counter[str] = Counter()

    def enter(self, account: str) -> None:
        if self._of[account] >= self._most:
            detail = f"This account has {self._most:,} requests under way, which is as many as it may have."
            raise UserError("request.busy", detail, hint="Try again when some of them are answered.")
        self._of[account] += 1

    def leave(self, account: str) -> None:
        self._of[account] -= 1
        if not self._of[account]:
            del self._of[account]


class Phase(Enum):
    NEW = auto()
    HEAD = auto()
    BODY = auto()
    WORKING = auto()
    LEFT = auto()
    IDLE = auto()


class Waiting:
    """Connections without a request in progress, oldest first. If there are too many, the oldest is closed.

    A connection that has never sent a complete request is closed before one that has, so that idle
    clients stay connected while an attacker opens thousands of connections.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._unproven: OrderedDict[BoundedProtocol, None] = OrderedDict()
        self._known: OrderedDict[BoundedProtocol, None] = OrderedDict()

    def add(self, connection: "BoundedProtocol", *, known: bool) -> None:
        (self._known if known else self._unproven)[connection] = None
        if len(self._unproven) + len(self._known) > self._most:
            oldest, _ = (self._unproven or self._known).popitem(last=False)
            oldest.close()

    def remove(self, connection: "BoundedProtocol") -> None:
        self._unproven.pop(connection, None)
        self._known.pop(connection, None)


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with time and size limits. `bounded` makes one class per server."""

    limits: ConnectionLimits
    waiting: Waiting

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._phase = Phase.NEW
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0
        self._sending: asyncio.TimerHandle | None = None
        self._unsent = 0  # bytes of answers that the client had not read at the last check
        self._unread = 0  # bytes of an incomplete head
        self._in_head = False
        self._in_body = False
        self._had_request = False

    # Events of the connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_body:
            self._until = self.loop.time() + self.limits.body
        else:
            # Data outside of a body belongs to a head, even if it is only blank lines before it.
            self._in_head = True
        super().data_received(data)
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        self._unread += len(data) if self._in_head else 0
        if self._unread > self.limits.head_bytes:
            self.send_400_response("")
        else:
            self._watch()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > self.limits.headers:
            self._unread = self.limits.head_bytes + 1
            raise _HeadTooLarge  # it ends up in `send_400_response`

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self.limits.head_bytes:
            self._unread = size
            raise _HeadTooLarge
        self._in_head, self._in_body, self._had_request, self._unread = False, True, True, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unset_keepalive_if_required()  # the phase has its own timer
        self._watch_sending()
        if not self.transport.is_closing():
            self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_sending()

    def send_400_response(self, msg: str) -> None:
        self._forget()
        if self._unread <= self.limits.head_bytes:
            super().send_400_response(msg)
            return
        answer = (
            f"HTTP/1.1 {_TOO_LARGE}\r\ncontent-type: application/problem+json\r\ncontent-length: {len(_PROBLEM)}\r\n"
        )
        self.transport.writelines([answer.encode(), b"connection: close\r\n\r\n", _PROBLEM])
        self.close()

    def handle_websocket_upgrade(self) -> None:
        self._forget()
        super().handle_websocket_upgrade()

    # Phases and their timers.

    def _now_in(self) -> Phase:
        is_working = bool(self.pipeline) or (self._had_request and not self.cycle.response_complete)
        if self._in_body:
            return Phase.BODY if is_working else Phase.LEFT
        if is_working:
            return Phase.WORKING
        if self._in_head:
            return Phase.HEAD
        return Phase.IDLE if self._had_request else Phase.NEW

    def _watch(self) -> None:
        """Start the timer of the connection's current phase."""
        phase = self._now_in()
        if phase is self._phase and self._timer is not None:
            return
        self._forget()
        self._phase = phase
        limits = self.limits
        seconds = {
            Phase.NEW: limits.first_byte,
            Phase.HEAD: limits.head,
            Phase.BODY: limits.body,
            Phase.LEFT: limits.body,
            Phase.IDLE: limits.keep_alive,
        }.get(phase)
        if seconds is None:
            return
        self._until = self.loop.time() + seconds
        self._timer = self.loop.call_later(seconds, self._on_timeout)
        if phase is not Phase.BODY:
            self.waiting.add(self, known=self._had_request and phase is not Phase.LEFT)

    def _on_timeout(self) -> None:
        self._timer = None
        left = self._until - self.loop.time()
        if self._phase is Phase.BODY and self.flow.read_paused:
            left = max(left, self.limits.body)  # we have paused reading, not the client
        if self._phase is Phase.BODY and left > 0:
            self._timer = self.loop.call_later(left, self._on_timeout)
            return
        self.close()

    def close(self) -> None:
        self._forget()
        if not self.transport.is_closing():
            self.transport.close()
        self._watch_sending()

    def _watch_sending(self) -> None:
        """Start the timer for unread answer data, if there is any."""
        if self._sending is None and self.transport.get_write_buffer_size():
            self._unsent = self._unread_bytes()
            self._sending = self.loop.call_later(self.limits.sending, self._check_sending)

    def _check_sending(self) -> None:
        self._sending = None
        if self.transport.get_write_buffer_size() and self._unread_bytes() >= self._unsent > 0:
            self.transport.abort()
        else:
            self._watch_sending()

    def _unread_bytes(self) -> int:
        """Return the unread bytes in our buffer and in the kernel's; a slow reader may empty the latter for minutes."""
        there = 0
        socket = self.transport.get_extra_info("socket")
        with suppress(OSError, ValueError, AttributeError):  # not available on every system
            (there,) = struct.unpack("i", ioctl(socket.fileno(), termios.TIOCOUTQ, b"\0" * 4))
        return self.transport.get_write_buffer_size() + int(there)

    def _forget(self) -> None:
        self.waiting.remove(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def bounded(limits: ConnectionLimits) -> type[BoundedProtocol]:
    """Return a protocol class for one server, whose connections share the limits."""
    most = min(limits.waiting, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
    return type("BoundedProtocol", (BoundedProtocol,), {"limits": limits, "waiting": Waiting(most)})
