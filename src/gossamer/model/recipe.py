"""A recipe with one job's parameters: everything the engine asks it, and everything it may ask the engine.

A recipe is pure and synchronous. It never fetches, sleeps or writes: it says where to start, how far to go, what a page
yields, and what all of it amounts to. It is bound once per job and process, so that anything expensive is built then.
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
"""Where a row lies among its like. Rows come in the order of their keys; `FIRST` is before all of them."""

FIRST: Key = b""

Cursor: TypeAlias = str
"""How far a conclusion is, in words of the recipe's own; `""` where it begins."""


class StoredRecord(NamedTuple):
    """A record as it was stored."""

    key: Key
    data: Mapping[str, Value]


class PageFacts(NamedTuple):
    """A page of a job and its state."""

    key: Key
    url: str
    state: PageState
    reason: str  # the name of a Reason; nothing for a page that was read
    http_status: int | None
    identity: bytes | None  # of the page it turned out to be
    depth: int
    step: str
    rung: str
    found_on: str
    settled_at: datetime | None


class Comparison(NamedTuple):
    """Which earlier job a job is compared with."""

    with_job: str = ""  # a job's id, `LAST_LIKE_IT`, or nothing
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
        """The records of a kind behind this key, in the order of their keys."""
        ...

    def pages(self, after: Key, limit: int) -> Sequence[PageFacts]:
        """The pages behind this key, in the order of their keys: those of a site lie together."""
        ...

    def has_pages(self, keys: Sequence[Key]) -> set[Key]:
        """Those of these keys that are pages of the job."""
        ...

    def baseline(self) -> "JobRows | None":
        """The concluded job that this one is compared with. It was chosen when the walk was over, and stays the same
        for as long as the job is tried again. None where there is none, or its rows were deleted meanwhile."""
        ...


class Concluded(NamedTuple):
    """A step of a conclusion: it is written as a whole, with its cursor, or not at all."""

    records: Sequence[Record]  # each takes the place of the one with its identity
    cursor: Cursor
    note: str = ""  # what is being done, for people: "comparing with the crawl of 11 Nov"
    done: int = 0
    total: int = 0


class Bound(Protocol):
    """A recipe with one job's parameters. Recipes derive from it and write what they need."""

    def seeds(self) -> Iterable[Follow]:
        """Addresses the parameters themselves name; the job's targets come on top of these."""
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
        """The recipe's own objection to a page that is otherwise fine. Of JSON documents it is the only judge."""
        return None

    def harvest(self, page: Page, doc: Document) -> Harvest:
        """Records and follows of one page. The same page gives the same harvest."""
        ...

    # Only of recipes that conclude (`Recipe.concludes`).

    def comparison(self) -> Comparison:
        """Which earlier job is the baseline."""
        return Comparison()

    def last_call(self, rows: JobRows) -> Iterable[Follow]:
        """Return pages to request when nothing is left to walk. Called once per generation.

        The records of these pages are kept, and none of their links are followed.
        """
        return ()

    def conclude(self, rows: JobRows, after: Cursor) -> Iterator[Concluded]:
        """Merge, compare and check the whole, from where the cursor says, in batches of some thousand records.

        It may be ended between any two batches, and is called again with the cursor of the last one that was written.
        The same rows give the same records.
        """
        return iter(())
