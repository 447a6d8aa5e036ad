"""The status of a response: the trouble it stands for, by who sent it, and how long it asks to wait."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from gossamer.judge.bot_protections import (
    PREFIX,
    WIDGETS,
    Protection,
    is_tiny,
    marks_among,
    named_by_headers,
    named_by_place,
    named_by_title,
    traces_in,
    without_styles,
)
from gossamer.model.document import Response
from gossamer.model.trouble import Reason, Trouble

_SECONDS = re.compile(r"\s*(\d+)(?:\.\d*)?\s*(?:,|$)")
_LONGEST = 10 * 365 * 86_400.0  # beyond this it is only "for ever"


def seconds_asked(header: str, now: datetime, date: str = "") -> float | None:
    """Seconds from now, never negative; None if the header is missing or says nothing usable.

    A date is compared with the answer's own `Date`: the server's clock on both sides, so it matters neither whether
    ours is right nor whether the server's is. Without one it is compared with `now`.
    """
    if not header:
        return None
    plain = _SECONDS.match(header)
    if plain:
        digits = plain[1].lstrip("0")
        return min(float(digits or 0), _LONGEST) if len(digits) <= 12 else _LONGEST
    at = _date(header)
    if at is None:
        return None
    return min(max(0.0, (at - (_date(date) or now)).total_seconds()), _LONGEST)


def _date(header: str) -> datetime | None:
    if not header:
        return None
    try:
        at = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


_TITLE = re.compile(rb"<title[^>]{0,200}>([^<]{1,200})", re.IGNORECASE)
_AKAMAI_REFERENCE = re.compile(rb"Reference(?:\s|&#32;)*(?:#|&#35;)\s*\d+(?:\.|&#46;)[0-9a-f]+", re.IGNORECASE)
_CLOUDFLARE_RATE_LIMIT = re.compile(rb"cf-error-code\">\s*1015|error code: 1015|Error 1015", re.IGNORECASE)

_BY_STATUS = {404: Reason.NOT_FOUND, 410: Reason.GONE}


def find_trouble(response: Response) -> Trouble | None:
    """Return the problem of an answer by its status and headers; None if it should be read."""
    status = response.status
    # Gone is gone: no protection answers with that.
    if status in _BY_STATUS:
        return Trouble(_BY_STATUS[status], http_status=status)
    if status == 401:
        return _asks_for_password(response)
    stopped = named_by_headers(status, response.headers)
    if stopped is None and status >= 400:
        stopped = _named_by_page(response)
    if stopped is not None:
        return Trouble(stopped.reason, stopped.vendor, status, _asked(response) if status == 429 else None)
    return None if 200 <= status < 300 else _by_status(response)


def find_refusal(response: Response) -> Trouble | None:
    """Return the problem of a data response, which only its status can show."""
    status = response.status
    if status in _BY_STATUS:
        return Trouble(_BY_STATUS[status], http_status=status)
    if status == 401:
        return Trouble(Reason.LOGIN, "HTTP 401", status)
    return None if 200 <= status < 300 else _by_status(response)


def _asks_for_password(response: Response) -> Trouble:
    """Return a login trouble, unless a challenge has left its own marks and no password field is present."""
    if not response.header("www-authenticate"):
        body = without_styles(response.body)[:PREFIX]
        marks = marks_among(traces_in(body), response.headers)
        own = (mark.verdict for mark in marks if not (mark.weak or mark.named or mark in WIDGETS))
        stopped = named_by_headers(401, response.headers) or named_by_title(_title_of(body), weak=True)
        if stopped := stopped or next(own, None):
            return Trouble(stopped.reason, stopped.vendor, 401)
    return Trouble(Reason.LOGIN, "HTTP 401", 401)


def _by_status(response: Response) -> Trouble:
    status = response.status
    asked = _asked(response)
    match status:
        case 403:
            return Trouble(Reason.FORBIDDEN, http_status=status)
        case 429:
            return Trouble(Reason.RATE_LIMITED, http_status=status, retry_after=asked)
        case 503:
            return Trouble(Reason.UNAVAILABLE, http_status=status, retry_after=asked)
        case _ if 500 <= status < 600:
            return Trouble(Reason.SERVER_ERROR, str(status), status, asked)
        case _ if 300 <= status < 400:
            return Trouble(Reason.BAD_REDIRECT, http_status=status)
        case _:
            return Trouble(Reason.CLIENT_ERROR, str(status), status)


def _asked(response: Response) -> float | None:
    return seconds_asked(response.header("retry-after"), response.fetched_at, response.header("date"))


def _named_by_page(response: Response) -> Protection | None:
    """Return the sender of an error page. The server's own errors (500, 502, Cloudflare's 52x) are not blocks."""
    status = response.status
    if status == 999:
        return Protection("LinkedIn")
    if status >= 500 and status != 503:
        return None
    body = without_styles(response.body)[:PREFIX]
    # Rate limits pass by themselves; climbing over them would be impolite.
    if status == 429 and _CLOUDFLARE_RATE_LIMIT.search(body):
        return None
    title = _title_of(body)
    if title.lower() == "access denied" and _AKAMAI_REFERENCE.search(body):
        return Protection("Akamai")
    return (
        named_by_place(response.requested, response.url)
        or named_by_title(title, weak=True)
        or _named_by_marks(response, body)
    )


def _title_of(body: bytes) -> str:
    found = _TITLE.search(body)
    return found[1].decode("utf-8", "replace").strip() if found else ""


def _named_by_marks(response: Response, body: bytes) -> Protection | None:
    # Error pages in a site's usual frame may carry its forms and their widgets; a small refusal with one is asking.
    asks = response.status == 403 and is_tiny(without_styles(response.body))
    marks = marks_among(traces_in(body), response.headers)
    return next((mark.verdict for mark in marks if asks or mark not in WIDGETS), None)
