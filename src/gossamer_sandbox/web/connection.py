"""One client's connection: HTTP/1.1 with keep-alive, by hand, because serving must cost less than reading."""

import asyncio
import time
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from typing import cast

from gossamer_sandbox.web.access_log import AccessLog
from gossamer_sandbox.web.answer import Sending
from gossamer_sandbox.web.replies import Replies
from gossamer_sandbox.web.visitors import HEADER, NOBODY, Visitor, visitor_of
from gossamer_sandbox.web.wire import Reply

_LONGEST_HEAD = 65_536
_TLS_HANDSHAKE = 0x16
_DRIP_SECONDS = 1.0
_VISITOR = HEADER.lower().encode()
_WANTED = frozenset((b"host", b"user-agent", b"accept-encoding", b"connection", b"content-length", _VISITOR))
_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Head:
    """The parsed head of a request."""

    method: str
    host: str
    target: str
    agent: str
    gzip: bool
    keep_alive: bool
    body_bytes: int
    visitor: Visitor = NOBODY


def read_head(head: bytes) -> Head | None:
    """The first line and the headers we care about; None if it is not HTTP."""
    first, *lines = head.split(b"\r\n")
    words = first.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return None
    headers: dict[bytes, bytes] = {}
    for line in lines:
        name, _, value = line.partition(b":")
        name = name.lower()
        if name in _WANTED:
            headers[name] = value.strip()
    length = headers.get(b"content-length", b"0")
    target = words[1].decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if not target.startswith("/") or not length.isdigit():
        return None
    return Head(
        method=words[0].decode("latin-1"),
        host=host.partition(":")[0],
        target=target,
        agent=headers.get(b"user-agent", b"").decode("latin-1"),
        gzip=b"gzip" in headers.get(b"accept-encoding", b""),
        keep_alive=headers.get(b"connection", b"").lower() != b"close" and words[2] != b"HTTP/1.0",
        body_bytes=int(length),
        visitor=visitor_of(headers[_VISITOR].decode("latin-1")) if _VISITOR in headers else NOBODY,
    )


class Connection(asyncio.Protocol):
    """Answers requests in the order they come. While one answer takes its time, the next requests wait."""

    def __init__(self, replies: Replies, log: AccessLog, everyone: set["Connection"]) -> None:
        self._replies = replies
        self._log = log
        self._everyone = everyone
        self._buffer = bytearray()
        self._arrived = 0.0
        self._transport: asyncio.Transport | None = None
        self._performance: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # What a TCP server gives its protocols, though uvloop's own class does not say so.
        self._transport = cast("asyncio.Transport", transport)
        self._everyone.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._everyone.discard(self)
        self._transport = None
        if self._performance is not None:
            self._performance.cancel()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if not self._buffer and data[0] == _TLS_HANDSHAKE:
            # Nobody here speaks TLS; hanging up at once is the quickest way to say so.
            self.abort()
            return
        self._arrived = time.time()
        self._buffer += data
        if self._performance is None:
            self._serve()

    def _serve(self) -> None:
        """Answer every complete request in the buffer, until one of them takes time or ends the connection."""
        while self._transport is not None and not self._transport.is_closing() and self._performance is None:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _LONGEST_HEAD:
                    self._refuse()
                return
            head = read_head(bytes(self._buffer[:end]))
            if head is None:
                self._refuse()
                return
            size = end + 4 + head.body_bytes
            if len(self._buffer) < size:
                return
            del self._buffer[:size]
            self._answer(self._transport, head)

    def _refuse(self) -> None:
        if self._transport is not None:
            self._transport.write(_BAD_REQUEST)
            self._transport.close()

    def _answer(self, transport: asyncio.Transport, head: Head) -> None:
        reply = self._replies.reply(head.host, head.target, gzip=head.gzip, visitor=head.visitor)
        self._log.add(self._arrived, head.host, head.target, reply.status, head.agent)
        start = b"%bDate: %b\r\n%b" % (reply.start, _date(int(time.time())), reply.rest)
        if head.method == "HEAD":
            transport.write(start)
        elif reply.sending in (Sending.WHOLE, Sending.CHUNKED):
            transport.write(start + reply.body)
        else:
            self._performance = asyncio.get_running_loop().create_task(self._perform(transport, start, reply, head))
            return
        if not head.keep_alive:
            transport.close()

    async def _perform(self, transport: asyncio.Transport, start: bytes, reply: Reply, head: Head) -> None:
        """Answers that are more than bytes: late ones, dripping ones, broken ones."""
        await asyncio.sleep(reply.delay)
        transport.write(start + reply.body)
        while reply.sending is Sending.DRIP:
            await asyncio.sleep(_DRIP_SECONDS)
            await self._may_write.wait()
            transport.write(b".")
        self._performance = None
        if reply.ends_connection or not head.keep_alive:
            transport.close()
        else:
            self._serve()


@lru_cache(maxsize=2)  # formatting it costs as much as a reply
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
