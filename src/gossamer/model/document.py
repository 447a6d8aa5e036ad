"""A response that was read: what a page says and where it points."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple


class Link(NamedTuple):
    """One address a page points to: absolute, normalised."""

    url: str
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed page. `text` is what a visitor can read; `tree` is the parser's own node for deeper questions."""

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
    refresh: str | None  # where a meta refresh of at most 10 seconds leads
    size: int  # bytes of the body
    headers: Any = field(repr=False, compare=False)
    tree: Any = field(repr=False, compare=False)
    landmarks: Any = field(repr=False, compare=False)  # the parser's nodes of headings, menus, headers and footers
    body: bytes = field(default=b"", repr=False, compare=False)  # as it arrived: what the tree no longer shows
    screenshot: bytes = field(default=b"", repr=False, compare=False)  # where the rung has taken one
    data: Any = field(default=None, repr=False, compare=False)  # of an answer that is JSON
    fields: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)  # by the job's extraction rules
