"""A job: what a user asked, what it was estimated to cost, and how far it has come."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from gossamer.model.account import DEFAULT, Bill
from gossamer.model.ladders import Ladder
from gossamer.model.money import Cap
from gossamer.model.states import JobState


class Priority(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @property
    def weight(self) -> int:
        return _WEIGHTS[self]


_WEIGHTS = {Priority.HIGH: 4, Priority.NORMAL: 2, Priority.LOW: 1}


@dataclass(frozen=True, slots=True)
class Comparable:
    """Properties in which jobs must agree for their costs to be comparable."""

    recipe: str
    ladder: tuple[str, ...]
    pages_per_site: int
    top_pages: int


class Past(NamedTuple):
    """Costs of a job that has ended."""

    sites: int
    credits: int
    expected: int = 0  # the middle of what was thought before; 0: there was nothing to go by then
    paying: int | None = None  # of its sites, those that cost something; None: not known any more


class Probed(NamedTuple):
    """Results of fetching some homepages in advance."""

    asked: int
    climbing: int  # a plain request does not get them
    gone: int  # nobody will pay for them: there is no such site, or it does not want to be read


class TrackRecord(NamedTuple):
    """How good estimates have been: of so many jobs that have ended, so many cost what was said."""

    inside: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated range: `low` to `high` credits, and dollars in millionths; rounded for display."""

    like: Comparable
    sites: int
    expected: int  # credits: the middle, before past mistakes are made good
    low: int
    high: int
    low_micros: int
    high_micros: int
    known: int = 0  # of the sites, those that earlier jobs have met
    similar: int = 0  # jobs it goes by
    probed: Probed | None = None


class CheckpointCause(StrEnum):
    VISITS = "visits"  # enough of them have ended since the last one
    PAUSE = "pause"
    SHUTDOWN = "shutdown"  # of the runner, with the job still running
    END = "end"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    at: datetime
    cause: CheckpointCause
    state: JobState
    sites_total: int
    sites_done: int
    sites_failed: int
    sites_partial: int
    pages_done: int
    pages_failed: int
    pages_skipped: int
    records: int
    last_at: datetime | None  # when the counters had last changed

    @property
    def sites_finished(self) -> int:
        return self.sites_done + self.sites_failed + self.sites_partial


WHOLE_UP_TO, TOP_PAGES = 500, 50  # where a job says nothing else


@dataclass(frozen=True, slots=True)
class CrawlPolicy:
    """Rules by which a job crawls its sites."""

    ladder: Ladder = Ladder()
    pages_per_site: int = WHOLE_UP_TO  # a site of up to so many pages is walked whole
    top_pages: int = TOP_PAGES  # and of a larger one so many are read
    depth: int = 50
    include: tuple[str, ...] = ()  # patterns of path and query; nothing: everything
    exclude: tuple[str, ...] = ()
    visit_time: timedelta = timedelta(minutes=30)
    as_given: bool = False  # the pages were listed, and each is a result of its own
    per_address: bool = False  # every address is a page of its own, whatever other address it says to be the same as
    any_kind: bool = False  # also what is no web page
    json: bool = False  # answers are data: no page is looked for in them, and the recipe alone judges them
    timeout: timedelta | None = None  # of a direct request; None: the operator's
    at_once: int | None = None  # sites walked at a time at most, whatever the job asks for


