"""What came of the addresses of a scrape job: read from the rows, one by one or page by page.

For doors that show results (`intake.scrape` is for those that submit):

    one = await read_result(app.database, job_id, "https://example.com/a")   # None: not an address of this job
    some = await read_results(app.database, job_id, urls)                    # in their order, those that are known
    listing = await results_after(app.database, job_id, after, 100)          # all of a job; `listing.next` goes on
    one = await with_files(app.page_files(), job_id, one)                    # puts html and raw in, while they last
    as_object(one)                                                           # for JSON

A `ScrapedPage` says how it stands with one address whatever its state: `pending`, `done`, `failed` or `skipped` (its
time was up), `error` is a sentence and `reason` the name of its Reason. An address that redirects to another site is
as far as the page it led to. `data` is the record of a page that is done:

    url final_url http_status crawl_method timestamp content_type bytes title language    always
    text markdown links metadata structured extract                                      those that were asked for
    files                                                                                names of what is in files
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from gossamer.blobs.page_files import PageFiles
from gossamer.db.database import Database
from gossamer.model.url import normalise
from gossamer.parse.decode import decode
from gossamer.parse.document import is_text
from gossamer.store import given_pages
from gossamer.store.given_pages import Listing, ScrapedPage

__all__ = [
    "Listing",
    "ScrapedPage",
    "as_object",
    "failed_after",
    "read_result",
    "read_results",
    "results_after",
    "with_files",
]

_AT_ONCE = 200


async def read_result(database: Database, job_id: UUID, url: str) -> ScrapedPage | None:
    spelled = normalise(url)
    return next(iter(await database.glance(given_pages.at, job_id, [spelled])), None) if spelled else None


async def read_results(database: Database, job_id: UUID, urls: Sequence[str]) -> list[ScrapedPage]:
    """In the order of the addresses, without those the job was not given."""
    spelled = [url for url in map(normalise, urls) if url]
    found: list[ScrapedPage] = []
    for start in range(0, len(spelled), _AT_ONCE):
        found += await database.read(given_pages.at, job_id, spelled[start : start + _AT_ONCE])
    return found


async def results_after(database: Database, job_id: UUID, after: str = "", limit: int = 100) -> Listing:
    """Up to so many results after a place in the job, in an order of their own that never changes."""
    return await database.read(given_pages.after, job_id, after, limit)


async def failed_after(database: Database, job_id: UUID, after: str = "", limit: int = 100) -> Listing:
    """The same of those that could not be had."""
    return await database.read(given_pages.failed_after, job_id, after, limit)


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


def as_object(page: ScrapedPage) -> dict[str, Any]:
    """The page as JSON has it. Bytes that are no text are written in base64, and `raw_encoding` says so."""
    made: dict[str, Any] = {
        "url": page.url,
        "status": str(page.state),
        "error": page.error or None,
        "reason": page.reason or None,
        "http_status": page.http_status,
        "tries": page.tries,
    }
    for name, value in page.data.items():
        made[name] = b64encode(value).decode() if isinstance(value, bytes) else value
        if isinstance(value, bytes):
            made[f"{name}_encoding"] = "base64"
    return made


def _content(name: str, body: bytes, data: Mapping[str, Any]) -> str | bytes:
    if name == "html":
        return body.decode("utf-8", "replace")
    stated = str(data.get("content_type") or "")
    return decode(body, stated) if name == "raw" and is_text(stated) else body
