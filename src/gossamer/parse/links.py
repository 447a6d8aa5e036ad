"""Where a page points: the addresses of its `<a>` and `<area>` elements, each once, in the order of the page."""

import re
from itertools import islice

from turbohtml import Document as Tree

from gossamer.model.document import Link
from gossamer.model.url import MAX_URL_LENGTH, normalise, origin_of

MAX_LINKS = 5_000
# Broken addresses cost as much as good ones, so their number is bounded too.
_MAX_HREFS = 4 * MAX_LINKS

_UNFOLLOWED = frozenset({"nofollow", "ugc", "sponsored"})
_WELCOME = ":is(a,area)[href]:not([rel~=nofollow i],[rel~=ugc i],[rel~=sponsored i])"

# A path of these characters only, without dot segments or empty ones, is spelled as the standard spells it: gluing it
# to its base is all there is to joining, and a whole address of this kind stays as it is. Most links are like this, and
# it is ten times as fast.
_PLAIN = re.compile(
    r"(?:https?://(?:(?!xn--)[a-z0-9][a-z0-9-]*+\.)++(?!xn--)[a-z]{2,}/|(?P<root>/)|(?P<up>(?:\.\./)*+))"
    r"(?:[A-Za-z0-9_~-][A-Za-z0-9_.~-]*+/)*+(?:[A-Za-z0-9_~-][A-Za-z0-9_.~-]*+)?"
)


def find_links(tree: Tree, base: str) -> tuple[Link, ...]:
    """Absolute, normalised, without repeats. A link is `nofollow` only if the page says so each time it appears."""
    hrefs = _hrefs(tree) if base else {}
    welcome = _welcome_hrefs(tree) if _shuns_any(tree) else hrefs
    join = _Joiner(base).join
    found: dict[str, bool] = {}
    for href in islice(hrefs, _MAX_HREFS):
        url = join(href)
        if url is not None:
            found[url] = href not in welcome and found.get(url, True)
            if len(found) == MAX_LINKS:
                break
    return tuple(Link(url, nofollow) for url, nofollow in found.items())


def _hrefs(tree: Tree) -> dict[str, None]:
    """What the page wrote, without fragments and repeats: menus and tables of contents name a page many times."""
    hrefs: dict[str, None] = {}
    for tag in ("a", "area"):
        for element in tree.find_all(tag):
            if href := element.attr("href"):
                hrefs[href.partition("#")[0]] = None
    hrefs.pop("", None)
    return hrefs


def _shuns_any(tree: Tree) -> bool:
    marked = (*tree.select("a[rel]"), *tree.select("area[rel]"))
    return any(not _UNFOLLOWED.isdisjoint((element.attr("rel") or "").lower().split()) for element in marked)


def _welcome_hrefs(tree: Tree) -> frozenset[str]:
    return frozenset((element.attr("href") or "").partition("#")[0] for element in tree.select(_WELCOME))


class _Joiner:
    """Joins addresses to one base: what `normalise(href, base)` does, with a short way for plain ones."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._origin = origin_of(base)
        self._folder = base.partition("?")[0].rpartition("/")[0] + "/"
        # The base adds no more than its own length, so an address up to here is never too long.
        self._short = MAX_URL_LENGTH - len(self._folder)

    def join(self, href: str) -> str | None:
        plain = _PLAIN.fullmatch(href)
        if plain is None or len(href) > self._short:
            return normalise(href, self._base)
        match plain.lastgroup:
            case "root":
                return self._origin + href
            case "up":
                return self._climb(len(plain["up"])) + href[len(plain["up"]) :]
            case _:
                return href

    def _climb(self, dots: int) -> str:
        folder = self._folder
        for _ in range(dots // len("../")):
            if folder.count("/") > 3:
                folder = folder[: folder.rindex("/", 0, -1) + 1]
        return folder