@dataclass(frozen=True, slots=True)
class Target:
    """One site a user named: what they wrote and the addresses to start from, tried in this order.

    With `pages`, exactly these of the site are read and nothing else: no homepage, no sitemap, no link is followed.
    """

    host: str
    entries: tuple[str, ...]
    given: str
    pages: tuple[str, ...] = ()
    places: tuple[int, ...] = ()  # of the pages in the list they are from, over all its sites; nothing: as they stand


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Request for a job, built in the same way by the CLI, the API and the dashboard."""

    name: str
    recipe: str
    params: Mapping[str, Any]
    targets: tuple[Target, ...]
    start: bool = True
    submit_key: str = ""  # the submitter's own: the same request twice under one key is one job
    priority: Priority = Priority.NORMAL
    cap: Cap = Cap()  # what it may spend, as far as somebody has said so
    estimate: Estimate | None = None  # what it was said to cost, if anything
    account: str = DEFAULT  # whose it is
    bill: Bill | None = None  # what is written down of it, where somebody else asks for it
    at_once: int | None = None  # sites walked at a time, and so requests in flight; None: as many as there is room for
    sealed_keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)  # its own to providers, by their names
    usual_credits: int | None = None  # what it may spend of them where it was given no limit

    @property
    def limit(self) -> Cap:
        """The effective spending limit."""
        return self.cap if self.cap.credits is not None else replace(self.cap, credits=self.usual_credits)


class Given(StrEnum):
    """The input of a job besides its parameters."""

    SITES = "sites"  # to be walked
    PAGES = "pages"  # to be fetched, each with a result of its own
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Extent:
    """Extent of a job's crawl and the unit of its progress, as its recipe set them at its creation."""

    names_pages: bool = False  # it was given its pages, each of which has a result of its own
    in_pages: bool = False  # progress is counted in pages, and not in sites
    whole_up_to: int = WHOLE_UP_TO  # pages of a site that is read whole
    top_pages: int = TOP_PAGES  # pages read of a larger one


@dataclass(frozen=True, slots=True)
class Job:
    id: UUID
    name: str
    recipe: str
    params: Mapping[str, Any]
    state: JobState
    reason: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    priority: Priority = Priority.NORMAL
    at_once: int | None = None  # as it was asked for
    extent: Extent = Extent()


@dataclass(frozen=True, slots=True)
class Ahead:
    """Remaining pages of a running job, estimated from its open sites."""

    pages: int = 0  # known and not read yet, of sites of which something is known
    unread: int = 0  # sites of which nothing is known yet
    pages_unread: int = 0  # what those are expected to have, by the average of the others
    longest: timedelta = timedelta()  # the longest queue of one domain, at the domain's own spacing
    growing: bool = False  # a site may have more pages than are known: they are found link by link


@dataclass(frozen=True, slots=True)
class Progress:
    """Kept counters of a job: read in a few rows however large the job is."""

    sites_total: int = 0
    sites_done: int = 0
    sites_failed: int = 0
    sites_partial: int = 0
    pages_done: int = 0
    pages_failed: int = 0
    pages_skipped: int = 0
    pages_open: int = 0
    records: int = 0
    bytes_in: int = 0
    sites_recently: int = 0  # finished in the window
    window: timedelta = timedelta(minutes=15)  # how much of the last 15 minutes the job has really run
    pages_recently: int = 0  # ended in the last minutes
    pages_window: timedelta = timedelta(minutes=3)  # and how many minutes that are
    last_activity: datetime | None = None
    ahead: Ahead | None = None  # of a job that runs, for who has asked for it
    doing: str = ""  # what is done when everything was read, by a recipe that concludes

    @property
    def sites_finished(self) -> int:
        return self.sites_done + self.sites_failed + self.sites_partial

    @property
    def pages_ended(self) -> int:
        return self.pages_done + self.pages_failed + self.pages_skipped

    @property
    def pages_expected(self) -> int:
        """All pages the job will have read or given up, as far as can be said."""
        ahead = self.ahead
        return self.pages_ended + (ahead.pages + ahead.pages_unread if ahead else self.pages_open)

    @property
    def pages_per_minute(self) -> float:
        return self.pages_recently / self.pages_window.total_seconds() * 60

    @property
    def left(self) -> timedelta | None:
        """Estimated remaining time; None while the pace is unknown.

        The larger of two times: all pages at the present rate, and the longest queue of a domain at its own
        spacing.
        """
        if self.ahead is None or self.sites_finished >= self.sites_total or not self.pages_recently:
            return None
        rest = self.pages_expected - self.pages_ended
        return max(timedelta(minutes=rest / self.pages_per_minute), self.ahead.longest)

    @property
    def left_is_least(self) -> bool:
        """True if `left` is only a lower bound: some sites may have more pages than are known."""
        return self.ahead is not None and (self.ahead.unread > 0 or self.ahead.growing)

    def of(self, job: Job) -> tuple[int, int]:
        """Return how many of a job's targets have ended, and their total.

        The targets are its pages, with the few that redirects have led to, or its sites.
        """
        if job.extent.in_pages:
            return self.pages_ended, self.pages_ended + self.pages_open
        return self.sites_finished, self.sites_total
