"""Places without an end: pages that are made up from their address, each linking to one more. They mention nothing."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta

from gossamer_sandbox.web.dice import number
from gossamer_sandbox.web.draft import Draft
from gossamer_sandbox.web.page import Anchor, PagePlan

_CALENDAR = re.compile(r"/calendar/(\d{4})/(\d\d)")
_DAY = re.compile(r"/days/(2\d{3}-\d\d-\d\d)")
_AGENDA = re.compile(r"/agenda\?year=(\d{4})&month=(\d{1,2})")
_GROWING = re.compile(r"/filter\?((?:tag=\d+&?)+)")
_NESTING = re.compile(r"/browse/(?:more/items/)*")
_SESSION = "SESSION"


_ENTRANCES = {
    "calendar": "/calendar/2026/01",
    "calendar-days": "/days/2026-02-20",
    "calendar-query": "/agenda?year=2026&month=9",
    "growing-query": "/filter?tag=1",
    "nesting-path": "/browse/",
}
ENDLESS = tuple(_ENTRANCES)
"""The ones that a walk must see through; sessions end as soon as addresses are normalised."""


def _entrance(name: str) -> Callable[[Draft], None]:
    def quirk(draft: Draft) -> None:
        draft.traps.add(name)
        draft.link(draft.somewhere(), _ENTRANCES[name])

    return quirk


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


TRAPS: Mapping[str, Callable[[Draft], None]] = {**{name: _entrance(name) for name in ENDLESS}, "session": _session}


def endless_page(traps: frozenset[str], path: str) -> PagePlan | None:
    """The page at an address inside one of a site's traps."""
    onward = ""
    if "calendar" in traps and (match := _CALENDAR.fullmatch(path)):
        year, month = _next_month(match)
        onward = f"/calendar/{year}/{month:02d}"
    elif "calendar-days" in traps and (match := _DAY.fullmatch(path)):
        onward = _next_day(match[1])
    elif "calendar-query" in traps and (match := _AGENDA.fullmatch(path)):
        onward = "/agenda?year={}&month={}".format(*_next_month(match))
    elif "growing-query" in traps and (match := _GROWING.fullmatch(path)):
        onward = f"{path}&tag={match[1].count('tag=') + 1}"
    elif "nesting-path" in traps and _NESTING.fullmatch(path):
        onward = "more/items/"
    if not onward:
        return None
    return PagePlan(path, "leaf", anchors=(Anchor(onward, "text"), Anchor("/", "text")), paragraphs=7)


def _next_month(match: re.Match[str]) -> tuple[int, int]:
    months = int(match[1]) * 12 + int(match[2])  # the number of next month, counted from 0
    return months // 12, months % 12 + 1


def _next_day(day: str) -> str:
    try:
        return f"/days/{date.fromisoformat(day) + timedelta(days=1)}"
    except ValueError:  # the thirtieth of February is not a page
        return ""


def in_session(plan: PagePlan, requested: str) -> PagePlan:
    """The page with links that carry a session never seen before, yet the same for the same request."""
    if not plan.path.startswith("/cart/"):
        return plan
    token = f"{number('session', requested):016x}"
    anchors = tuple(replace(anchor, href=anchor.href.replace(_SESSION, token)) for anchor in plan.anchors)
    return replace(plan, anchors=anchors)
