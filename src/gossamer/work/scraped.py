"""What came of the addresses of a scrape job: read from the rows, one by one or page by page.

For doors that show results (`intake.scrape` is for those that submit):

    one = await read_result(app.database, job_id, "https://example.com/a")   # None: not an address of this job
    some = await read_results(app.database, job_id, urls)                    # in their order, those that are known
    listing = await results_after(app.database, job_id, after, 100)          # all of a job; `listing.next` goes on
    one = await with_files(app.page_files(), job_id, one)                    # puts html and raw in, while they last

A `ScrapedPage` says how it stands with one address whatever its state: `pending`, `done`, `failed` or `skipped` (its
time was up), `error` is a sentence and `reason` the name of its Reason. An address that redirects to another site is
as far as the page it led to. `data` is the record of a page that is done:

    url final_url http_status crawl_method timestamp content_type bytes title language    always
    text markdown links metadata structured extract                                      those that were asked for
    files                                                                                names of what is in files
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from gossamer.blobs.page_files import PageFiles
from gossamer.model.page import ASKED_AGAIN
from gossamer.model.states import PageState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import normalise, url_key
from gossamer.parse.decode import decode
from gossamer.store import history, record_lines, records
from gossamer.store.database import Database
from gossamer.store.history import PageHistory
from gossamer.store.tx import Tx
from gossamer.work.courier import MOST_HOPS

KIND = "page"
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class ScrapedPage:
    """One address of a job and what came of it."""

    url: str  # in its one spelling
    state: PageState
    trouble: Trouble | None = None
    http_status: int | None = None
    tries: int = 0
    settled_at: datetime | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    page_key: bytes = b""  # of the page it is in the end: under this its files lie

    @property
    def error(self) -> str:
        """Why there is no result, as a sentence; nothing while there may be one."""
        return self.trouble.sentence if self.trouble and self.state in (PageState.FAILED, PageState.SKIPPED) else ""

    @property
    def reason(self) -> str:
        return self.trouble.reason.name if self.error and self.trouble else ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Some results of a job, and where the next ones begin; nothing if these were the last."""

    pages: list[ScrapedPage]
    next: str = ""


async def read_result(database: Database, job_id: UUID, url: str) -> ScrapedPage | None:
    return next(iter(await read_results(database, job_id, [url])), None)


async def read_results(database: Database, job_id: UUID, urls: Sequence[str]) -> list[ScrapedPage]:
    """In the order of the addresses, without those the job was not given."""
    spelled = [url for url in map(normalise, urls) if url]
    found: list[ScrapedPage] = []
    for start in range(0, len(spelled), _AT_ONCE):
        found += await database.read(_results, job_id, spelled[start : start + _AT_ONCE])
    return found


async def results_after(database: Database, job_id: UUID, after: str = "", limit: int = 100) -> Listing:
    """Up to so many results after a place in the job, in an order of their own that never changes."""
    return await database.read(_listing, job_id, bytes.fromhex(after), limit)


async def with_files(files: PageFiles, job_id: UUID, page: ScrapedPage) -> ScrapedPage:
    """The page with what is in files: `html` and text in `raw` as characters, other bytes as they are.

    What is gone by now is None.
    """
    named: list[str] = page.data.get("files") or []
    if not named:
        return page
    read: dict[str, Any] = {}
    for name in named:
        body = await files.read(job_id, page.page_key, name)
        read[name] = body if body is None else _content(name, body, page.data)
    return replace(page, data={**page.data, **read})


def _content(name: str, body: bytes, data: Mapping[str, Any]) -> str | bytes:
    if name == "html":
        return body.decode("utf-8", "replace")
    stated = str(data.get("content_type") or "")
    return decode(body, stated) if name == "raw" and is_text(stated) else body


def is_text(content_type: str) -> bool:
    return content_type.startswith("text/") or content_type.endswith(("json", "xml", "javascript", "yaml"))


def _results(tx: Tx, job_id: UUID, urls: Sequence[str]) -> list[ScrapedPage]:
    by_key = {page.key: page for page in history.pages_at(tx, job_id, [url_key(url) for url in urls])}
    asked = [by_key[key] for url in urls if (key := url_key(url)) in by_key]
    return _read(tx, job_id, asked)


def _listing(tx: Tx, job_id: UUID, after: bytes, limit: int) -> Listing:
    given = history.given_pages(tx, job_id, after, limit + 1)
    more = len(given) > limit
    return Listing(_read(tx, job_id, given[:limit]), given[limit - 1].key.hex() if more else "")


def _read(tx: Tx, job_id: UUID, asked: Sequence[PageHistory]) -> list[ScrapedPage]:
    ends = _followed(tx, job_id, asked)
    keys = {end.key: records.key_of((end.url,), end.key) for end in ends if end.state is PageState.DONE}
    rows = {row["url"]: row for row in record_lines.by_keys(tx, job_id, KIND, list(keys.values()))} if keys else {}
    return [_page(page, end, rows.get(end.url, {})) for page, end in zip(asked, ends, strict=True)]


def _followed(tx: Tx, job_id: UUID, asked: Sequence[PageHistory]) -> list[PageHistory]:
    """Each page, or the one that a redirect to another site has made of it."""
    ends = list(asked)
    for _ in range(MOST_HOPS):
        moved = {end.identity for end in ends if _is_moved(end) and end.identity}
        if not moved:
            break
        known = {page.key: page for page in history.pages_at(tx, job_id, sorted(moved))}
        ends = [known.get(end.identity or b"", end) if _is_moved(end) else end for end in ends]
    return ends


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
    )
