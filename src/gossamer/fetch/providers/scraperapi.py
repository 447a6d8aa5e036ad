"""ScraperAPI: one GET per page; returns the page, and the site's own status in `sa-statuscode`.

All failures share one status and one text, so only this header tells a busy site from one that does not
exist. It is missing exactly if ScraperAPI itself failed.
"""

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlencode, urlsplit

from gossamer.fetch.providers.base import (
    Call,
    Head,
    ProviderAccount,
    Told,
    Wish,
    count_of,
    document_in,
    failed,
    number_in,
    of_the_page,
    status_in,
    whole,
)
from gossamer.model.rungs import SCRAPERAPI
from gossamer.model.trouble import Reason

WAYS: Mapping[str, Mapping[str, str]] = {
    "scraperapi": {"render": "false"},
    "scraperapi-js": {"render": "true"},
    "scraperapi-premium": {"render": "false", "premium": "true"},
    "scraperapi-premium-js": {"render": "true", "premium": "true"},
    "scraperapi-ultra": {"render": "false", "ultra_premium": "true"},
    "scraperapi-ultra-js": {"render": "true", "ultra_premium": "true"},
}

_STICKY = frozenset({"scraperapi", "scraperapi-js"})  # sessions and better addresses exclude each other
_SITES_STATUS = "sa-statuscode"
_PAID = frozenset({200, 404})
# Files that come back as garbled text unless they are said to be files.
_FILES = (".pdf", ".zip", ".gz", ".jpg", ".jpeg", ".png", ".gif", ".webp", ".ico", ".mp3", ".mp4", ".woff2", ".docx")

_FAILURES = {
    400: Reason.PROVIDER_REFUSED,
    401: Reason.PROVIDER_KEY,
    403: Reason.PROVIDER_CREDITS,
    429: Reason.PROVIDER_BUSY,
    500: Reason.PROVIDER_FAILED,
}


def open_scraperapi(wish: Wish) -> "ScraperApi":
    return ScraperApi(wish.rung, wish.key, wish.url, wish.session, wish.worst)


class ScraperApi:
    """A ProviderApi with an account."""

    name = SCRAPERAPI.name
    title = SCRAPERAPI.title
    wraps = False

    def __init__(self, rung: str, key: str, url: str = "", session: int | None = None, most: int | None = None) -> None:
        """`most`: calls that would cost more credits are refused by the provider, free of charge."""
        self._way = WAYS[rung]
        self.most = most
        self._url = (url or SCRAPERAPI.url).rstrip("/")
        self._key = key
        self._session = session if rung in _STICKY else None

    def ask(self, url: str, timeout: timedelta) -> Call:  # theirs is 70 seconds, whatever we want
        asked = {"url": url, **self._way}
        if urlsplit(url).path.lower().endswith(_FILES):
            asked["binary_target"] = "true"
        if self.most is not None:
            asked["max_cost"] = str(self.most)
        if self._session is not None:
            asked["session_number"] = str(self._session)
        return Call(f"{self._url}/?{urlencode(asked)}", {"x-sapi-api_key": self._key})

    def peek(self, head: Head) -> Told | None:
        if head.status not in _PAID or _SITES_STATUS not in head.headers:
            return None
        credits = number_in(head.headers, "sa-credit-cost")
        status = status_in(head.headers, _SITES_STATUS, head.status)
        return Told(status, _sites_headers(head.headers), credits, head.headers.get("sa-final-url", ""))

    def read(self, head: Head, body: bytes) -> Told:
        told = self.peek(head)
        if told is not None:
            return told
        if _SITES_STATUS in head.headers:
            # The text is theirs, and nothing was charged unless they say so.
            status = status_in(head.headers, _SITES_STATUS, head.status)
            return Told(status, {}, number_in(head.headers, "sa-credit-cost") or 0, body=body if status == 403 else b"")
        return self._without_site(head)

    def _without_site(self, head: Head) -> Told:
        credits = number_in(head.headers, "sa-credit-cost")
        if head.status in (404, 410):
            return Told(head.status, {}, credits, body=b"")
        if head.status < 400:
            raise failed(self.name, self.title, Reason.PROVIDER_UNREADABLE, head, credits, "headers are missing")
        reason = Reason.PROVIDER_AWAY if head.status > 500 else _FAILURES.get(head.status, Reason.PROVIDER_REFUSED)
        raise failed(self.name, self.title, reason, head, credits or 0)

    def ask_account(self) -> tuple[Call, ...]:
        # Here the key is known to work in the address only.
        return (Call(f"{self._url}/account?{urlencode({'api_key': self._key})}"),)

    def read_account(self, answers: tuple[bytes, ...]) -> ProviderAccount:
        told = document_in(answers[0])
        if told is None:
            raise ValueError("no JSON")
        used, limit = count_of(told.get("requestCount")), count_of(told.get("requestLimit"))
        return ProviderAccount(
            used=used,
            limit=limit,
            remaining=None if used is None or limit is None else max(0, limit - used),
            at_once=whole(told.get("concurrencyLimit")),
            running=whole(told.get("concurrentRequests")),
            renews=str(told.get("subscriptionDate") or "")[:40],
        )


def _sites_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in of_the_page(headers).items() if not name.startswith("sa-")}
