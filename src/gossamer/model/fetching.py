"""One way to fetch, the order of ways, and what arrived."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from gossamer.model.registry import Registry


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to fetch. The name is what users see as crawl_method."""

    name: str
    lane: str
    retries: int = 3  # after the first try
    timeout: timedelta = timedelta(seconds=15)
    renders: bool = False  # it runs the scripts of a page
    paid: bool = False  # a provider's, who asks from addresses of its own
    json: bool = False  # what it brings is data and no page

    @property
    def is_plain(self) -> bool:
        """Nothing stands between us and the site: how long an answer takes says something about the site."""
        return not self.renders and not self.paid


HOME_LANE = "http"
"""The lane of the visit every site has. It chooses the site's pages, whichever lane fetches them."""

DIRECT = Rung("direct", HOME_LANE)

RUNGS = Registry("rung", Rung, (DIRECT,), filled_by="gossamer.model.ladders")
"""By name. Which of them can be used here is a matter of settings."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Rungs in the order they are tried, and those that were asked for and are not to be had here."""

    rungs: tuple[Rung, ...] = (DIRECT,)
    missing: tuple[Rung, ...] = ()

    @property
    def first(self) -> Rung:
        return self.rungs[0]

    def above(self, name: str, *, rendering: bool = False) -> Rung | None:
        """The next rung after the one named, or the next that renders, if there is one."""
        names = [rung.name for rung in self.rungs]
        higher = self.rungs[names.index(name) + 1 :]
        return next((rung for rung in higher if rung.renders or not rendering), None)

    def beyond(self, name: str) -> Rung | None:
        """The next rung of somebody else than whose the one named is, that brings no less; for when they are away."""
        names = [rung.name for rung in self.rungs]
        here, whose = self.named(name), name.partition("-")[0]
        others = (rung for rung in self.rungs[names.index(name) + 1 :] if rung.name.partition("-")[0] != whose)
        return next((rung for rung in others if rung.renders or not here.renders), None)

    def without(self, names: Set[str]) -> "Ladder":
        """The same without some of its rungs."""
        return replace(self, rungs=tuple(rung for rung in self.rungs if rung.name not in names)) if names else self

    def lacks(self, *, rendering: bool = False) -> Rung | None:
        """The first rung that would have been next, were it to be had here."""
        return next((rung for rung in self.missing if rung.renders or not rendering), None)

    def named(self, name: str) -> Rung:
        return next(rung for rung in self.rungs if rung.name == name)


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
