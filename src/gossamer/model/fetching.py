"""What arrived."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent besides an address, where that is more than a plain GET. It may hold secrets: never log it."""

    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


class Response(NamedTuple):
    """Bytes that arrived, and how. `url` is where they came from after redirects on the same site."""

    requested: str
    url: str
    status: int
    headers: Mapping[str, str]  # lower-case names; repeated headers joined by ", ", a line that names a robot by "\n"
    body: bytes
    rung: str
    fetched_at: datetime
    hops: tuple[str, ...] = ()  # addresses passed through, the requested one first
    credits: int | None = None  # what a provider says it charged; None where it did not say, or there was none
    screenshot: bytes = b""  # a picture of the page, where the rung takes one

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    @property
    def location(self) -> str:
        """Where a redirect leads."""
        return as_meant(self.header("location"))

    @property
    def content_type(self) -> str:
        """The media type alone, lower case, without parameters."""
        return self.header("content-type").partition(";")[0].strip().lower()


def as_meant(header: str) -> str:
    """A header with an address in it. By the book it is ASCII; other bytes, kept one for one, are UTF-8 by use."""
    if header.isascii():
        return header
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header
