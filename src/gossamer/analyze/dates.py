"""The date of a page's last change. Only dates that the page states itself, in an unambiguous form."""

import re
from datetime import date, timedelta

from gossamer.model.document import Document
from gossamer.parse.parts import Landmarks

# Meta elements that speak of the page, by `property` or `name`.
_STATED = frozenset(
    {
        "article:modified_time",
        "article:published_time",
        "og:updated_time",
        "last-modified",
        "date",
        "dc.date",
        "dc.date.modified",
        "dcterms.created",
        "dcterms.issued",
        "dcterms.modified",
    }
)
# `03/04/2026` is one day here and another there: only the international form counts.
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?!\d)")
_LINKED_DATA = "application/ld+json"
_LINKED_DATE = re.compile(r'"date(?:Modified|Published)"\s*+:\s*+"(\d{4}-\d\d-\d\d)(?!\d)')
_FIRST = date(1995, 1, 1)
_TIME_ZONES = timedelta(days=1)


def page_date(doc: Document) -> str:
    """The latest day a page gives for itself, `2026-03-01`, or "" if it gives none.

    Read are meta elements, and the structured data inside the page. Days before the web or after the visit are not
    believed. The Last-Modified header is not asked: most servers make it up.
    """
    landmarks: Landmarks = doc.landmarks
    stated = [
        meta.attr("content") or ""
        for meta in landmarks.metas
        if (meta.attr("property") or meta.attr("name") or "").strip().lower() in _STATED
    ]
    for script in landmarks.scripts:
        if (script.attr("type") or "").strip().lower() == _LINKED_DATA:
            stated += _LINKED_DATE.findall(script.text)
    latest = doc.fetched_at.date() + _TIME_ZONES
    days = [day for text in stated if (day := _day(text)) and _FIRST <= day <= latest]
    return max(days).isoformat() if days else ""


def _day(text: str) -> date | None:
    found = _ISO.match(text.strip())
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None
