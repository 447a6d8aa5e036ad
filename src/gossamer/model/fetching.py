"""One way to fetch, the order of ways, and what arrived."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to fetch. The name is what users see as crawl_method."""

    name: str
    lane: str
    retries: int = 3  # after the first try
    timeout: timedelta = timedelta(seconds=15)


DIRECT = Rung("direct", "http")


@dataclass(frozen=True, slots=True)
class Ladder:
    """Rungs in the order they are tried."""

    rungs: tuple[Rung, ...] = (DIRECT,)

    def above(self, name: str) -> Rung | None:
        """The next rung after the one named, if there is one."""
        names = [rung.name for rung in self.rungs]
        position = names.index(name) + 1
        return self.rungs[position] if position < len(self.rungs) else None

    def named(self, name: str) -> Rung:
        return next(rung for rung in self.rungs if rung.name == name)


@dataclass(frozen=True, slots=True)
class Response:
    """Bytes that arrived, and how. `url` is where they came from after redirects on the same site."""

    requested: str
    url: str
    status: int
    headers: Mapping[str, str]  # lower-case names; repeated headers joined by ", "
    body: bytes
    rung: str
    fetched_at: datetime
    elapsed: timedelta = timedelta()
    hops: tuple[str, ...] = field(default=())  # addresses passed through, the requested one first
    credits: int | None = None  # what a provider says it charged; None where it did not say, or there was none

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    @property
    def content_type(self) -> str:
        """The media type alone, lower case, without parameters."""
        return self.header("content-type").partition(";")[0].strip().lower()
