"""A response that arrived, and the document that was read from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Request:
    """Parts of a request besides its URL, if it is more than a plain GET. It may hold secrets: never log it."""

    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


class Response(NamedTuple):
    """A response as it arrived. `url` is its address after redirects on the same site."""

    requested: str
    url: str
    status: int
    headers: Mapping[str, str]  # lower-case names; repeated headers joined by ", ", a line that names a robot by "\n"
    body: bytes
    rung: str
    fetched_at: datetime
    hops: tuple[str, ...] = ()  # addresses passed through, the requested one first
    credits: int | None = None  # charged by the provider, as it reported; None: not reported, or no provider
    screenshot: bytes = b""  # a picture of the page, where the rung takes one

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    @property
    def location(self) -> str:
        """The target of a redirect."""
        return as_meant(self.header("location"))

    @property
    def content_type(self) -> str:
        """The media type alone, lower case, without parameters."""
        return self.header("content-type").partition(";")[0].strip().lower()


def as_meant(header: str) -> str:
    """Decode a header that holds an address: ASCII by the standard, UTF-8 in practice."""
    if header.isascii():
        return header
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


class Link(NamedTuple):
    """One address a page points to: absolute, normalised."""

    url: str
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed page. `text` is what a visitor can read; `tree` is the parser's own root node."""

    requested: str
    url: str
    status: int
    rung: str
    fetched_at: datetime
    content_type: str
    title: str
    text: str
    links: tuple[Link, ...]
    canonical: str | None  # normalised, any site
    language: str
    nofollow: bool  # the page as a whole asks that its links not be followed
    refresh: str | None  # target of a meta refresh of at most 10 seconds
    size: int  # bytes of the body
    headers: Any = field(repr=False, compare=False)
    tree: Any = field(repr=False, compare=False)
    landmarks: Any = field(repr=False, compare=False)  # the parser's nodes of headings, menus, headers and footers
    body: bytes = field(default=b"", repr=False, compare=False)  # as it arrived
    screenshot: bytes = field(default=b"", repr=False, compare=False)  # where the rung has taken one
    data: Any = field(default=None, repr=False, compare=False)  # parsed content of a JSON response
    fields: Mapping[str, Any] | None = field(
        default=None, repr=False, compare=False
    )  # results of the job's extraction rules
