"""FlareSolverr: the operator's own browser that solves challenges. Free, slow, and without status codes.

It reports 200 for every page and no headers. A small page that describes itself as an error page gets its
status back; anything else is judged by its content. The body is the page as rendered by the browser.

Its browser follows redirects and loads the resources of pages, so it has to use our forward proxy, where
the guard sees every destination. Its sessions are not used: one that is named again after a restart is
created anew, without a proxy.
"""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import orjson

from gossamer.fetch.errors import FetchError
from gossamer.fetch.forward_proxy import Permit
from gossamer.fetch.providers.base import Call, Head, Told, Wish, document_in, failed
from gossamer.model.rungs import FLARESOLVERR
from gossamer.model.trouble import Reason, Trouble

_START = timedelta(seconds=20)  # of the browser, which is not part of its time limit
_SHORTEST = timedelta(seconds=1)
_JSON = {"Content-Type": "application/json"}
_TIMEOUT = re.compile(r"Timeout after (\d+(?:\.\d+)?) seconds")
_HTML = {"content-type": "text/html; charset=utf-8"}

_ERROR_PAGE = 5_000  # characters: servers say it in a line or two, and sites in their usual frame
_TITLE = re.compile(r"<title[^>]{0,200}>\s*([^<]{1,200})", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:error\s+|http\s+)*([45]\d\d)\b\s*([-–—:|]?)\s*(.*)")
_BROWSERS_OWN = re.compile(r"\bHTTP ERROR ([45]\d\d)\b")
_WORDED = (
    ("forbidden", 403),
    ("not found", 404),
    ("page not found", 404),
    ("gone", 410),
    ("unauthorized", 401),
    ("authentication required", 401),
    ("too many requests", 429),
    ("internal server error", 500),
    ("bad gateway", 502),
    ("service unavailable", 503),
    ("service temporarily unavailable", 503),
    ("gateway time", 504),
)


def open_flaresolverr(wish: Wish) -> "FlareSolverr":
    if wish.way is None:
        raise RuntimeError("FlareSolverr without a forward proxy")
    return FlareSolverr(wish.url, wish.way)


class FlareSolverr:
    """A ProviderApi without an account: nothing is charged."""

    name = FLARESOLVERR.name
    title = FLARESOLVERR.title
    wraps = True

    def __init__(self, url: str, way: Permit) -> None:
        self._url = url.rstrip("/").removesuffix("/v1") + "/v1"
        self._way = way
        self._host = ""  # of the page that was asked for

    def ask_health(self) -> Call:
        return Call(self._url.removesuffix("/v1") + "/health", {}, b"")

    def ask(self, url: str, timeout: timedelta) -> Call:
        theirs = max(_SHORTEST, timeout - _START)
        self._host = urlsplit(url).hostname or ""
        self._way.forget()
        asked: dict[str, Any] = {
            "cmd": "request.get",
            "url": url,
            "maxTimeout": theirs // timedelta(milliseconds=1),
            "proxy": {"url": self._way.url, "username": self._way.name, "password": self._way.password},
        }
        return Call(self._url, _JSON, orjson.dumps(asked))

    def peek(self, head: Head) -> Told | None:
        return None

    def read(self, head: Head, body: bytes) -> Told:
        answer = document_in(body)
        if answer is None:
            reason = Reason.PROVIDER_AWAY if head.status > 500 else Reason.PROVIDER_UNREADABLE
            raise failed(self.name, self.title, reason, head)
        if head.status != 200 or answer.get("status") != "ok":
            raise self._failure(head, str(answer.get("message") or ""))
        solution = answer.get("solution")
        page = solution.get("response") if isinstance(solution, dict) else None
        if not isinstance(solution, dict) or not isinstance(page, str):
            raise failed(self.name, self.title, Reason.PROVIDER_UNREADABLE, head, why="no page in it")
        url = solution.get("url")
        if isinstance(url, str) and url.startswith("chrome-error:"):
            # What the browser shows where there is no site.
            raise FetchError(Trouble(Reason.UNREACHABLE, self.title), 0)
        if trouble := self._way.said_by_proxy(page):
            raise FetchError(trouble, 0)
        body = page.encode("utf-8", "replace")
        return Told(status_of(page), _HTML, 0, url if isinstance(url, str) else "", body)

    def _why_not(self) -> Trouble:
        """Return the forward proxy's reason for a page that it did not let through."""
        return self._way.trouble_with(self._host) or Trouble(Reason.UNREACHABLE, self.title)

    def _failure(self, head: Head, said: str) -> FetchError:
        if found := _TIMEOUT.search(said):
            return FetchError(Trouble(Reason.TIMEOUT, f"{float(found[1]):.12g}s"), 0)
        if "Cloudflare has blocked this request" in said:
            return FetchError(Trouble(Reason.BLOCKED, "Cloudflare"), 0)
        if "net::ERR_PROXY_CONNECTION_FAILED" in said:
            # A matter of settings, and the same for every page.
            return failed(self.name, self.title, Reason.PROVIDER_AWAY, why="it does not reach our forward proxy")
        if "net::ERR_" in said:
            is_ours = "net::ERR_TUNNEL_CONNECTION_FAILED" in said
            return FetchError(self._why_not() if is_ours else Trouble(Reason.UNREACHABLE, self.title), 0)
        if "Request parameter" in said:
            return failed(self.name, self.title, Reason.PROVIDER_REFUSED, head)
        reason = Reason.PROVIDER_AWAY if head.status > 500 else Reason.PROVIDER_FAILED
        return failed(self.name, self.title, reason, head)


def status_of(page: str) -> int:
    """Guess the server's status from the page's text; 200 if the text is not that of an error."""
    if len(page) > _ERROR_PAGE:
        return 200
    if own := _BROWSERS_OWN.search(page):
        return int(own[1])
    found = _TITLE.search(page)
    title = found[1].strip().lower() if found else ""
    numbered = _NUMBERED.match(title)
    said = numbered[3] if numbered else title
    worded = next((status for words, status in _WORDED if said.startswith(words)), 0)
    if numbered and (worded or numbered[2] or not said):
        return int(numbered[1])  # and not "500 ways to ..."
    return worded or 200
