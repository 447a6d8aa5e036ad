"""Pages given one by one: their rows, which exist from the creation of the job, and their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import repeat
from typing import Any
from uuid import UUID

from gossamer.db.transactions import Tx
from gossamer.model.job import Target
from gossamer.model.page import ASKED_AGAIN, Page
from gossamer.model.rungs import HOME_LANE, Rung
from gossamer.model.states import PageState
from gossamer.model.trouble import NO_WAY_IN, Reason, Trouble
from gossamer.model.url import url_key
from gossamer.store import history, pages, records, visits
from gossamer.store.history import PageHistory
from gossamer.store.visits import VisitChange


def give_pages(
    tx: Tx, job_id: UUID, targets: Sequence[Target], created: Sequence[tuple[UUID, UUID]], first: Rung
) -> None:
    """Give new sites the pages of their targets, to be requested on this rung.

    `created` are the sites and visits made for the targets. The job's counters have included these pages since
    it was created.
    """
    rows = []
    for target, (site_id, home) in zip(targets, created, strict=True):
        if not target.pages:
            continue
        visit_id = home if first.lane == HOME_LANE else _move(tx, site_id, home, first.lane, len(target.pages))
        for rank, url in zip(target.places or range(len(target.pages)), target.pages, strict=True):
            page = Page(url, url_key(url), 0, first.name, rank=rank)
            rows.append(pages.chosen_row(job_id, site_id, visit_id, page))
    pages.choose(tx, rows)


def _move(tx: Tx, site_id: UUID, home: UUID, lane: str, count: int) -> UUID:
    """Move the pages of a site to its visit in another lane."""
    visits.meet(tx, [(site_id, lane)])
    visit_id = visits.reopen(tx, site_id, lane, "its pages were listed")
    visits.apply(tx, {home: VisitChange(open_pages=-count), visit_id: VisitChange(open_pages=count)})
    return visit_id


_MOST_MOVES = 6  # hand-overs between sites: more than the crawler follows


@dataclass(frozen=True, slots=True)
class ScrapedPage:
    """One URL of a job and its result."""

    url: str  # normalised
    state: PageState
    trouble: Trouble | None = None
    http_status: int | None = None
    tries: int = 0
    settled_at: datetime | None = None
    data: Mapping[str, Any] = field(default_factory=dict)  # its record
    page_key: bytes = b""  # of the final page: its files are stored under this key
    place: str = ""  # position in the order of `after`
    listed: int = 0  # its position in the user's list

    @property
    def error(self) -> str:
        """The reason why there is no result, as a sentence; "" while there may be one."""
        return self.trouble.sentence if self.trouble and self.state in (PageState.FAILED, PageState.SKIPPED) else ""

    @property
    def reason(self) -> str:
        """The name of the Reason behind `error`."""
        return self.trouble.reason.name if self.error and self.trouble else ""


@dataclass(frozen=True, slots=True)
class ScrapedPages:
    """Some results of a job, and the position of the next ones; "" after the last."""

    pages: list[ScrapedPage]
    next: str = ""


def at(tx: Tx, job_id: UUID, kind: str, urls: Sequence[str]) -> list[ScrapedPage]:
    """Return the results of these normalised URLs, as far as the job was given them, in their order."""
    by_key = {page.key: page for page in history.pages_at(tx, job_id, [url_key(url) for url in urls])}
    asked = [by_key[key] for url in urls if (key := url_key(url)) in by_key]
    return _read(tx, job_id, kind, asked)


def after(tx: Tx, job_id: UUID, kind: str, place: str, limit: int) -> ScrapedPages:
    """Return the next results, in a constant order in which pages of a site are adjacent."""
    given = history.given_pages(tx, job_id, bytes.fromhex(place), limit + 1)
    more = len(given) > limit
    # A page that was read but has no record was erased, so it is left out.
    asked = _without_other_spellings(tx, job_id, given[:limit])
    found = [page for page in _read(tx, job_id, kind, asked) if page.data or page.state is not PageState.DONE]
    return ScrapedPages(found, given[limit - 1].key.hex() if more else "")


def failed_after(tx: Tx, job_id: UUID, place: str, limit: int) -> ScrapedPages:
    """Return the next failed pages; fewer than `limit` if some were found at another URL."""
    given = history.given_pages(tx, job_id, bytes.fromhex(place), limit + 1, (PageState.FAILED, PageState.SKIPPED))
    some = _without_other_spellings(tx, job_id, given[:limit])
    ends = _followed(tx, job_id, some)
    found = [page for page in map(_page, some, ends, repeat({})) if page.error]
    return ScrapedPages(found, given[limit - 1].key.hex() if len(given) > limit else "")


def _read(tx: Tx, job_id: UUID, kind: str, asked: Sequence[PageHistory]) -> list[ScrapedPage]:
    ends = _followed(tx, job_id, asked)
    keys = [records.key_of((end.url,), end.key) for end in ends if end.state is PageState.DONE]
    rows = {row["url"]: row for row in records.by_keys(tx, job_id, kind, keys)} if keys else {}
    return [_page(page, end, rows.get(end.url, {})) for page, end in zip(asked, ends, strict=True)]


def _followed(tx: Tx, job_id: UUID, asked: Sequence[PageHistory]) -> list[PageHistory]:
    """Return each page, or the page of another site that it redirects to."""
    ends = _spelled_otherwise(tx, job_id, asked)
    for _ in range(_MOST_MOVES):
        moved = {end.identity for end in ends if _is_moved(end) and end.identity}
        known = {page.key: page for page in history.pages_at(tx, job_id, sorted(moved))} if moved else {}
        if not known:
            break
        ends = [known.get(end.identity or b"", end) if _is_moved(end) else end for end in ends]
    return ends


def _without_other_spellings(tx: Tx, job_id: UUID, some: Sequence[PageHistory]) -> list[PageHistory]:
    """Leave out URLs that were only tried because the listed spelling did not work."""
    known = history.spellings(tx, job_id, [page.key for page in some])
    return [page for page in some if page.url not in known.get(page.key, ())[1:]]


def _spelled_otherwise(tx: Tx, job_id: UUID, asked: Sequence[PageHistory]) -> list[PageHistory]:
    """Return each page; if its URL did not work, the spelling that was read or is still being tried."""
    lost = [page.key for page in asked if _led_nowhere(page)]
    known = history.spellings(tx, job_id, lost) if lost else {}
    if not known:
        return list(asked)
    keys = {url_key(url) for entries in known.values() for url in entries}
    tried = {page.url: page for page in history.pages_at(tx, job_id, sorted(keys))}
    return [_best([page, *(tried[url] for url in known.get(page.key, ()) if url in tried)]) for page in asked]


def _led_nowhere(page: PageHistory) -> bool:
    ended = page.state in (PageState.FAILED, PageState.SKIPPED)
    return ended and page.trouble is not None and page.trouble.reason in NO_WAY_IN


def _best(spelled: Sequence[PageHistory]) -> PageHistory:
    """Return the best version of a page: one that was read, else an open one, else one that was answered.

    If there is none of these, a failed one.
    """
    for state in (PageState.DONE, PageState.PENDING, PageState.CLIMBING):
        for page in spelled:
            if page.state is state:
                return page
    answered = [page for page in spelled if not _led_nowhere(page)]
    failed = [page for page in spelled if page.state is PageState.FAILED]
    return (answered or failed or list(spelled))[0]


def _is_moved(page: PageHistory) -> bool:
    return page.state is PageState.SKIPPED and page.trouble is not None and page.trouble.reason is Reason.MOVED


def _page(asked: PageHistory, end: PageHistory, data: Mapping[str, Any]) -> ScrapedPage:
    attempts = asked.attempts if asked is end else (*asked.attempts, *end.attempts)
    return ScrapedPage(
        asked.url,
        end.state,
        end.trouble,
        end.http_status,
        sum(attempt.rung != ASKED_AGAIN for attempt in attempts),
        end.settled_at,
        {**data, "url": asked.url} if data else {},
        end.key,
        asked.key.hex(),
        asked.rank,
    )
