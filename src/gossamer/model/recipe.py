"""The interface between the engine and a recipe that is bound to one job's parameters.

A recipe is pure and synchronous: it never fetches, sleeps or writes. It decides where a crawl starts, how far it goes,
and which results pages have. It is bound once per job and process, so expensive parts are built then.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeAlias
from uuid import UUID

from gossamer.model.document import Document
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page
from gossamer.model.record import FIRST_STEP, Follow, Harvest, Record, Value
from gossamer.model.states import PageState
from gossamer.model.trouble import Trouble

Key: TypeAlias = bytes
"""Position of a row. Rows are ordered by key; `FIRST` is before all of them."""

FIRST: Key = b""

Cursor: TypeAlias = str
"""Progress of a conclusion, in a form of the recipe's choice; `""` at the beginning."""


class StoredRecord(NamedTuple):
    """A record as it was stored."""

    key: Key
    data: Mapping[str, Value]


class PageFacts(NamedTuple):
    """A page of a job and its state."""

    key: Key
    url: str
    state: PageState
    reason: str  # the name of a Reason; "" for a page that was read
    http_status: int | None
    identity: bytes | None  # of the page it turned out to be
    depth: int
    step: str
    rung: str
    found_on: str
    settled_at: datetime | None


class Comparison(NamedTuple):
    """Baseline selection: the earlier job that a job is compared with."""

    with_job: str = ""  # a job's id, `LAST_LIKE_IT`, or ""
    comparable: bool = True  # whether later jobs may be compared with this one


LAST_LIKE_IT = "last"
"""The newest earlier job of the account and recipe that was concluded and had the same first site."""


class JobRows(Protocol):
    """The rows of a job. Each call is one short read of at most `limit` rows."""

    @property
    def job_id(self) -> UUID: ...

    @property
    def created_at(self) -> datetime: ...

    def records(self, kind: str, after: Key, limit: int) -> Sequence[StoredRecord]:
        """Return records of a kind after this key, ordered by key."""
        ...

    def pages(self, after: Key, limit: int) -> Sequence[PageFacts]:
        """Return pages after this key, ordered by key, so that pages of a site are adjacent."""
        ...

    def has_pages(self, keys: Sequence[Key]) -> set[Key]:
        """Return which of these keys are pages of the job."""
        ...

    def baseline(self) -> "JobRows | None":
        """Return the concluded job that this one is compared with; None if there is none, or its rows were deleted.

        It is chosen at the end of the crawl and stays the same when the job is retried.
        """
        ...


class Concluded(NamedTuple):
    """A step of a conclusion, written together with its cursor in one transaction."""

    records: Sequence[Record]  # each replaces the record with the same identity
    cursor: Cursor
    note: str = ""  # progress message: "comparing with the crawl of 11 Nov"
    done: int = 0
    total: int = 0


class Bound(Protocol):
    """A recipe with one job's parameters. Recipes derive from it and override what they need."""

    def seeds(self) -> Iterable[Follow]:
        """Return URLs given by the parameters, in addition to the job's targets."""
        return ()

    def policy(self, step: str = FIRST_STEP) -> CrawlPolicy:
        """Return the rules for reading the pages of a step: ladder, number, depth.

        Called once per step, job and process.
        """
        ...

    def rules(self) -> Mapping[str, Any]:
        """Extraction rules, run for `Document.fields` before `accept` and `harvest`; may be empty."""
        return {}

    def accept(self, page: Page, doc: Document) -> Trouble | None:
        """Return the recipe's objection to a page that passed all checks; for JSON documents the only check."""
        return None

    def harvest(self, page: Page, doc: Document) -> Harvest:
        """Return the records and follows of one page. The same page must give the same result."""
        ...

    # Only of recipes that conclude (`Recipe.concludes`).

    def comparison(self) -> Comparison:
        """Return the baseline to compare with."""
        return Comparison()

    def last_call(self, rows: JobRows) -> Iterable[Follow]:
        """Return further pages to request after the crawl. Called once per generation.

        The records of these pages are kept, and none of their links are followed.
        """
        return ()

    def conclude(self, rows: JobRows, after: Cursor) -> Iterator[Concluded]:
        """Compute results from all rows, starting at the cursor, in batches of some thousand records.

        It may be stopped between two batches, and is then called again with the cursor of the last stored batch.
        The same rows must give the same records.
        """
        return iter(())
