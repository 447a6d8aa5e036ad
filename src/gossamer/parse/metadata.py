"""What a page says about itself: title, language, canonical address, and where it does not want to be followed."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from turbohtml import Document as Tree
from turbohtml import Namespace

from gossamer.model.url import normalise
from gossamer.parse.links import is_plain
from gossamer.parse.text import tidy

# A page may speak to all robots or to us by name.
_OUR_NAMES = frozenset({"robots", "gossamer", "*"})
_FORBIDS = frozenset({"nofollow", "none"})
# Directives that carry a value after a colon; any other word before a colon is a robot's name.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_VALUED_DIRECTIVE = re.compile(r"(?<![\w-])[\w-]++\s*+:\s*+[\w-]*+")
_ROBOT_NAME = re.compile(r"[a-z*][a-z0-9_.*-]*")

_REFRESH = re.compile(
    r"\s*(?=[\d.])(\d*)(?:\.[\d.]*)?\s*[;,\s]\s*(?:url\s*=\s*)?(?:'([^']*)|\"([^\"]*)|(.*))", re.IGNORECASE | re.DOTALL
)
_LONGEST_REFRESH = 10
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{1,8})*", re.IGNORECASE)
_LINK_HEADER = re.compile(r"<([^<>]*)>([^<]*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]+))", re.IGNORECASE)
_LONGEST_TITLE = 1_000


@dataclass(frozen=True, slots=True)
class MetaTags:
    """The `<meta>` elements that matter here, read in one pass."""

    nofollow: bool
    refresh: str | None
    language: str


def read_meta_tags(tree: Tree, url: str, base: str) -> MetaTags:
    nofollow, refresh, language = False, None, ""
    for meta in tree.find_all("meta"):
        content = meta.attr("content")
        if not content:
            continue
        if name := meta.attr("name"):
            if not nofollow and name.strip().lower() in _OUR_NAMES:
                nofollow = _forbids_following(content)
        elif pragma := meta.attr("http-equiv"):
            pragma = pragma.strip().lower()
            if pragma == "refresh" and refresh is None:
                refresh = _refresh_target(content, base)
            elif pragma == "content-language" and not language:
                language = content
    # A page that only reloads itself leads nowhere.
    return MetaTags(nofollow, refresh if refresh != url else None, language)


def _forbids_following(content: str) -> bool:
    # `max-image-preview: none` forbids a picture, not the links.
    plain = _VALUED_DIRECTIVE.sub("", content.lower())
    return not _FORBIDS.isdisjoint(plain.replace(",", " ").split())


def header_forbids_following(header: str) -> bool:
    """Whether an X-Robots-Tag asks us not to follow links.

    A directive belongs to the robot named before it, as in `otherbot: noindex, nofollow`, until the next name. Dates
    contain commas and colons too, but what precedes a colon there has spaces in it, which no robot's name has.
    """
    if not header:
        return False
    addressed = True
    for part in header.lower().split(","):
        directive = part.strip()
        name, colon, rest = directive.partition(":")
        name = name.strip()
        if colon and name not in _VALUED and _ROBOT_NAME.fullmatch(name):
            addressed = name in _OUR_NAMES
            directive = rest.strip()
        if addressed and directive in _FORBIDS:
            return True
    return False


def _refresh_target(content: str, base: str) -> str | None:
    found = _REFRESH.match(content)
    if found is None:
        return None
    seconds, *targets = found.groups()
    target = next((target for target in targets if target), "").strip()
    if not target or len(seconds) > 3 or int(seconds or 0) > _LONGEST_REFRESH:
        return None
    return normalise(target, base)


def title_of(tree: Tree) -> str:
    """The page's own title, not that of a drawing in it."""
    title = tree.find("title")
    if title is not None and title.namespace is not Namespace.HTML:
        title = next((each for each in tree.find_all("title") if each.namespace is Namespace.HTML), None)
    # An unclosed title swallows the whole page.
    return tidy(title.text[: 4 * _LONGEST_TITLE])[:_LONGEST_TITLE] if title is not None else ""


def language_of(tree: Tree, *others: str) -> str:
    """The first usable language tag: the root element's, then `others` in their order. Lower case, `en-us`."""
    root = tree.root
    declared = (root.attr("lang"), root.attr("xml:lang")) if root is not None else ()
    return _first_language((*declared, *others))


def _first_language(candidates: Iterable[str | None]) -> str:
    for candidate in candidates:
        if candidate:
            first = candidate.partition(",")[0].strip()
            if len(first) <= 35 and _LANGUAGE.fullmatch(first):
                return first.replace("_", "-").lower()
    return ""


def canonical_of(tree: Tree, base: str, link_header: str) -> str | None:
    """The address the page calls its own: by `<link rel=canonical>`, else by the Link header."""
    for element in tree.find_all("link"):
        relation = element.attr("rel") or ""
        if relation != "canonical" and "canonical" not in relation.lower().split():
            continue
        href = element.attr("href")
        if href is None:
            continue
        href = href.strip()
        if not href or is_plain(href):
            return href or None
        return normalise(href, base)
    for address, parameters in _LINK_HEADER.findall(link_header) if link_header else ():
        stated = _REL.search(parameters)
        if stated and "canonical" in (stated[1] or stated[2] or "").lower().split():
            return normalise(address.strip(), base)
    return None


def base_of(tree: Tree, url: str) -> str:
    """What relative addresses are relative to: the first `<base href>` if it is usable, else the page itself."""
    for element in tree.find_all("base"):
        href = element.attr("href")
        if href is not None:
            return normalise(href, url) or url
    return url
