"""Places without an end: pages that are made up from their address, each linking to one more. They mention nothing."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from gossamer.testing.web.dice import number
from gossamer.testing.web.draft import Draft
from gossamer.testing.web.page import Anchor, PagePlan

_CALENDAR = re.compile(r"/calendar/(\d{4,})/(\d\d)")
_GROWING = re.compile(r"/filter\?((?:tag=\d+&?)+)")
_NESTING = re.compile(r"/browse/(?:more/items/)*")
_SESSION = "SESSION"


def _calendar(draft: Draft) -> None:
    draft.traps.add("calendar")
    draft.link(draft.somewhere(), "/calendar/2026/01")


def _growing_query(draft: Draft) -> None:
    draft.traps.add("growing-query")
    draft.link(draft.somewhere(), "/filter?tag=1")


def _nesting_path(draft: Draft) -> None:
    draft.traps.add("nesting-path")
    draft.link(draft.somewhere(), "/browse/")


def _session(draft: Draft) -> None:
    """Three pages that link to themselves and each other with an ever new session in the address."""
    draft.traps.add("session")
    pages = [f"/cart/{name}" for name in ("basket", "wishes", "checkout")]
    for path in pages:
        draft.page(path, plants=draft.plants())
        for at, other in enumerate(pages):
            session = f";jsessionid={_SESSION}" if at % 2 else f"?PHPSESSID={_SESSION}"
            draft.link(path, f"{other}{session}")
    draft.link(draft.somewhere(), f"{pages[0]}?PHPSESSID=0f3a")


TRAPS: Mapping[str, Callable[[Draft], None]] = {
    "calendar": _calendar,
    "growing-query": _growing_query,
    "nesting-path": _nesting_path,
    "session": _session,
}

ENDLESS = ("calendar", "growing-query", "nesting-path")
"""The ones a walk leaves only at its caps; sessions end as soon as addresses are normalised."""


def endless_page(traps: frozenset[str], path: str) -> PagePlan | None:
    """The page at an address inside one of a site's traps."""
    onward = ""
    if "calendar" in traps and (match := _CALENDAR.fullmatch(path)):
        months = int(match[1]) * 12 + int(match[2])  # the number of next month, counted from 0
        onward = f"/calendar/{months // 12}/{months % 12 + 1:02d}"
    elif "growing-query" in traps and (match := _GROWING.fullmatch(path)):
        onward = f"{path}&tag={match[1].count('tag=') + 1}"
    elif "nesting-path" in traps and _NESTING.fullmatch(path):
        onward = "more/items/"
    if not onward:
        return None
    return PagePlan(path, "leaf", anchors=(Anchor(onward, "text"), Anchor("/", "text")), paragraphs=7)


def in_session(plan: PagePlan, requested: str) -> PagePlan:
    """The page with links that carry a session never seen before, yet the same for the same request."""
    if not plan.path.startswith("/cart/"):
        return plan
    token = f"{number('session', requested):016x}"
    anchors = tuple(replace(anchor, href=anchor.href.replace(_SESSION, token)) for anchor in plan.anchors)
    return replace(plan, anchors=anchors)
