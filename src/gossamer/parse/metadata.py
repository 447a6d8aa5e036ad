"""Statements of a page about itself: title, language, canonical URL, and if its links may be followed."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from turbohtml import Document as Tree
from turbohtml import Element, Namespace

from gossamer.model.document import as_meant
from gossamer.model.url import normalise
from gossamer.parse.links import is_plain, with_query_in
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
_HEAD_BEGINS = re.compile(r"<head(?=[\s>/])", re.IGNORECASE)
_HEAD_ENDS = re.compile(r"</head(?=[\s>])|<body(?=[\s>/])", re.IGNORECASE)
_CANONICAL_LINK = re.compile(r"<link\b[^<>]*canonical", re.IGNORECASE)
_NO_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|<script\b.*?(?:</script|\Z)", re.IGNORECASE | re.DOTALL)


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
    """Return True if an X-Robots-Tag asks our crawler not to follow links.

    A directive belongs to the robot named before it, as in `otherbot: noindex, nofollow`, until the next
    name or the end of the line: each line was a header of its own. Dates contain commas and colons too,
    but the part before the colon contains spaces, which no robot's name does.
    """
    return any(map(_line_forbids_following, header.lower().split("\n"))) if header else False


def _line_forbids_following(line: str) -> bool:
    addressed = True
    for part in line.split(","):
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


def canonical_of(tree: Tree, source: str, base: str, link_header: str, codec: str = "") -> str | None:
    """The address the page calls its own: by `<link rel=canonical>` in its head, else by the Link header."""
    moved: bool | None = None
    for element in tree.find_all("link"):
        relation = element.attr("rel") or ""
        if relation != "canonical" and "canonical" not in relation.lower().split():
            continue
        href = element.attr("href")
        if href is None:
            continue
        parent = element.parent
        if not (isinstance(parent, Element) and parent.tag == "head"):
            # What stands elsewhere may be anybody's.
            moved = _head_has_canonical(source) if moved is None else moved
            if not moved or element.closest("template") is not None:
                continue
        href = href.strip()
        if not href or is_plain(href):
            return href or None
        return normalise(with_query_in(codec, href) if codec else href, base)
    for address, parameters in _LINK_HEADER.findall(as_meant(link_header)) if link_header else ():
        stated = _REL.search(parameters)
        if stated and "canonical" in (stated[1] or stated[2] or "").lower().split():
            return normalise(address.strip(), base)
    return None


def _head_has_canonical(source: str) -> bool:
    """Return True if the source has such a link inside its head, or does not mark where the head is.

    The parser ends the head at the first element that does not belong there, and moves the rest to the
    body.
    """
    head = _HEAD_BEGINS.search(source)
    if head is None:
        return True
    rest = _NO_MARKUP.sub("", source[head.end() :])
    end = _HEAD_ENDS.search(rest)
    return _CANONICAL_LINK.search(rest, 0, end.start() if end else len(rest)) is not None


def base_of(tree: Tree, url: str) -> str:
    """Return the base URL of relative addresses: the first `<base href>` if it is usable, else the page's URL."""
    for element in tree.find_all("base"):
        href = element.attr("href")
        if href is not None:
            return normalise(href, url) or url
    return url
