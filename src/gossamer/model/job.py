"""Jobs: the request of a user, its estimated cost, and its progress."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from gossamer.model.account import DEFAULT, Bill
from gossamer.model.money import Cap
from gossamer.model.rungs import Ladder
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
    expected: int = 0  # the middle of the estimate before it ran; 0: there was none
    paying: int | None = None  # number of its sites that cost something; None: no longer known


class Probed(NamedTuple):
    """Results of fetching some homepages in advance."""

    asked: int
    climbing: int  # not readable with a plain request
    gone: int  # cost nothing: the site does not exist or may not be read


class TrackRecord(NamedTuple):
    """Accuracy of past estimates: how many of the ended jobs cost what was estimated."""

    inside: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated range: `low` to `high` credits, and dollars in millionths; rounded for display."""

    like: Comparable
    sites: int
    expected: int  # credits: the middle, before the correction by past errors
    low: int
    high: int
    low_micros: int
    high_micros: int
    known: int = 0  # number of the sites that earlier jobs have met
    similar: int = 0  # number of past jobs it is based on
    probed: Probed | None = None


class CheckpointCause(StrEnum):
    VISITS = "visits"  # enough visits have ended since the last checkpoint
    PAUSE = "pause"
    SHUTDOWN = "shutdown"  # of the runner, while the job was running
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


WHOLE_UP_TO, TOP_PAGES = 500, 50  # defaults


@dataclass(frozen=True, slots=True)
class CrawlPolicy:
    """Rules by which a job crawls its sites."""

    ladder: Ladder = Ladder()
    pages_per_site: int = WHOLE_UP_TO  # sites with up to this many pages are crawled completely
    top_pages: int = TOP_PAGES  # number of pages read of a larger site
    depth: int = 50
    include: tuple[str, ...] = ()  # patterns of path and query; empty: everything
    exclude: tuple[str, ...] = ()
    visit_time: timedelta = timedelta(minutes=30)
    as_given: bool = False  # the pages were listed one by one, and each has a result of its own
    per_address: bool = False  # every URL is a page of its own, whatever its canonical URL
    any_kind: bool = False  # responses that are not web pages are accepted too
    json: bool = False  # responses are data: page checks are skipped, only the recipe judges them
    timeout: timedelta | None = None  # of a direct request; None: the operator's
    max_concurrency: int | None = None  # upper limit of concurrent sites, whatever the job requests


@dataclass(frozen=True, slots=True)
class Target:
    """One site that a user listed: the text as written and the start URLs in the order they are tried.

    With `pages`, only these pages of the site are read: no homepage, no sitemap, no links.
    """

    host: str
    entries: tuple[str, ...]
    given: str
    pages: tuple[str, ...] = ()
    places: tuple[int, ...] = ()  # positions of the pages in the whole list; empty: in this order


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Request for a job, built in the same way by the CLI, the API and the dashboard."""

    name: str
    recipe: str
    params: Mapping[str, Any]
    targets: tuple[Target, ...]
    start: bool = True
    submit_key: str = ""  # idempotency key: the same request twice under one key is one job
    priority: Priority = Priority.NORMAL
    cap: Cap = Cap()  # spending limits set by the user
    estimate: Estimate | None = None  # the estimate shown to the user, if any
    account: str = DEFAULT  # owner
    bill: Bill | None = None  # accounting data, for requests through the API
    max_concurrency: int | None = None  # concurrent sites, and so requests in flight; None: no limit of its own
    sealed_keys: Mapping[str, bytes] = field(
        default_factory=dict, repr=False
    )  # encrypted provider keys of its own, by provider
    usual_credits: int | None = None  # default credit limit, where the user set none

    @property
    def limit(self) -> Cap:
        """The effective spending limit."""
        return self.cap if self.cap.credits is not None else replace(self.cap, credits=self.usual_credits)


class Given(StrEnum):
    """The input of a job besides its parameters."""

    SITES = "sites"  # to be crawled
    PAGES = "pages"  # to be fetched, each with a result of its own
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Extent:
    """Extent of a job's crawl and the unit of its progress, as its recipe set them at its creation."""

    names_pages: bool = False  # its pages were given, and each has a result of its own
    in_pages: bool = False  # progress is counted in pages instead of sites
    whole_up_to: int = WHOLE_UP_TO  # maximum pages of a site that is read completely
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
    max_concurrency: int | None = None  # as requested
    extent: Extent = Extent()


@dataclass(frozen=True, slots=True)
class Ahead:
    """Remaining pages of a running job, estimated from its open sites."""

    pages: int = 0  # known and not yet read, of sites that were visited
    unread: int = 0  # sites not visited yet
    pages_unread: int = 0  # their expected pages, by the average of the other sites
    longest: timedelta = timedelta()  # time needed for the longest queue of a domain at its request spacing
    growing: bool = False  # a site may have more pages than are known, because they are found by links


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a job by its counters: a few rows, however large the job is."""

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
    window: timedelta = timedelta(minutes=15)  # how long the job has run in the last 15 minutes
    pages_recently: int = 0  # ended in the last minutes
    pages_window: timedelta = timedelta(minutes=3)  # the length of that time window
    last_activity: datetime | None = None
    ahead: Ahead | None = None  # for running jobs, if requested
    doing: str = ""  # current phase after the crawl, for recipes that conclude

    @property
    def sites_finished(self) -> int:
        return self.sites_done + self.sites_failed + self.sites_partial

    @property
    def pages_ended(self) -> int:
        return self.pages_done + self.pages_failed + self.pages_skipped

    @property
    def pages_expected(self) -> int:
        """The expected total of pages that the job reads or gives up."""
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
