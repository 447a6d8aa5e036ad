"""A job at a glance: the parts that all recipes share, and the parts that a recipe adds.

The workbook, the report and the terminal all show this.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, TypeAlias
from uuid import UUID

from gossamer.billing.bill import Bill, read_bill
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.model.job import Job, Progress
from gossamer.model.states import OVER, PageState, SiteState
from gossamer.model.trouble import Reason
from gossamer.model.url import is_covered
from gossamer.recipes.base import TableQuery
from gossamer.store import counters, result_rows, sites

MOST_FAILED = 100  # domains that are named

# Pages read of a domain: up to so many.
SIZES = (0, 1, 10, 50, 500)

Fact: TypeAlias = "str | int | datetime"


@dataclass(frozen=True, slots=True)
class Overview:
    """A job as of one moment."""

    job: Job
    at: datetime
    progress: Progress
    reasons: tuple[tuple[Reason, int], ...]  # why domains failed, most frequent first
    sizes: tuple[tuple[str, int], ...]  # domains by pages read
    excluded: int  # domains left out on request
    since: Job | None = None
    bill: Bill | None = None  # None: nothing is said of costs
    failed: tuple[tuple[str, Reason | None], ...] = ()  # domains, in alphabetical order, the first of them

    @property
    def is_partial(self) -> bool:
        return self.job.state not in OVER


@dataclass(frozen=True, slots=True)
class FrequencyTable:
    """Frequencies of several things, in display order."""

    title: str
    counts: tuple[tuple[str, int], ...]
    meanings: tuple[tuple[str, str], ...] = ()  # of the names that need one


@dataclass(frozen=True, slots=True)
class ScreenTable:
    """The first lines of a ranking on the terminal: a name, numbers, and a text that may be cut."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    most: tuple[int, ...]  # the widths of the columns: what they may take
    least: tuple[int, ...]  # and what they must have


@dataclass(frozen=True, slots=True)
class ScreenSummary:
    """A recipe's part of `job summary`."""

    searched: str
    found: tuple[str, str]  # a label and a sentence
    counts: tuple[FrequencyTable, ...] = ()
    best: ScreenTable | None = None


@dataclass(frozen=True, slots=True)
class BestColumn:
    """A column of the ranking on the report page."""

    title: str
    kind: str = "number"  # or rank, score, name (a domain and a tag), mention (a text, the words in it, an address)
    label: str = ""  # of a number where the page is narrow


@dataclass(frozen=True, slots=True)
class Best:
    """The first lines of a ranking on the report page."""

    title: str
    explained: str
    columns: tuple[BestColumn, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class PageSummary:
    """A recipe's part of the report page."""

    about: str
    title: str  # follows the name of the job in the title of the window
    tiles: tuple[tuple[str, int], ...]
    searched: tuple[tuple[str, str], ...]
    counts: tuple[FrequencyTable, ...]
    best: Best


@dataclass(frozen=True, slots=True)
class FrontSheet:
    """A recipe's part of the first sheet of a workbook."""

    about: str
    searched: tuple[tuple[str, Fact], ...]
    found: tuple[tuple[str, int], ...]
    counts: tuple[FrequencyTable, ...]  # the first is drawn
    notes: tuple[str, ...]
    chart: str  # the title of the bars of the ranking: its second column by its third


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """A recipe's contribution to each section of `job summary --json`."""

    asked: Mapping[str, Any] = field(default_factory=dict)
    domains: Mapping[str, Any] = field(default_factory=dict)
    found: Mapping[str, Any] = field(default_factory=dict)
    best: Mapping[str, Any] = field(default_factory=dict)


async def read_overview(database: Database, asked: TableQuery) -> Overview:
    """Read the parts of the overview that all recipes share, as of now."""
    return await database.read(_read, asked)


def _read(tx: Tx, asked: TableQuery) -> Overview:
    places = result_rows.site_places(tx, asked.job.id)
    progress, reasons = counters.progress(tx, asked.job.id), sites.failure_reasons(tx, asked.job.id)
    left_out = [place for place in places if is_covered(place.host, asked.excluded)]
    if left_out:
        hosts = {place.host for place in left_out}
        progress, reasons = _without(tx, asked.job.id, progress, hosts)
        places = [place for place in places if place.host not in hosts]
    bill = read_bill(tx, asked.job, asked.prices, progress, left_out) if asked.prices else None
    failed = sites.failed_hosts(tx, asked.job.id, MOST_FAILED + len(left_out))
    named = [(host, why) for host, why in failed if not is_covered(host, asked.excluded)]
    sizes = by_size([place.pages_read for place in places])
    return Overview(
        job=asked.job,
        at=tx.now,
        progress=progress,
        reasons=tuple(reasons),
        sizes=sizes,
        excluded=len(left_out),
        since=asked.since,
        bill=bill,
        failed=tuple(named[:MOST_FAILED]),
    )


def _without(tx: Tx, job_id: UUID, whole: Progress, hosts: set[str]) -> tuple[Progress, list[tuple[Reason, int]]]:
    """Return a job's progress and failure reasons as if these sites had never been part of it.

    This keeps the numbers consistent with sheets that leave these sites out.
    """
    ends = sites.endings(tx, job_id)
    gone = Counter(state for host, state, _ in ends if host in hosts)
    pages, size = result_rows.pages_of(tx, job_id, sorted(hosts))
    seen = replace(
        whole,
        sites_total=whole.sites_total - gone.total(),
        sites_done=whole.sites_done - gone[SiteState.DONE],
        sites_failed=whole.sites_failed - gone[SiteState.FAILED],
        sites_partial=whole.sites_partial - gone[SiteState.PARTIAL],
        pages_done=whole.pages_done - pages[PageState.DONE],
        pages_failed=whole.pages_failed - pages[PageState.FAILED],
        pages_skipped=whole.pages_skipped - pages[PageState.SKIPPED],
        bytes_in=max(0, whole.bytes_in - size),
    )
    failed = ((host, why) for host, state, why in ends if state is SiteState.FAILED)
    reasons = Counter(why for host, why in failed if why and host not in hosts)
    return seen, sorted(reasons.items(), key=lambda one: (-one[1], one[0].name))


def by_size(pages_read: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """Count domains by the number of their pages read; ranges above the largest are left out."""
    names = ["none", "1", *(f"{low + 1}-{high}" for low, high in pairwise(SIZES[1:]))]
    counted = Counter(next((at for at, most in enumerate(SIZES) if pages <= most), len(SIZES)) for pages in pages_read)
    found = [(name, counted[at]) for at, name in enumerate([*names, f"over {SIZES[-1]}"])]
    while found and not found[-1][1]:
        found.pop()
    return tuple(found)
