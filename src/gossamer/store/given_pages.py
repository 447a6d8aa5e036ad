"""Pages that were given one by one: rows from the moment their job is created, and what came of each."""

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
from gossamer.store import history, lanes, pages, records, visits
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
    """The site's visit in another lane gets its pages."""
    lanes.meet(tx, [(site_id, lane)])
    visit_id = visits.reopen(tx, site_id, lane, "its pages were listed")
    visits.apply(tx, {home: VisitChange(open_pages=-count), visit_id: VisitChange(open_pages=count)})
    return visit_id


_MOST_MOVES = 6  # from site to site: more than any page is passed on


@dataclass(frozen=True, slots=True)
class ScrapedPage:
    """One address of a job and what came of it."""

    url: str  # in its one spelling
    state: PageState
    trouble: Trouble | None = None
    http_status: int | None = None
    tries: int = 0
    settled_at: datetime | None = None
    data: Mapping[str, Any] = field(default_factory=dict)  # its record
    page_key: bytes = b""  # of the page it is in the end: under this its files lie
    place: str = ""  # in the order of `after`
    listed: int = 0  # its place in the list of the person

    @property
    def error(self) -> str:
        """The reason why there is no result, as a sentence; "" while there may be one."""
        return self.trouble.sentence if self.trouble and self.state in (PageState.FAILED, PageState.SKIPPED) else ""

    @property
    def reason(self) -> str:
        """The name of what `error` says."""
        return self.trouble.reason.name if self.error and self.trouble else ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Some results of a job, and where the next ones begin; nothing if these were the last."""

    pages: list[ScrapedPage]
    next: str = ""


def at(tx: Tx, job_id: UUID, kind: str, urls: Sequence[str]) -> list[ScrapedPage]:
    """Those of normalised addresses that the job was given, in their order, with their records of a kind."""
    by_key = {page.key: page for page in history.pages_at(tx, job_id, [url_key(url) for url in urls])}
    asked = [by_key[key] for url in urls if (key := url_key(url)) in by_key]
    return _read(tx, job_id, kind, asked)


def after(tx: Tx, job_id: UUID, kind: str, place: str, limit: int) -> Listing:
    """The next ones in an order that never changes: the pages of a site lie together."""
    given = history.given_pages(tx, job_id, bytes.fromhex(place), limit + 1)
    more = len(given) > limit
    # A page that was read and has no record was taken out by somebody: it is none of the results.
    asked = _without_other_spellings(tx, job_id, given[:limit])
    found = [page for page in _read(tx, job_id, kind, asked) if page.data or page.state is not PageState.DONE]
    return Listing(found, given[limit - 1].key.hex() if more else "")


def failed_after(tx: Tx, job_id: UUID, place: str, limit: int) -> Listing:
    """The next ones that could not be had. Of so many that may be, some have been found elsewhere: then it is fewer."""
    given = history.given_pages(tx, job_id, bytes.fromhex(place), limit + 1, (PageState.FAILED, PageState.SKIPPED))
    some = _without_other_spellings(tx, job_id, given[:limit])
    ends = _followed(tx, job_id, some)
    found = [page for page in map(_page, some, ends, repeat({})) if page.error]
    return Listing(found, given[limit - 1].key.hex() if len(given) > limit else "")


def _read(tx: Tx, job_id: UUID, kind: str, asked: Sequence[PageHistory]) -> list[ScrapedPage]:
    ends = _followed(tx, job_id, asked)
    keys = [records.key_of((end.url,), end.key) for end in ends if end.state is PageState.DONE]
    rows = {row["url"]: row for row in records.by_keys(tx, job_id, kind, keys)} if keys else {}
    return [_page(page, end, rows.get(end.url, {})) for page, end in zip(asked, ends, strict=True)]


def _followed(tx: Tx, job_id: UUID, asked: Sequence[PageHistory]) -> list[PageHistory]:
    """Each page, or the one that a redirect to another site has made of it."""
    ends = _spelled_otherwise(tx, job_id, asked)
    for _ in range(_MOST_MOVES):
        moved = {end.identity for end in ends if _is_moved(end) and end.identity}
        known = {page.key: page for page in history.pages_at(tx, job_id, sorted(moved))} if moved else {}
        if not known:
            break
        ends = [known.get(end.identity or b"", end) if _is_moved(end) else end for end in ends]
    return ends


def _without_other_spellings(tx: Tx, job_id: UUID, some: Sequence[PageHistory]) -> list[PageHistory]:
    """Without addresses that were only tried because the one that was listed led nowhere."""
    known = history.spellings(tx, job_id, [page.key for page in some])
    return [page for page in some if page.url not in known.get(page.key, ())[1:]]


def _spelled_otherwise(tx: Tx, job_id: UUID, asked: Sequence[PageHistory]) -> list[PageHistory]:
    """Each page; for one whose address led nowhere, the spelling of it that was read, or is still tried."""
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
