"""From a page's plan to what goes over the wire: status, headers, body, and how the body is sent."""

import zlib
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from random import Random

from gossamer_sandbox.web.dice import dice, number
from gossamer_sandbox.web.layout import page_html
from gossamer_sandbox.web.page import Manner, PagePlan
from gossamer_sandbox.web.profile import Profile, Settings
from gossamer_sandbox.web.prose import prose_in
from gossamer_sandbox.web.refused import REFUSED

HUGE_BYTES = 12_000_000
BOMB_BYTES = 1 << 30
_BOMB_CRC = 0x5B64C2B0  # of 2**30 zero bytes; working it out takes most of a second
_HTML = "text/html; charset=utf-8"
_SHORT = {
    Manner.UNAUTHORISED: "Authentication required: CRM software",
    Manner.FORBIDDEN: "Forbidden: CRM software",
    Manner.NOT_FOUND: "Not found: CRM software",
    Manner.GONE: "Gone: CRM software",
    Manner.BUSY_FOR_HOURS: "Too many requests: CRM software",
    Manner.BROKEN: "Internal server error: CRM software",
}


class Sending(Enum):
    """How the body of a response is sent."""

    WHOLE = auto()
    CHUNKED = auto()
    LATE = auto()  # after a while
    DRIP = auto()  # a byte a second, for ever
    SHORT = auto()  # less than Content-Length promised, then the line goes dead
    UNENDED = auto()  # chunks without the last one, then the line goes dead


@dataclass(frozen=True, slots=True)
class Answer:
    """One response. The body is not compressed yet when `compressible`."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    sending: Sending = Sending.WHOLE
    delay: float = 0.0
    compressible: bool = False


_SENDING = {
    Manner.PAGE: None,  # as the page itself is sent
    Manner.SLOW: Sending.LATE,
    Manner.DRIP: Sending.DRIP,
    Manner.CUT_OFF: Sending.SHORT,
    Manner.CUT_CHUNK: Sending.UNENDED,
}


def page_answer(settings: Settings, profile: Profile, plan: PagePlan) -> Answer:
    """Return the normal response of a page."""
    throw = dice(settings.seed, profile.name.host, "page", plan.path)
    if plan.manner is Manner.REDIRECT:
        location = () if plan.location is None else (("Location", plan.location),)
        return Answer(plan.moved, (*location, ("Content-Type", _HTML)), b"<p>Moved.</p>")
    if plan.manner not in _SENDING:
        return _without_page(profile, plan, throw)
    page = _page(profile, plan, throw)
    sending = _SENDING[plan.manner]
    if sending is None:
        return page
    delay = settings.slow_seconds if sending is Sending.LATE else 0.0
    return Answer(page.status, page.headers, page.body, sending, delay)


def _without_page(profile: Profile, plan: PagePlan, throw: Random) -> Answer:
    manner = plan.manner
    if build := REFUSED.get(manner):
        refused = build(profile, plan, throw)
        return Answer(manner.status, (*refused.headers, ("Content-Type", _HTML)), refused.body.encode())
    match manner:
        case Manner.BOMB:
            return Answer(200, (("Content-Encoding", "gzip"), ("Content-Type", _HTML)), bomb())
        case Manner.HUGE:
            return Answer(200, (("Content-Type", _HTML),), huge())
        case Manner.PDF:
            return Answer(200, (("Content-Type", "application/pdf"),), b"%PDF-1.4\n% CRM software\n%%EOF\n")
    headers: tuple[tuple[str, str], ...] = (("Content-Type", _HTML),)
    if manner is Manner.BUSY_FOR_HOURS:
        headers = (("Retry-After", "7200"), *headers)
    if manner is Manner.UNAUTHORISED:
        headers = (("WWW-Authenticate", 'Basic realm="members"'), *headers)
    words = _SHORT[manner]
    return Answer(
        manner.status,
        headers,
        f"<html><head><title>{words}</title></head><body><h1>{words}</h1></body></html>".encode(),
    )


def _page(profile: Profile, plan: PagePlan, throw: Random) -> Answer:
    charset = profile.charset
    if plan.misdeclared:
        # A byte order mark would outrank the header, and then nothing would be wrong.
        charset = charset.removesuffix("-sig")
    declared = plan.misdeclared or ("" if profile.declared == "meta" else charset.removesuffix("-sig"))
    content_type = f"text/html; charset={declared}" if declared else "text/html"
    body = page_html(profile, plan, throw).encode(charset, "xmlcharrefreplace")
    headers = (("X-Robots-Tag", plan.x_robots),) if plan.x_robots else ()
    how = number(plan.path, profile.name.host) % 20
    return Answer(
        200,
        (*headers, ("Content-Type", content_type)),
        body,
        sending=Sending.CHUNKED if how % 6 == 0 else Sending.WHOLE,
        compressible=how < 7,
    )


@lru_cache(maxsize=1)
def bomb() -> bytes:
    """A gigabyte of zeros in a megabyte of gzip, put together from one compressed piece that repeats."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    # After a full flush nothing refers back, so the same bytes may follow themselves any number of times.
    piece = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    last = b"\x03\x00"
    length = (BOMB_BYTES & 0xFFFFFFFF).to_bytes(4, "little")
    return header + piece * (BOMB_BYTES >> 20) + last + _BOMB_CRC.to_bytes(4, "little") + length


@lru_cache(maxsize=1)
def huge() -> bytes:
    """A page too long to be worth reading, with a mention right at its beginning."""
    start = b"<!DOCTYPE html><html><head><title>CRM software</title></head><body><p>CRM software</p>\n"
    paragraph = f"<p>{prose_in('en').paragraphs[0]}</p>\n".encode()
    return (start + paragraph * (HUGE_BYTES // len(paragraph) + 1))[:HUGE_BYTES]
