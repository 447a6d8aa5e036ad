"""The ordinary part of a site: sections, items, how they link to each other, and what hangs on robots.txt."""

from collections.abc import Mapping
from urllib.parse import quote, unquote

from gossamer_sandbox.web.draft import Draft
from gossamer_sandbox.web.forms import ASCII_PLANTS, PLANTS
from gossamer_sandbox.web.keywords import OUTSIDE
from gossamer_sandbox.web.page import Anchor, Plant
from gossamer_sandbox.web.prose import slug
from gossamer_sandbox.web.robots import RobotsFile
from gossamer_sandbox.web.vocabulary import WORDS

_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "blog": ("/blog/", "/topics/", "/about"),
    "shop": ("/products/", "/offers/", "/delivery"),
    "magazine": ("/news/", "/reviews/", "/culture/"),
    "directory": ("/listing/", "/places/", "/add-yours"),
    "company": ("/services/", "/work/", "/team"),
    "docs": ("/docs/", "/guide/", "/changes"),
}
_ITEM_LOOK = {"shop": "product", "directory": "entry", "docs": "manual"}
_FRAMED = tuple(plant for plant in PLANTS if plant.place == "p")
# Menus are on every page, also on one whose charset is declared wrongly.
_IN_MENU = tuple(plant for plant in ASCII_PLANTS if plant.place == "p")
_ELSEWHERE = (*OUTSIDE[1:], "www.rival-north.test", "blog.rival-south.test")


def lay_out(draft: Draft, robots: RobotsFile) -> None:
    """Fill a draft with an ordinary site of the drawn size."""
    profile, throw = draft.profile, draft.throw
    if throw.random() < 0.15:
        plant = throw.choice(_FRAMED)
        draft.frame = (Plant(plant.phrase, plant.form, throw.choice(("foot", "foot", "brand", "menu"))),)
    draft.page("/", "home")
    draft.nav.append(Anchor("/", "nav"))
    sections = _sections(draft)
    items = [_item_path(draft, sections[at % len(sections)], at) for at in range(profile.size - 1 - len(sections))]
    for path in items:
        draft.page(path, _ITEM_LOOK.get(profile.kind, "article"))
    draft.ordinary = ["/", *sections, *items]
    _link_items(draft, sections, items)
    for path in draft.ordinary:
        _link_outside(draft, path)
    _hang_robots_pages(draft, robots)


def _sections(draft: Draft) -> list[str]:
    wanted = 1 + draft.profile.size // 7
    sections = list(_SECTIONS[draft.profile.kind][: min(wanted, draft.profile.size - 1)])
    spoken = draft.throw.random() < 0.06
    for path in sections:
        draft.page(path, "section")
        draft.nav.append(Anchor(path, "nav", plant=draft.throw.choice(_IN_MENU) if spoken else None))
    return sections


def _item_path(draft: Draft, section: str, at: int) -> str:
    throw, folder = draft.throw, section.rstrip("/")
    if throw.random() < 0.06 and draft.profile.language not in ("en", "ja"):
        # Written as it is read in the link, and percent-escaped on the wire.
        return quote(f"{folder}/{throw.choice(WORDS[draft.profile.language]).lower()}-{at}")
    match draft.profile.kind:
        case "blog":
            return f"{folder}/20{throw.randint(18, 26)}/{slug(throw)}-{at}"
        case "shop":
            return f"{folder}/{slug(throw)}-{at}.html"
        case "directory":
            return f"{folder}/{at}/{slug(throw)}"
        case "docs":
            return f"{folder}/{slug(throw, 1)}/{slug(throw, 1)}-{at}/"
        case _:
            return f"{folder}/{slug(throw, 3)}-{at}"


def _link_items(draft: Draft, sections: list[str], items: list[str]) -> None:
    """Most items are listed by their section, the last fifth only by the item before: that makes a site deep."""
    throw = draft.throw
    listed = len(items) - len(items) // 5
    for at, path in enumerate(items):
        section = sections[at % len(sections)]
        draft.link(path, section, "crumb")
        if at < listed:
            draft.link(section, _spelled(draft, path))
        else:
            draft.link(items[at - 1], path, "text")
        if at + 1 < listed:
            draft.link(path, items[at + 1], "text")
        for other in throw.sample(items[:listed], min(2, listed)):
            draft.link(path, _spelled(draft, other))
    for path in items[: min(3, listed)]:
        draft.link("/", path, "map" if draft.profile.kind in ("shop", "directory") else "list")


def _spelled(draft: Draft, path: str) -> str:
    """One page has many spellings: with a fragment, with the host or its twin, without escapes."""
    name = draft.profile.name
    match draft.throw.randrange(14):
        case 0:
            return f"{path}#part-2"
        case 1:
            return f"http://{name.primary}{path}"
        case 2 if name.twin:
            return f"http://{name.twin}{path}"
        case 3 | 4 | 5 | 6:
            return unquote(path)
        case _:
            return path


def _link_outside(draft: Draft, path: str) -> None:
    throw = draft.throw
    for _ in range(throw.choice((0, 0, 1, 2))):
        # Whether the client is linked is a fact of its own and decided elsewhere.
        host = throw.choice(_ELSEWHERE)
        rel = throw.choice(("", "", "nofollow", "noopener"))
        draft.link(path, f"{throw.choice(('http', 'https'))}://{host}/{slug(throw)}", "text", rel)


def _hang_robots_pages(draft: Draft, robots: RobotsFile) -> None:
    """Pages on both sides of what robots.txt forbids, all of them linked, all of them with something to find."""
    for path in (*robots.bait, *robots.beside):
        draft.page(path, plants=(*draft.frame, *draft.plants()))
        draft.link(draft.somewhere(), path, "text")
        draft.link(path, "/", "text")
