"""From a request to a reply: which site, which file or page, and whether it is worth remembering."""

import math
import time
from collections import OrderedDict
from email.utils import formatdate

from gossamer_sandbox.web.answer import Answer, page_answer
from gossamer_sandbox.web.keywords import is_outside
from gossamer_sandbox.web.page import Refusal
from gossamer_sandbox.web.patience import Patience
from gossamer_sandbox.web.site import SitePlan
from gossamer_sandbox.web.sites import Sites
from gossamer_sandbox.web.visitors import NOBODY, Visitor, as_seen_by
from gossamer_sandbox.web.wire import Reply, reply_of

REMEMBERED_BYTES = 64 << 20
_WORTH_REMEMBERING = 1 << 20
_SMALL_FILES = {
    ".pdf": ("application/pdf", b"%PDF-1.4\n%%EOF\n"),
    ".zip": ("application/zip", b"PK\x05\x06" + bytes(18)),
    ".jpg": ("image/jpeg", b"\xff\xd8\xff\xd9"),
    ".png": ("image/png", b"\x89PNG\r\n\x1a\n"),
    ".ico": ("image/x-icon", bytes(4)),
    ".css": ("text/css", b"body{}"),
}


_Key = tuple[str, str, bool, Visitor]


class Replies:
    """Responses for every host of a sample web. Pages are generated on request, and recent ones are cached."""

    def __init__(self, sites: Sites, patience: Patience, *, remembered_bytes: int = REMEMBERED_BYTES) -> None:
        self._sites = sites
        self._patience = patience
        self._recent: OrderedDict[_Key, Reply] = OrderedDict()
        self._recent_bytes = 0
        self._most_bytes = remembered_bytes

    def reply(self, host: str, target: str, *, gzip: bool, visitor: Visitor = NOBODY) -> Reply:
        """The reply to a GET of a path with its query on a host."""
        key = (host, target, gzip, visitor)
        known = self._recent.get(key)
        if known is not None:
            self._recent.move_to_end(key)
            return known
        answer, lasting = self._answer(host, target, visitor)
        reply = reply_of(answer, gzip=gzip)
        if lasting and reply.size < _WORTH_REMEMBERING:
            self._remember(key, reply)
        return reply

    def _remember(self, key: _Key, reply: Reply) -> None:
        self._recent[key] = reply
        self._recent_bytes += reply.size
        while self._recent_bytes > self._most_bytes:
            self._recent_bytes -= self._recent.popitem(last=False)[1].size

    def _answer(self, host: str, target: str, visitor: Visitor) -> tuple[Answer, bool]:
        """The answer, and whether the next request for it gets the same."""
        number = self._sites.number_of(host)
        if number is None:
            return _outside(host), True
        name = self._sites.profile(number).name
        if host == name.twin:
            return Answer(301, (("Location", f"http://{name.primary}{target}"),)), True
        site = self._sites.site(number)
        found = _own_file(site, target)
        if found is not None:
            return found, True
        plan = as_seen_by(self._sites.page(number, target), visitor)
        if plan.refusal is not None:
            refused = self._refused(host + target, plan.refusal)
            if refused is not None:
                return refused, False
        elif plan.status == 404 and (small := _small_file(target)):
            return small, True
        return page_answer(self._sites.settings, site.profile, plan), True

    def _refused(self, address: str, refusal: Refusal) -> Answer | None:
        now = time.time()
        until = self._patience.closed_until(address, refusal.seconds, now)
        if not until:
            return None
        wait = math.ceil(until - now)
        headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)
        if refusal.seconds:
            stated = formatdate(math.ceil(until), usegmt=True) if refusal.dated else str(wait)
            headers = (("Retry-After", stated), *headers)
        return Answer(refusal.status, headers, b"<title>Busy</title><p>CRM software: please come back later.</p>")


def _own_file(site: SitePlan, target: str) -> Answer | None:
    """robots.txt and the files of the sitemap."""
    robots = site.robots
    if target == "/robots.txt" and robots.moved_to:
        return Answer(301, (("Location", robots.moved_to),))
    if target == (robots.moved_to or "/robots.txt"):
        return Answer(robots.status, (("Content-Type", robots.content_type),), robots.body)
    file = site.sitemap.file(target)
    return Answer(200, (("Content-Type", file[0]),), file[1]) if file else None


def _small_file(target: str) -> Answer | None:
    path = target.partition("?")[0].lower()
    kind = _SMALL_FILES.get(path[path.rfind(".") :] if "." in path else "")
    return Answer(200, (("Content-Type", kind[0]),), kind[1]) if kind else None


def _outside(host: str) -> Answer:
    """Hosts outside the web answer too, so that a reader who strays is seen in the log."""
    known = is_outside(host)
    body = f"<!DOCTYPE html><title>{'Elsewhere' if known else 'No such site'}</title><p>Nothing to see here.</p>"
    return Answer(200 if known else 404, (("Content-Type", "text/html; charset=utf-8"),), body.encode())
