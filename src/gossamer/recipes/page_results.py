"""The results of a job that was given pages: read from the rows, one at a time or in batches, for programs.

For interfaces that show results; `kind` is that of the records of the job's recipe:

    one = await read_result(app.database, job_id, kind, "https://example.com/a")   # None: not an address of this job
    some = await read_results(app.database, job_id, kind, urls)                    # in their order, those known
    listing = await results_after(app.database, job_id, kind, after, 100)          # all; `listing.next` goes on
    one = await with_files(app.page_files(), job_id, one)                          # puts files in, while they last
    as_object(one)                                                                 # for JSON

A `ScrapedPage` gives the state of one address: `pending`, `done`, `failed` or `skipped` (its time was up);
`error` is a sentence and `reason` the name of its Reason. An address that redirects to another site has the
state of the page it led to. `data` is the record of a page that is done; `files` in it are the names of its
files.
"""

from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson

from gossamer.blobs.page_files import PageFiles
from gossamer.db.database import Database
from gossamer.model.states import PageState
from gossamer.model.url import normalise
from gossamer.parse.decode import decode
from gossamer.parse.document import is_text
from gossamer.recipes.registry import RECIPES
from gossamer.store import given_pages, jobs
from gossamer.store.given_pages import ScrapedPage, ScrapedPages

_AT_ONCE = 200
_FILES_AT_ONCE = 20  # pages of one read: each may be as large as a page can be


def kind_of(recipe: str) -> str:
    """Return the kind of a recipe's page records; "" for a recipe this program does not know."""
    known = RECIPES.get(recipe)
    return known.kinds[0].name if known else ""


async def read_result(database: Database, job_id: UUID, kind: str, url: str) -> ScrapedPage | None:
    spelled = normalise(url)
    return next(iter(await database.read_inline(given_pages.at, job_id, kind, [spelled])), None) if spelled else None


async def read_results(database: Database, job_id: UUID, kind: str, urls: Sequence[str]) -> list[ScrapedPage]:
    """Return results in the order of the addresses; addresses that the job was not given are left out."""
    spelled = [url for url in map(normalise, urls) if url]
    found: list[ScrapedPage] = []
    for start in range(0, len(spelled), _AT_ONCE):
        found += await database.read(given_pages.at, job_id, kind, spelled[start : start + _AT_ONCE])
    return found


async def results_after(database: Database, job_id: UUID, kind: str, after: str = "", limit: int = 100) -> ScrapedPages:
    """Return up to `limit` results after a cursor, in a fixed order."""
    return await database.read(given_pages.after, job_id, kind, after, limit)


async def failed_after(database: Database, job_id: UUID, after: str = "", limit: int = 100) -> ScrapedPages:
    """Return up to `limit` failed pages after a cursor, in a fixed order."""
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
    """Return the page as a JSON object. Binary bytes are written in base64, marked by `raw_encoding`."""
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


def page_answer(page: ScrapedPage) -> dict[str, Any]:
    """Return an address and its state."""
    return {
        "url": page.url,
        "status": str(page.state),
        "error": page.error,
        "code": page.reason.lower(),
        "http_status": page.http_status,
        "tries": page.tries,
        "data": {name: _as_text(value) for name, value in page.data.items()},
    }


def whole_answer(page: ScrapedPage, job_id: UUID, credits: Mapping[str, int]) -> dict[str, Any]:
    """Return `page_answer` plus final URL, method and credits (0 if the page was not read)."""
    method = str(page.data.get("crawl_method") or "")
    return {
        **page_answer(page),
        "job_id": str(job_id),
        "final_url": str(page.data.get("final_url") or page.url),
        "method": method,
        "credits": credits.get(method, 1) if page.state is PageState.DONE else 0,
    }


def _as_text(value: Any) -> Any:
    """Return bytes that are not text as base64."""
    return b64encode(value).decode() if isinstance(value, bytes) else value


class ResultLines:
    """The content of result files."""

    def __init__(self, database: Database, files: PageFiles, credits: Mapping[str, int]) -> None:
        self._database = database
        self._files = files
        self._credits = credits

    async def lines(self, job_id: UUID, told: Callable[[int], None]) -> AsyncIterator[bytes]:
        """Yield one JSON line for each address; `told` is called with the number of lines so far."""
        job = await self._database.read(jobs.get, job_id)
        kind = kind_of(job.recipe if job else "")
        place, done = "", 0
        while True:
            listing = await results_after(self._database, job_id, kind, place, _FILES_AT_ONCE)
            for page in listing.pages:
                whole = await with_files(self._files, job_id, page)
                yield orjson.dumps(whole_answer(whole, job_id, self._credits), default=str) + b"\n"
                done += 1
                told(done)
            place = listing.next
            if not place:
                return
