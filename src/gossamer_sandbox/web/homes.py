"""Site-level quirks: the homepage fails, moves away, or answers only after a delay."""

from collections.abc import Mapping
from dataclasses import replace

from gossamer_sandbox.web.crowd import Crowd
from gossamer_sandbox.web.draft import Draft
from gossamer_sandbox.web.forms import ASCII_PLANTS
from gossamer_sandbox.web.keywords import CLIENT
from gossamer_sandbox.web.page import Manner
from gossamer_sandbox.web.quirks import BLOCKS, LEADING, Quirk, redirect, refusal, wrong_charset
from gossamer_sandbox.web.robots import CLOSED


def _answered(manner: Manner) -> Quirk:
    def quirk(draft: Draft) -> None:
        draft.change("/", manner=manner)

    return quirk


def _redirected(location: str | None) -> Quirk:
    def quirk(draft: Draft) -> None:
        redirect(draft, "/", location, 302)

    return quirk


def _chain(hops: int) -> Quirk:
    """The homepage lies behind so many redirects."""

    def quirk(draft: Draft) -> None:
        home, anchors = draft.plans["/"], draft.anchors["/"]
        paths = ["/", *(f"/start/{at}" for at in range(1, hops))]
        for path, following in zip(paths, [*paths[1:], "/start/here"], strict=True):
            redirect(draft, path, following)
        draft.add(replace(home, path="/start/here"))
        draft.anchors["/start/here"] = anchors

    return quirk


def _loop(draft: Draft) -> None:
    redirect(draft, "/", "/start/1")
    redirect(draft, "/start/1", "/")


def _moved(draft: Draft) -> None:
    """To the homepage of another listed site; a web without such a site has nowhere to move to."""
    if draft.neighbour:
        redirect(draft, "/", f"{draft.neighbour}/", 301)
    else:
        draft.change("/", manner=Manner.GONE)


def _refused_once(status: int, *, waits: bool = False, dated: bool = False) -> Quirk:
    def quirk(draft: Draft) -> None:
        draft.change("/", refusal=refusal(draft, status, waits=waits, dated=dated))

    return quirk


def _wrong_charset(draft: Draft) -> None:
    draft.anchors["/"] = [anchor for anchor in draft.anchors["/"] if anchor.plant is None]
    draft.change("/", plants=draft.plants(ASCII_PLANTS), decoys=(), misdeclared=wrong_charset(draft))


def _meta_refresh(draft: Draft) -> None:
    draft.page("/entrance", plants=draft.plants())
    draft.change("/", refresh="0;url=/entrance")


def _meta_nofollow(draft: Draft) -> None:
    """Make the homepage `nofollow`, so that only the sitemap leads further."""
    draft.link("/", f"https://{CLIENT}/partners", "text")
    draft.change("/", meta_robots="NOFOLLOW")


def _large_sitemap(draft: Draft) -> None:
    """Many more pages in the sitemap than links lead to; two in five are gone."""
    draft.crowd = Crowd("/archive/", 1_500)


def _huge_sitemap(draft: Draft) -> None:
    """Make a sitemap of nearly the permitted size, with the linked pages at its end."""
    draft.crowd = Crowd("/record/", 49_850, chained=False)
    twin = draft.profile.name.twin
    for path, anchors in draft.anchors.items():
        draft.anchors[path] = [anchor for anchor in anchors if not twin or f"//{twin}/" not in anchor.href]
    for path in (*draft.crowd.paths(80), *draft.plans):
        draft.link("/", path)


def _as_it_is(_: Draft) -> None:
    """The quirk lies in robots.txt."""


_FAILING = (
    Manner.UNAUTHORISED,
    Manner.FORBIDDEN,
    Manner.NOT_FOUND,
    Manner.GONE,
    Manner.BUSY_FOR_HOURS,
    Manner.BROKEN,
    Manner.DRIP,
    Manner.CUT_OFF,
    Manner.BOMB,
    Manner.HUGE,
    Manner.EMPTY,
    Manner.SHELL,
    Manner.PARKED,
    Manner.LOGIN_WALL,
    Manner.MENDED,
    Manner.FRAMED,
    *BLOCKS,
)

HOME_QUIRKS: Mapping[str, Quirk] = {
    "redirect-3": _chain(3),
    "redirect-5": _chain(5),
    "redirect-8": _chain(8),
    "redirect-loop": _loop,
    "moved": _moved,
    "busy-once": _refused_once(429, waits=True),
    "busy-once-dated": _refused_once(429, waits=True, dated=True),
    "away-once": _refused_once(503),
    "slow": _answered(Manner.SLOW),
    "wrong-charset": _wrong_charset,
    "meta-refresh": _meta_refresh,
    "meta-nofollow": _meta_nofollow,
    "large-sitemap": _large_sitemap,
    "huge-sitemap": _huge_sitemap,
    **{f"robots-{variant}": _as_it_is for variant in CLOSED},
    **{name: _redirected(location) for name, location in LEADING.items()},
    **{manner.label: _answered(manner) for manner in _FAILING},
}
