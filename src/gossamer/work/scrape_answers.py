"""What came of a scraped page, as programs are told: in an answer if they waited for it, else in a file."""

from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from uuid import UUID

import orjson

from gossamer.blobs.page_files import PageFiles
from gossamer.db.database import Database
from gossamer.model.states import PageState
from gossamer.work.scraped import ScrapedPage, results_after, with_files

_AT_ONCE = 20  # pages of one read: each may be as large as a page can be


def page_answer(page: ScrapedPage) -> dict[str, Any]:
    """An address and how it stands with it."""
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
    """The same, with what it took: credits by what has read it, and none where nothing was read."""
    method = str(page.data.get("crawl_method") or "")
    return {
        **page_answer(page),
        "job_id": str(job_id),
        "final_url": str(page.data.get("final_url") or page.url),
        "method": method,
        "credits": credits.get(method, 1) if page.state is PageState.DONE else 0,
    }


def _as_text(value: Any) -> Any:
    """Bytes that are no text go as base64."""
    return b64encode(value).decode() if isinstance(value, bytes) else value


class ResultLines:
    """The content of result files."""

    def __init__(self, database: Database, files: PageFiles, credits: Mapping[str, int]) -> None:
        self._database = database
        self._files = files
        self._credits = credits

    async def lines(self, job_id: UUID, told: Callable[[int], None]) -> AsyncIterator[bytes]:
        """One of JSON for each address; `told` hears how many there are so far."""
        place, done = "", 0
        while True:
            listing = await results_after(self._database, job_id, place, _AT_ONCE)
            for page in listing.pages:
                whole = await with_files(self._files, job_id, page)
                yield orjson.dumps(whole_answer(whole, job_id, self._credits), default=str) + b"\n"
                done += 1
                told(done)
            place = listing.next
            if not place:
                return
