"""A URL of a job and its state, the pages that a recipe requests, and the visit: the unit that a worker leases."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from gossamer.model.job import CrawlPolicy
from gossamer.model.money import ACCOUNT
from gossamer.model.record import FIRST_STEP, NOTHING_CARRIED, Follow
from gossamer.model.rungs import DIRECT, RUNGS, Rung
from gossamer.model.states import PageState, SiteState
from gossamer.model.url import as_told, normalise, url_key


class Attempt(NamedTuple):
    """One attempt on one rung, as stored with the page. Times are milliseconds since 1970."""

    rung: str
    status: int | None
    reason: str  # name of a Reason, or "" for success
    milliseconds: int
    at: int  # start, before any wait for the request spacing
    sent: tuple[int, ...] = ()  # times of its requests: one, and one more per redirect

    @property
    def asked_at(self) -> int:
        """The time of its first request, or of its start if no request was sent."""
        return self.sent[0] if self.sent else self.at

    @property
    def waited(self) -> int:
        """Milliseconds before the first request was sent."""
        return min(self.milliseconds, max(0, self.asked_at - self.at))


ASKED_AGAIN = "asked-again"
"""Stored in place of a rung to mark the time of a manual retry; not an attempt."""


class Errand(NamedTuple):
    """A request that was not for a page: robots.txt or a sitemap."""

    at: int  # milliseconds since 1970
    url: str
    status: int  # 0: no answer


SECRET = "{secret}"  # noqa: S105 - stands for one
"""Placeholder in a header for the secret named by `credential`."""


class PageRequest(NamedTuple):
    """Request details of a page that a recipe has requested. An ordinary page has none."""

    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()  # `{secret}` in a value stands for the secret that `credential` names
    body: bytes = b""
    credential: str = ""
    identity: str = ""  # distinguishes requests to the same URL
    only: bool = False  # only on its rung
    last: bool = False  # requested after the crawl: its links are not followed

    @property
    def is_plain(self) -> bool:
        """True if nothing is sent besides the URL."""
        return self.method == "GET" and not (self.headers or self.body or self.credential)

    def pack(self) -> bytes:
        """Serialise it for its row."""
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
    rank: int = 0  # position among the chosen pages of its site; for listed pages, in the whole list
    handed: int = 0  # number of sites that handed it over; 0: found on its own site
    step: str = FIRST_STEP  # decides the policy it is read by
    request: PageRequest | None = None  # of a page that a recipe requested
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
        """Return the page to be tried on another rung at once."""
        return self._replace(rung=rung, due_at=None)


@dataclass(frozen=True, slots=True)
class Visit:
    """A leased site in one lane. `lease` is the fencing token that every write is checked against."""

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
    account: str = ACCOUNT  # the account that pays
    before: SiteState | None = None  # earlier outcome of a site that is open only for pages requested after the crawl


MOST_CARRIED = 4_096  # bytes of the facts carried from page to page
_MOST_SENT = 65_536  # bytes of a body
_METHODS = ("GET", "HEAD", "POST", "PUT")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,23}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "cookie"})
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization"})


def asked_page(follow: Follow, policy: CrawlPolicy, found_on: str, depth: int, *, last: bool = False) -> Page:
    """Return the page that a follow requests. Raises ValueError if it cannot be requested."""
    _check(follow)
    said = PageRequest(
        follow.method,
        tuple((name, value) for name, value in follow.headers),
        follow.body,
        follow.credential,
        follow.identity,
        only=bool(follow.rung),
        last=last,
    )
    # A URL with request options is kept exactly: its parameters are part of the request.
    url = normalise(follow.url) if said.is_plain else as_told(follow.url, follow.url)
    if url is None:
        raise ValueError(f"{follow.url[:100]!r} is not a web address")
    return Page(
        url=url,
        key=url_key(url, follow.identity),
        depth=depth,
        rung=follow.rung or policy.ladder.first.name,
        found_on=found_on,
        step=follow.step,
        request=said,
        carry=follow.carry,
    )


def lane_of(page: Page, policy: CrawlPolicy) -> str:
    """Return the lane of the visit that reads the page."""
    return rung_named(page.rung, policy).lane


def rung_named(name: str, policy: CrawlPolicy) -> Rung:
    return next((rung for rung in policy.ladder.rungs if rung.name == name), None) or RUNGS[name]


def _check(follow: Follow) -> None:
    if _NAME.fullmatch(follow.step) is None:
        raise ValueError(f"{follow.step!r} is not the name of a step")
    if follow.rung and follow.rung not in RUNGS:
        raise ValueError(f"{follow.rung!r} is not a way to fetch")
    if follow.method not in _METHODS:
        raise ValueError(f"{follow.method!r} is not one of {', '.join(_METHODS)}")
    if len(follow.body) > _MOST_SENT:
        raise ValueError(f"a body of {len(follow.body):,} bytes, at most {_MOST_SENT:,}")
    for name, value in follow.headers:
        if _HEADER.fullmatch(name) is None or name.lower() in _OURS or not value.isprintable():
            raise ValueError(f"{name!r} is not a header that may be sent")
        if name.lower() in _SECRET_HEADERS and SECRET not in value:
            raise ValueError(f"a secret in {name!r}: name it as credential, and write {SECRET} in its place")
    if follow.carry and (size := len(orjson.dumps(dict(follow.carry)))) > MOST_CARRIED:
        raise ValueError(f"{size:,} bytes are carried, at most {MOST_CARRIED:,}")
