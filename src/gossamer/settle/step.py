"""Steps of a visit that are to be written, always together with its lease."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from gossamer.model.money import Charge
from gossamer.model.page import Errand, Page, Visit
from gossamer.model.record import Record
from gossamer.model.rungs import DIRECT, HOME_LANE
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Trouble
from gossamer.store.openings import Opening
from gossamer.store.robots import RobotsAnswer


class PageStep(NamedTuple):
    """New state of a page.

    `pending`: it waits for a retry. `climbing`: for one in the lane its step names.
    """

    page: Page
    state: PageState
    trouble: Trouble | None = None
    http_status: int | None = None
    identity: bytes | None = None  # of the page it turned out to be, or that it was passed on as
    records: tuple[Record, ...] = ()
    bytes_in: int = 0
    links: bytes | None = None  # where it leads, as the frontier packed it


@dataclass(frozen=True, slots=True)
class HandOver:
    """A page that turned out to belong to another site. `entry`: it was where its site begins."""

    url: str
    depth: int
    entry: bool
    found_on: str
    times: int = 1  # hand-overs behind it, this one included: a chain of them must end
    rung: str = DIRECT.name  # it begins with, as all pages of the job do
    lane: str = HOME_LANE  # and that rung's lane
    of: Page | None = None  # the page it was, where a recipe has asked for it


@dataclass(frozen=True, slots=True)
class HandBack:
    """The slice is over, the visit is not: it may go on at `due_at`."""

    due_at: datetime


@dataclass(frozen=True, slots=True)
class Finished:
    """The visit is over and says how its site came out."""

    state: SiteState
    trouble: Trouble | None = None
    retries: int = 0
    again: bool = False  # it had ended so before, and was open only for what is asked for last


@dataclass(frozen=True, slots=True)
class Rested:
    """There is nothing left to do in this lane. What becomes of the site is decided when all its lanes are through."""


class Packable(Protocol):
    """Something a visit wants kept as bytes; packed only if no later step replaces it in the same batch."""

    def pack(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """Current facts about the visit's site. None: unchanged."""

    notes: Packable | None = None
    robots: Mapping[str, Any] | None = None
    answers: tuple[RobotsAnswer, ...] = ()  # new ones, for other jobs to share
    not_before: datetime | None = None
    size: int | None = None
    size_source: str | None = None
    errands: tuple[Errand, ...] | None = None


@dataclass(slots=True)
class Step:
    """One thing a visit did. Steps of a visit are written in the order they were made."""

    visit: Visit
    page: PageStep | None = None
    chosen: tuple[Page, ...] = ()
    handed: tuple[HandOver, ...] = ()
    opened: tuple[Opening, ...] = ()  # of other sites, or of other lanes of this one
    facts: SiteFacts | None = None
    ending: HandBack | Finished | Rested | None = None
    lesson: bool | None = None  # whether the page's rung got what there was, for a job that has several
    lane: str = ""  # whose visit gets the page that climbs, or those that were chosen; nothing: this one
    walked: float = 0.0  # seconds
    failed: bool | None = None  # whether the request for the page brought none; None: nothing was requested
    charges: tuple[Charge, ...] = ()  # what its paid requests have cost, each in place of its reservation
