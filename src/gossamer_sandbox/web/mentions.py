"""Mentions of each keyword on a page: how often, where, and whether the page links to the client.

- `linked`: the page links to the client's domain or a host under it, and vouches for at least one such link.
- `nofollow`: it links there, but vouches for none: by `nofollow`, `ugc` or `sponsored`, or as a whole.
- `links-elsewhere`: it does not, but links to a competitor, or this keyword stands in the text of a link to another
  registrable domain.
- `unlinked`: none of these.

A mention in the title is worth more than one in a heading, that more than one in the text, and that more than one in
the page's frame: its head, its menus, its foot.
"""

from collections import Counter
from collections.abc import Iterator

from gossamer.model.url import domain_of, host_of, normalise
from gossamer_sandbox.web.keywords import CLIENT, COMPETITORS, WORTH, is_at
from gossamer_sandbox.web.page import PagePlan, Plant
from gossamer_sandbox.web.seeing import Mention

_POSITIONS = ("title", "heading", "body", "navigation")  # best first
_PLACES = {
    "title": "title",
    **dict.fromkeys(("h1", "h2", "h4"), "heading"),
    **dict.fromkeys(("nav", "brand", "menu", "foot"), "navigation"),
}


def mentions_of(plan: PagePlan, host: str) -> dict[str, Mention]:
    """By keyword, from what was planted in a page of a host and from its links."""
    counts: Counter[str] = Counter()
    best: dict[str, int] = {}
    for place, plant in _written(plan):
        rank = _POSITIONS.index(_PLACES.get(place, "body"))
        for keyword, number in WORTH[plant.phrase].items():
            counts[keyword] += number
            best[keyword] = min(best.get(keyword, rank), rank)
    verdict, worded = _links(plan, host) if counts else ("", set())
    return {
        keyword: Mention(
            number,
            "links-elsewhere" if verdict == "unlinked" and keyword in worded else verdict,
            _POSITIONS[best[keyword]],
        )
        for keyword, number in counts.items()
    }


def _written(plan: PagePlan) -> Iterator[tuple[str, Plant]]:
    """Everything planted in a page, with its place."""
    for plant in plan.plants:
        yield plant.place, plant
    for anchor in plan.anchors:
        if anchor.plant is not None:
            yield anchor.place, anchor.plant


def _links(plan: PagePlan, host: str) -> tuple[str, set[str]]:
    """Return the part of the verdict that all keywords share, and the keywords in link texts to other domains."""
    sealed = says_nofollow(plan)
    verdicts = {"unlinked"}
    worded: set[str] = set()
    for anchor in plan.anchors:
        # Most links begin at the root and stay here.
        inside = anchor.href.startswith("/") and not anchor.href.startswith("//")
        url = None if inside else normalise(anchor.href, f"http://{host}/")
        target = host_of(url) if url else host
        if is_at(target, CLIENT):
            verdicts.add("nofollow" if sealed or anchor.nofollow else "linked")
        elif any(is_at(target, rival) for rival in COMPETITORS):
            verdicts.add("links-elsewhere")
        elif anchor.plant is not None and domain_of(target) != domain_of(host):
            worded.update(WORTH[anchor.plant.phrase])
    order = ("linked", "nofollow", "links-elsewhere", "unlinked")
    return next(verdict for verdict in order if verdict in verdicts), worded


def says_nofollow(plan: PagePlan) -> bool:
    """Return True if the whole page is `nofollow`, by a meta element or a header addressed to this crawler."""
    agent, colon, rule = plan.x_robots.rpartition(":")
    meant = not colon or agent.strip().lower() in ("*", "gossamer")
    said = plan.meta_robots.lower().replace(",", " ").split()
    return not {"nofollow", "none"}.isdisjoint(said) or (meant and "nofollow" in rule.lower())
