"""One URL of a job and its state; one site; one visit: the unit that a worker leases and walks."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from gossamer.model.money import ACCOUNT
from gossamer.model.record import FIRST_STEP, NOTHING_CARRIED
from gossamer.model.rungs import DIRECT
from gossamer.model.states import PageState, SiteState
from gossamer.model.url import url_key


class Attempt(NamedTuple):
    """One try on one rung, as the page remembers it. Moments are milliseconds since 1970, as its row keeps them."""

    rung: str
    status: int | None
    reason: str  # name of a Reason, or "" for success
    milliseconds: int
    at: int  # when it began: waiting for our turn is part of it
    sent: tuple[int, ...] = ()  # when each of its requests went out: one, and one more per redirect

    @property
    def asked_at(self) -> int:
        """When its first request was sent; when it began, if none was."""
        return self.sent[0] if self.sent else self.at

    @property
    def waited(self) -> int:
        """The part of its milliseconds that passed before the first request was sent."""
        return min(self.milliseconds, max(0, self.asked_at - self.at))


ASKED_AGAIN = "asked-again"
"""Instead of a rung: no attempt, but the moment a person asked for a failed page once more."""


class Errand(NamedTuple):
    """A request that was not for a page: robots.txt or a sitemap."""

    at: int  # milliseconds since 1970
    url: str
    status: int  # 0: no answer


SECRET = "{secret}"  # noqa: S105 - stands for one
"""What stands in a header for the secret that is named beside it."""


class PageRequest(NamedTuple):
    """Request details of a page that a recipe has requested. An ordinary page has none."""

    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()  # `{secret}` in a value stands for the secret that `credential` names
    body: bytes = b""
    credential: str = ""
    identity: str = ""  # tells requests to one address apart
    only: bool = False  # its rung and no other
    last: bool = False  # asked for when the walk was over: nothing it yields is followed

    @property
    def is_plain(self) -> bool:
        """True if nothing is sent besides the URL."""
        return self.method == "GET" and not (self.headers or self.body or self.credential)

    def pack(self) -> bytes:
        """As its row keeps it."""
        said = [self.method, self.headers, self.credential, self.identity, self.only, self.last]
        return orjson.dumps(said) + b"\n" + self.body

    @classmethod
    def unpack(cls, packed: bytes) -> "PageRequest":
        said, _, body = packed.partition(b"\n")
        method, headers, credential, identity, only, last = orjson.loads(said)
        return cls(method, tuple((name, value) for name, value in headers), body, credential, identity, only, last)


class Page(NamedTuple):
    """One URL of a job."""

    url: str
    key: bytes
    depth: int
    rung: str = DIRECT.name
    state: PageState = PageState.PENDING
    due_at: datetime | None = None
    attempts: tuple[Attempt, ...] = ()
    found_on: str = ""
    rank: int = 0  # place among all that were chosen of its site; of listed pages the place in the whole list
    handed: int = 0  # how many sites passed it on; 0: found on its own
    step: str = FIRST_STEP  # whose policy it is read by
    request: PageRequest | None = None  # of a page that a recipe has asked for
    carry: Mapping[str, Any] = NOTHING_CARRIED  # facts from the page that led here, for the recipe

    @property
    def is_apart(self) -> bool:
        """True if it is not part of its site's crawl: another site passed it on, or a recipe requested it."""
        return self.handed > 0 or self.request is not None

    @classmethod
    def at(cls, url: str, depth: int = 0, *, found_on: str = "", rank: int = 0, handed: int = 0) -> "Page":
        return cls(url=url, key=url_key(url), depth=depth, found_on=found_on, rank=rank, handed=handed)

    @property
    def tries(self) -> int:
        """Attempts on the present rung since the page was last requested, by the job or by a retry."""
        tries = 0
        for attempt in reversed(self.attempts):
            if attempt.rung == ASKED_AGAIN:
                break
            tries += attempt.rung == self.rung
        return tries

    def tried(self, attempt: Attempt) -> "Page":
        return self._replace(attempts=(*self.attempts, attempt))

    def due(self, at: datetime) -> "Page":
        return self._replace(due_at=at)

    def on(self, rung: str) -> "Page":
        """To be tried on another rung, and at once."""
        return self._replace(rung=rung, due_at=None)


@dataclass(frozen=True, slots=True)
class Visit:
    """A site in one lane, leased. `lease` is the fencing token every write is checked against."""

    id: UUID
    job_id: UUID
    site_id: UUID
    host: str
    domain: str  # Gate key
    entries: tuple[str, ...]
    lane: str
    lease: UUID
    deaths: int
    walked: timedelta
    not_before: datetime | None
    whole: bool  # False: only pages handed over by other sites, links are not followed
    notes: bytes
    robots: dict[str, Any]
    errands: tuple[Errand, ...] = ()
    account: str = ACCOUNT  # whose money it spends
    before: SiteState | None = None  # how its site had ended, where it is open only for what is asked for last
