"""One URL of a job and where it stands; one site; one visit: what a worker holds while it walks."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from gossamer.model.fetching import DIRECT
from gossamer.model.states import PageState
from gossamer.model.url import url_key


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try on one rung, as the page remembers it."""

    rung: str
    status: int | None
    reason: str  # name of a Reason, or "" for success
    milliseconds: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """One URL of a job."""

    url: str
    key: bytes
    depth: int
    rung: str = DIRECT.name
    state: PageState = PageState.PENDING
    due_at: datetime | None = None
    attempts: tuple[Attempt, ...] = ()
    found_on: str = ""
    rank: int = 0  # place in its level
    handed: int = 0  # how many sites passed it on; 0: found on its own

    @classmethod
    def at(cls, url: str, depth: int = 0, *, found_on: str = "", rank: int = 0, handed: int = 0) -> "Page":
        return cls(url=url, key=url_key(url), depth=depth, found_on=found_on, rank=rank, handed=handed)

    @property
    def tries(self) -> int:
        """Attempts on the present rung."""
        return sum(attempt.rung == self.rung for attempt in self.attempts)

    def tried(self, attempt: Attempt) -> "Page":
        return replace(self, attempts=(*self.attempts, attempt))

    def due(self, at: datetime) -> "Page":
        return replace(self, due_at=at)


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
