"""ScrapingBee: one GET per page, the page's own bytes back, and everything else in headers that begin with `Spb-`.

`Spb-initial-status-code` is there exactly if the site was reached. Without it the status is ScrapingBee's own word.
"""

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlencode

from gossamer.fetch.errors import FetchError
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
    whole,
)
from gossamer.model.rungs import SCRAPINGBEE
from gossamer.model.trouble import Reason, Trouble

# JavaScript is their default and five times the price: it is said in every call.
_PLAIN = {"render_js": "false"}
_BROWSER = {"render_js": "true", "wait_browser": "networkidle2"}  # scripts have filled the page by then
WAYS: Mapping[str, Mapping[str, str]] = {
    "scrapingbee-standard": _PLAIN,
    "scrapingbee-js": _BROWSER,
    "scrapingbee-premium": {**_PLAIN, "premium_proxy": "true"},
    "scrapingbee-premium-js": {**_BROWSER, "premium_proxy": "true"},
    "scrapingbee-stealth": {**_BROWSER, "stealth_proxy": "true"},
}

_LONGEST = timedelta(seconds=140)
_SHORTEST = timedelta(seconds=1)
_MARGIN = timedelta(seconds=30)  # their answer comes that much after their own limit at the most
_SESSIONS = 10_000_001
_PREFIX = "spb-"
_REACHED = "spb-initial-status-code"
_THEIR_OWN = frozenset({_REACHED, "spb-cost", "spb-auto-cost", "spb-resolved-url", "spb-request-id"})
_NO_SUCH_HOST = b"Proxy connection error"

_FAILURES = {
    400: Reason.PROVIDER_REFUSED,
    401: Reason.PROVIDER_KEY,
    402: Reason.PROVIDER_CREDITS,
    403: Reason.PROVIDER_KEY,  # the account is not permitted
    429: Reason.PROVIDER_BUSY,
    500: Reason.PROVIDER_FAILED,
}


def open_scrapingbee(wish: Wish) -> "ScrapingBee":
    return ScrapingBee(wish.rung, wish.key, wish.url, wish.session)


class ScrapingBee:
    """A ProviderApi with an account."""

    name = SCRAPINGBEE.name
    title = SCRAPINGBEE.title
    wraps = False
    most = None  # no such limit can be named

    def __init__(self, rung: str, key: str, url: str = "", session: int | None = None) -> None:
        self._way = WAYS[rung]
        self._url = (url or SCRAPINGBEE.url).rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"}
        self._session = session

    def ask(self, url: str, timeout: timedelta) -> Call:
        # As the site answers, without tries of their own on its errors: whether to try again is decided here.
        asked = {"url": url, **self._way, "transparent_status_code": "true"}
        if "stealth_proxy" not in self._way:
            theirs = max(_SHORTEST, min(timeout - _MARGIN, _LONGEST))
            asked["timeout"] = str(theirs // timedelta(milliseconds=1))
        if self._session is not None:
            asked["session_id"] = str(self._session % _SESSIONS)
        return Call(f"{self._url}/?{urlencode(asked)}", self._headers)

    def peek(self, head: Head) -> Told | None:
        if _REACHED not in head.headers:
            return None
        credits = number_in(head.headers, "spb-cost")
        return Told(head.status, _sites_headers(head.headers), credits, head.headers.get("spb-resolved-url", ""))

    def read(self, head: Head, body: bytes) -> Told:
        told = self.peek(head)
        if told is None:
            return self._without_site(head)
        if head.status == 503 and body.strip() == _NO_SUCH_HOST:
            # It looks like the site's own answer, and there is no site.
            raise FetchError(Trouble(Reason.UNREACHABLE, self.title, head.status), told.credits)
        return told

    def _without_site(self, head: Head) -> Told:
        credits = number_in(head.headers, "spb-cost")
        if head.status == 404:
            return Told(404, {}, credits, body=b"")  # the site's, and charged
        if head.status == 413:
            raise FetchError(Trouble(Reason.TOO_LARGE, f"for {self.title}", head.status), credits)
        if head.status < 400:
            # Perhaps a page, but without its URL.
            raise failed(self.name, self.title, Reason.PROVIDER_UNREADABLE, head, credits, "headers are missing")
        reason = Reason.PROVIDER_AWAY if head.status > 500 else _FAILURES.get(head.status, Reason.PROVIDER_REFUSED)
        raise failed(self.name, self.title, reason, head, credits or 0)  # their own failures are free

    def ask_account(self) -> tuple[Call, ...]:
        return (Call(f"{self._url}/usage", self._headers),)

    def read_account(self, answers: tuple[bytes, ...]) -> ProviderAccount:
        usage = document_in(answers[0])
        if usage is None:
            raise ValueError("no JSON")
        used, limit = count_of(usage.get("used_api_credit")), count_of(usage.get("max_api_credit"))
        return ProviderAccount(
            used=used,
            limit=limit,
            remaining=None if used is None or limit is None else max(0, limit - used),
            at_once=whole(usage.get("max_concurrency")),
            running=whole(usage.get("current_concurrency")),
            renews=str(usage.get("renewal_subscription_date") or "")[:40],
        )


def _sites_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the site's headers, which come with a prefix; the type of the page also comes without one."""
    passed = {
        name.removeprefix(_PREFIX): value
        for name, value in headers.items()
        if name.startswith(_PREFIX) and name not in _THEIR_OWN
    }
    if "content-type" not in passed and "content-type" in headers:
        passed["content-type"] = headers["content-type"]
    return of_the_page(passed)
