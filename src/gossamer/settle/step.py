"""Steps of a visit, which are written together with its lease."""

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

    `pending`: it waits for a retry. `climbing`: for one in the lane of its step.
    """

    page: Page
    state: PageState
    trouble: Trouble | None = None
    http_status: int | None = None
    identity: bytes | None = None  # key of the page that it is identical to, or was handed over as
    records: tuple[Record, ...] = ()
    bytes_in: int = 0
    links: bytes | None = None  # its links, packed by the frontier


@dataclass(frozen=True, slots=True)
class HandOver:
    """A page that belongs to another site. `entry`: it was the start URL of its site."""

    url: str
    depth: int
    entry: bool
    found_on: str
    times: int = 1  # number of hand-overs so far, to limit chains
    rung: str = DIRECT.name  # the first rung of the job
    lane: str = HOME_LANE  # and that rung's lane
    of: Page | None = None  # the original page, if a recipe requested it


@dataclass(frozen=True, slots=True)
class HandBack:
    """The end of a slice: the visit continues at `due_at`."""

    due_at: datetime


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a visit, with the outcome of its site."""

    state: SiteState
    trouble: Trouble | None = None
    retries: int = 0
    again: bool = False  # the earlier outcome of a site that was open only for pages after the crawl


@dataclass(frozen=True, slots=True)
class Rested:
    """The end of a visit in one lane. The outcome of the site is decided when all its lanes have ended."""


class Packable(Protocol):
    """Data of a visit that is stored as bytes; packed only if no later step of the batch replaces it."""

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
    """One action of a visit. Steps of a visit are written in order."""

    visit: Visit
    page: PageStep | None = None
    chosen: tuple[Page, ...] = ()
    handed: tuple[HandOver, ...] = ()
    opened: tuple[Opening, ...] = ()  # of other sites, or of other lanes of this one
    facts: SiteFacts | None = None
    ending: HandBack | Finished | Rested | None = None
    lesson: bool | None = None  # True if the page's rung worked, for jobs with several rungs
    lane: str = ""  # lane that receives the climbing page or the chosen ones; "": this one
    walked: float = 0.0  # seconds
    failed: bool | None = None  # True if the request for the page failed; None: no request
    charges: tuple[Charge, ...] = ()  # of its paid requests, which replace their reservations
