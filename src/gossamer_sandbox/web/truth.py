"""The truth of a sample web: every page with its mentions, and the expected result of every site."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from gossamer.model.trouble import Reason
from gossamer.model.url import host_of, path_of
from gossamer_sandbox.web.keywords import CLIENT, COMPETITORS, KEYWORDS, OUTSIDE
from gossamer_sandbox.web.listing import Sitemap
from gossamer_sandbox.web.mentions import mentions_of, says_nofollow
from gossamer_sandbox.web.page import Manner, PagePlan
from gossamer_sandbox.web.quirks import landing_path
from gossamer_sandbox.web.reach import Caps, Reach, walk
from gossamer_sandbox.web.seeing import Href, Mention, Reached, Sight
from gossamer_sandbox.web.site import SitePlan
from gossamer_sandbox.web.sites import Sites
from gossamer_sandbox.web.traps import ENDLESS


def truth_of(sites: Sites, caps: Caps) -> dict[str, Any]:
    return _opening(sites, caps) | {"sites": list(sites_truth(sites, caps))}


def write_truth(sites: Sites, caps: Caps, path: Path) -> None:
    """The same value as JSON, one site to a line."""
    opening = orjson.dumps(_opening(sites, caps)).removesuffix(b"}")
    with path.open("wb") as file:
        file.write(opening + b',"sites":[\n')
        for at, site in enumerate(sites_truth(sites, caps)):
            file.write((b",\n" if at else b"") + orjson.dumps(site))
        file.write(b"\n]}\n")


def _opening(sites: Sites, caps: Caps) -> dict[str, Any]:
    return {
        "seed": sites.settings.seed,
        "caps": asdict(caps),
        "keywords": list(KEYWORDS),
        "client": CLIENT,
        "competitors": list(COMPETITORS),
        "outside": list(OUTSIDE),
    }


def sites_truth(sites: Sites, caps: Caps) -> Iterator[dict[str, Any]]:
    """Site by site, in the order of their numbers."""
    handed = _handed_over(sites, caps)
    for number in sites.numbers:
        yield site_truth(sites, number, caps, handed.get(number, ()))


def _handed_over(sites: Sites, caps: Caps) -> dict[int, list[str]]:
    """Pages that a site shows only because another one redirects there: those whose redirect is really met."""
    handed: dict[int, list[str]] = {}
    for source, target in sites.landings():
        landing = f"{sites.profile(target).origin}{landing_path(source)}"
        if landing in walk_site(sites, source, caps).handed:
            handed.setdefault(target, []).append(landing)
    return handed


def walk_site(sites: Sites, number: int, caps: Caps, handed_over: Iterable[str] = ()) -> Reach:
    """The walk of one site by the rules of `reach`."""
    site = sites.site(number)
    name = site.profile.name

    def look(url: str) -> Sight:
        if host_of(url) == name.twin:
            return Sight(301, redirect=f"http://{name.primary}{path_of(url)}")
        return sight_of(sites.page(number, path_of(url)), name.host)

    return walk(
        f"http://{name.start}/",
        look,
        lambda url: site.robots.allows(path_of(url)),
        caps,
        sitemap=Sitemap(
            (site.sitemap.entry,) if site.profile.sitemap_named else (),
            lambda url: site.sitemap.read(path_of(url)),
        ),
        handed_over=tuple(handed_over),
        refusal=Reason.ROBOTS_UNREACHABLE if site.robots.unreachable else Reason.ROBOTS,
    )


def sight_of(plan: PagePlan, host: str) -> Sight:
    """Return the final view of a page of a host: one that refuses the first request is seen as it is afterwards."""
    if plan.manner is Manner.REDIRECT:
        return Sight(plan.moved, redirect=plan.location or "")
    if plan.manner.reasons:
        return Sight(plan.status, reasons=plan.manner.reasons)
    return Sight(
        plan.status,
        hrefs=tuple(Href(anchor.href, anchor.nofollow) for anchor in plan.anchors),
        nofollow=says_nofollow(plan),
        base=plan.base,
        refresh=plan.refresh,
        canonical=plan.canonical,
        mentions=mentions_of(plan, host),
    )


def site_truth(sites: Sites, number: int, caps: Caps, handed_over: Iterable[str] = ()) -> dict[str, Any]:
    """Everything expected of one site."""
    site = sites.site(number)
    reach = walk_site(sites, number, caps, handed_over)
    home = reach.pages[0]
    _add_other_homes(site, home)
    state, reasons = _outcome(home, reach.cut)
    profile, robots = site.profile, site.robots
    return {
        "host": profile.name.host,
        "listed_as": profile.name.listed,
        "quirk": profile.quirk,
        "robots": robots.variant,
        "rules": [asdict(rule) for rule in robots.rules],
        "crawl_delay": robots.crawl_delay,
        "traps": sorted(site.traps & set(ENDLESS)),
        "expect": {"state": state, "reasons": [reason.name for reason in reasons]},
        # Of a site without a homepage nothing is learned that would be worth checking.
        "size": None if home.reasons else reach.size,
        "size_source": None if home.reasons else reach.size_source,
        "pages": [*map(_entry, reach.pages), *_never_seen(site, reach)],
        "disallowed": [profile.origin + path for path in site.pages if not robots.allows(path)],
        "capped": bool(reach.cut),
    }


def _add_other_homes(site: SitePlan, home: Reached) -> None:
    """A reader may as well begin at the other twin."""
    name = site.profile.name
    if name.twin and not home.reasons:
        home.aliases |= {f"http://{name.primary}/", f"http://{name.twin}/"} - {home.url}


def _outcome(home: Reached, cut: str) -> tuple[str, tuple[Reason, ...]]:
    if Reason.MOVED in home.reasons:
        return "done", ()
    if home.reasons:
        return "failed", home.reasons
    if not cut:
        return "done", ()
    return "partial", (Reason.PARTIAL_TRAP if cut == "trap" else Reason.PARTIAL_PAGES,)


def _entry(page: Reached) -> dict[str, Any]:
    sight = page.sight
    return {
        "url": page.url,
        "aliases": sorted(page.aliases),
        "reachable": page.requested,
        "status": sight.status or None,
        "reasons": [reason.name for reason in page.reasons],
        **_said({} if page.reasons else sight.mentions),
    }


def _said(mentions: Mapping[str, Mention]) -> dict[str, Any]:
    return {
        "keywords": {keyword: mention.frequency for keyword, mention in mentions.items()},
        "verdicts": {keyword: mention.verdict for keyword, mention in mentions.items()},
        "positions": {keyword: mention.position for keyword, mention in mentions.items()},
    }


def _never_seen(site: SitePlan, reach: Reach) -> Iterator[dict[str, Any]]:
    """Pages with something on them that no walk by the rules gets to."""
    met = {page.url for page in reach.pages}.union(*(page.aliases for page in reach.pages))
    for path, plan in site.pages.items():
        url = site.profile.origin + path
        if url in met or plan.manner is Manner.REDIRECT or plan.manner.reasons:
            continue
        allowed = site.robots.allows(path)
        seen = sight_of(plan, site.profile.name.host)
        yield {
            "url": url,
            "aliases": [],
            "reachable": False,
            "status": None,
            "reasons": [] if allowed else [Reason.ROBOTS.name],
            **_said(seen.mentions),
        }
