"""Firecrawl: one POST per page and a document back that holds the page as text. Versions 1 and 2 of its interface.

A page the site refuses is a success to Firecrawl, and is charged; the site's own status is in the document's metadata.
"""

from datetime import timedelta
from typing import Any

import orjson

from gossamer.fetch.providers.base import Call, Head, ProviderAccount, Told, Wish, document_in, failed, whole
from gossamer.model.rungs import FIRECRAWL
from gossamer.model.trouble import Reason

_MARGIN = timedelta(seconds=15)
_SHORTEST, _LONGEST = timedelta(seconds=1), timedelta(seconds=300)
# The page as it is now: no answer from two days ago, nothing left out, no certificates waved through, no copy kept
# there, and no more than the one credit of a page, which better addresses and the pages of a PDF would cost on top.
_ASKED: dict[str, Any] = {
    "formats": ["rawHtml"],
    "onlyMainContent": False,
    "maxAge": 0,
    "storeInCache": False,
    "skipTlsVerification": False,
    "proxy": "basic",
}
_NO_PDF: dict[str, dict[str, Any]] = {"v1": {"parsePDF": False}, "v2": {"parsers": []}}

_FAILURES = {
    401: Reason.PROVIDER_KEY,
    402: Reason.PROVIDER_CREDITS,
    408: Reason.PROVIDER_FAILED,
    429: Reason.PROVIDER_BUSY,
    500: Reason.PROVIDER_FAILED,
}
# Refused before anything was fetched. What a call costs that broke down on the way is not published.
_FREE = frozenset({400, 401, 402, 403, 429})


def open_firecrawl(wish: Wish) -> "Firecrawl":
    return Firecrawl(wish.rung, wish.key, wish.url, wish.session)


class Firecrawl:
    """A ProviderApi with an account."""

    name = FIRECRAWL.name
    title = FIRECRAWL.title
    wraps = True
    most = None  # no such limit can be named

    def __init__(self, rung: str, key: str, url: str = "", session: int | None = None) -> None:
        self._url = (url or FIRECRAWL.url).rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"}
        self._options = _ASKED | _NO_PDF["v1" if self._url.endswith("/v1") else "v2"]

    def ask(self, url: str, timeout: timedelta) -> Call:
        theirs = max(_SHORTEST, min(timeout - _MARGIN, _LONGEST))
        asked = {"url": url, **self._options, "timeout": theirs // timedelta(milliseconds=1)}
        return Call(f"{self._url}/scrape", self._headers | {"Content-Type": "application/json"}, orjson.dumps(asked))

    def peek(self, head: Head) -> Told | None:
        return None

    def read(self, head: Head, body: bytes) -> Told:
        answer = document_in(body)
        if head.status != 200 or (answer is not None and answer.get("success") is not True):
            reason = Reason.PROVIDER_AWAY if head.status > 500 else _FAILURES.get(head.status, Reason.PROVIDER_REFUSED)
            reason = Reason.PROVIDER_FAILED if head.status == 200 else reason
            raise failed(self.name, self.title, reason, head, 0 if head.status in _FREE else None)
        data = answer.get("data") if answer else None
        about = data.get("metadata") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(about, dict):
            raise failed(self.name, self.title, Reason.PROVIDER_UNREADABLE, head, None, "no page in it")
        return self._page(head, data, about)

    def _page(self, head: Head, data: dict[str, Any], about: dict[str, Any]) -> Told:
        credits = whole(about.get("creditsUsed"))
        status = whole(about.get("statusCode"))
        page = data.get("rawHtml")
        if status is None or not 100 <= status <= 999:
            raise failed(self.name, self.title, Reason.PROVIDER_UNREADABLE, head, credits, "no status in it")
        kind = about.get("contentType")
        kind = kind.partition(";")[0].strip() if isinstance(kind, str) and kind.isascii() else "text/html"
        url = about.get("url")
        # Whatever the site's charset was: this is text by now, and leaves here as UTF-8.
        text = page.encode("utf-8", "replace") if isinstance(page, str) else b""
        headers = {"content-type": f"{kind}; charset=utf-8"}
        return Told(status, headers, credits, url if isinstance(url, str) else "", text)

    def ask_account(self) -> tuple[Call, ...]:
        return (
            Call(f"{self._url}/team/credit-usage", self._headers),
            Call(f"{self._url}/team/queue-status", self._headers),
        )

    def read_account(self, answers: tuple[bytes, ...]) -> ProviderAccount:
        credit, queue = (document_in(answer) or {} for answer in answers)
        data = credit.get("data")
        if not isinstance(data, dict) and "maxConcurrency" not in queue:
            raise ValueError("no account in it")
        data = data if isinstance(data, dict) else {}
        left = data.get("remaining_credits", data.get("remainingCredits"))
        return ProviderAccount(
            remaining=int(left) if isinstance(left, int | float) and not isinstance(left, bool) and left >= 0 else None,
            at_once=whole(queue.get("maxConcurrency")),
            running=whole(queue.get("activeJobsInQueue")),
        )
