"""Heads of the requests and answers that pass through the forward proxy: parsed strictly, written anew.

Pure.

Their senders may be hostile, and two parsers of one head must not disagree: anything that is not
plainly HTTP/1 is refused, and hop-by-hop headers are not forwarded.
"""

import base64
import re
from dataclasses import dataclass

_REQUEST = re.compile(r"([A-Z]{1,20}) ([!-~]{1,16384}) HTTP/1\.[01]")
_STATUS = re.compile(r"HTTP/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BAD_IN_VALUE = re.compile(r"[\x00\r\n]")
_LENGTH = re.compile(r"\d{1,15}")

# Between two machines only (RFC 9110, 7.6.1), or for the proxy itself. Of an answer, Transfer-Encoding stays: its body
# is handed on as it comes.
_ONE_HOP = frozenset(
    {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate", "te", "upgrade"}
)
# Headers that mark where a body ends: never removed on request, or what follows would be read as something else.
_FRAMING = frozenset({"content-length", "transfer-encoding"})
_NOT_ASKED = _ONE_HOP | {"host", "expect", "transfer-encoding", "trailer"}

Headers = tuple[tuple[str, str], ...]


class BadHead(Exception):
    """A head that cannot be passed on."""


@dataclass(frozen=True, slots=True)
class Head:
    """A first line and its headers, in their order and spelling."""

    first: str
    headers: Headers

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]

    @property
    def length(self) -> int | None:
        """The length of the body, if the head states one. Two lengths count as none."""
        said = set(self.all("content-length"))
        if not said:
            return None
        text = said.pop()
        if said or _LENGTH.fullmatch(text) is None:
            raise BadHead("no clear length")
        return int(text)

    @property
    def is_coded(self) -> bool:
        """True if the body marks its own end."""
        return bool(self.all("transfer-encoding"))

    def kept(self, dropped: frozenset[str]) -> Headers:
        named = {token.strip().lower() for value in self.all("connection") for token in value.split(",")} - _FRAMING
        return tuple((name, value) for name, value in self.headers if name.lower() not in dropped | named)


@dataclass(frozen=True, slots=True)
class RequestHead(Head):
    """A request to the proxy."""

    method: str = ""
    target: str = ""  # `host:port` for CONNECT, else a whole address

    @property
    def credentials(self) -> tuple[str, str]:
        """Name and password; empty if none are given that can be read."""
        for value in self.all("proxy-authorization"):
            scheme, _, coded = value.partition(" ")
            if scheme.lower() != "basic":
                continue
            try:
                name, _, password = base64.b64decode(coded.strip(), validate=True).decode("latin-1").partition(":")
            except ValueError:  # not the alphabet, or not even ASCII
                continue
            return name, password
        return "", ""

    def onward(self, target: str, authority: str, *extra: tuple[str, str]) -> bytes:
        """Return the request as the next machine sees it, the only one on its connection."""
        kept = self.kept(_NOT_ASKED)
        return _written(
            f"{self.method} {target} HTTP/1.1", (("Host", authority), *kept, *extra, ("Connection", "close"))
        )


@dataclass(frozen=True, slots=True)
class Answered(Head):
    """Head of a server's answer."""

    status: int = 0

    @property
    def is_interim(self) -> bool:
        return self.status < 200

    def has_body(self, method: str) -> bool:
        return method != "HEAD" and self.status not in (204, 304)

    def onward(self) -> bytes:
        return _written(self.first, (*self.kept(_ONE_HOP), ("Connection", "close")))


def read_request(raw: bytes) -> RequestHead:
    first, *lines = _lines(raw)
    match = _REQUEST.fullmatch(first)
    headers = tuple(header for line in lines if (header := _header(line)))
    if match is None or len(headers) != len(lines):
        raise BadHead("no request")
    return RequestHead(first, headers, match[1], match[2])


def read_answer(raw: bytes) -> Answered:
    first, *lines = _lines(raw)
    match = _STATUS.fullmatch(first)
    if match is None:
        raise BadHead("no answer")
    # Browsers pass over lines that are no header, and so do we: there are sites that send some.
    return Answered(first, tuple(header for line in lines if (header := _header(line))), int(match[1]))


def _lines(raw: bytes) -> list[str]:
    return raw.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")


def _header(line: str) -> tuple[str, str] | None:
    name, colon, value = line.partition(":")
    # A line that goes on from the one before, or a space before the colon, is read in two ways.
    if not colon or _NAME.fullmatch(name) is None or _BAD_IN_VALUE.search(value):
        return None
    return name, value.strip(" \t")


def _written(first: str, headers: Headers) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"{first}\r\n{lines}\r\n".encode("latin-1")
