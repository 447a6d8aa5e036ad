"""From an answer to bytes: status line, headers, framing, compression."""

import zlib
from dataclasses import dataclass
from http import HTTPStatus

from gossamer_sandbox.web.answer import Answer, Sending

_CHUNK = 4_096
_PROMISED_TOO_MUCH = 10_000


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer ready to be sent. The Date belongs between `start` and `rest`."""

    status: int
    start: bytes
    rest: bytes  # the other headers and the blank line
    body: bytes
    sending: Sending = Sending.WHOLE
    delay: float = 0.0

    @property
    def size(self) -> int:
        return len(self.start) + len(self.rest) + len(self.body)

    @property
    def ends_connection(self) -> bool:
        return self.sending in (Sending.SHORT, Sending.UNENDED, Sending.DRIP)


def reply_of(answer: Answer, *, gzip: bool) -> Reply:
    """The bytes of an answer; compressed when it may be and the other side can read it."""
    headers = list(answer.headers)
    body = answer.body
    if gzip and answer.compressible:
        body = _gzipped(body)
        headers.append(("Content-Encoding", "gzip"))
    if answer.compressible:
        headers.append(("Vary", "Accept-Encoding"))
    match answer.sending:
        case Sending.CHUNKED:
            headers.append(("Transfer-Encoding", "chunked"))
            body = _chunks(body) + b"0\r\n\r\n"
        case Sending.UNENDED:
            headers.append(("Transfer-Encoding", "chunked"))
            body = _chunks(body[: len(body) // 2])
        case Sending.SHORT:
            headers.append(("Content-Length", str(len(body) + _PROMISED_TOO_MUCH)))
        case Sending.DRIP:
            headers.append(("Connection", "close"))
            body = body[:1_000]
        case _:
            headers.append(("Content-Length", str(len(body))))
    start = f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n".encode()
    rest = "".join(f"{name}: {value}\r\n" for name, value in headers) + "\r\n"
    return Reply(answer.status, start, rest.encode("latin-1"), body, answer.sending, answer.delay)


def _gzipped(body: bytes) -> bytes:
    packer = zlib.compressobj(5, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def _chunks(body: bytes) -> bytes:
    pieces = (body[at : at + _CHUNK] for at in range(0, len(body), _CHUNK))
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
