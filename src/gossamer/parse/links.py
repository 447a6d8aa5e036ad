"""The addresses a page points to: its `<a>` and `<area>` elements, each once, in the order of the page.

A server that writes its pages in windows-1251 expects `?q=` in windows-1251. Path and host are UTF-8 everywhere.
"""

import codecs
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from urllib.parse import quote

from turbohtml import Document as Tree
from turbohtml import Element, parse

from gossamer.model.document import Link
from gossamer.model.url import MAX_URL_LENGTH, normalise, origin_of

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
# What the bytes of an encoded character may stay as. Characters the encoding lacks come as references (`&#1078;`),
# whose signs would mean something else in a query.
_SAFE = "".join(map(chr, range(0x21, 0x7F))).translate(str.maketrans("", "", "\"#'<>%&;"))
# Names of the standard that Python knows as something else, or not at all.
_ENCODERS = {
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "iso-8859-8-i": "iso8859-8",
    "macintosh": "mac-roman",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}


def with_query_in(codec: str, href: str) -> str:
    """Return an address with its non-ASCII query encoded in `codec`; unchanged if that is not possible."""
    if href.isascii():
        return href
    address, hash_sign, fragment = href.partition("#")
    path, mark, query = address.partition("?")
    encoder = "" if query.isascii() else _encoder_for(codec)
    if not encoder:
        return href
    spelled = _BEYOND_ASCII.sub(lambda run: quote(run[0].encode(encoder, "xmlcharrefreplace"), _SAFE), query)
    return f"{path}{mark}{spelled}{hash_sign}{fragment}"


@lru_cache(maxsize=64)
def _encoder_for(codec: str) -> str:
    """Return Python's encoder for a decoder's encoding; "" for UTF-8, and UTF-16, which is sent as UTF-8."""
    try:
        name = (parse(b"x", encoding=codec.removeprefix("whatwg-")).encoding or "").lower()
        return "" if name.startswith("utf-") else codecs.lookup(_ENCODERS.get(name, name)).name
    except LookupError:
        return ""


MAX_LINKS = 5_000
# Broken addresses cost as much as good ones, so their number is bounded too.
_MAX_HREFS = 4 * MAX_LINKS

_UNFOLLOWED = frozenset({"nofollow", "ugc", "sponsored"})

# A path of these characters only, without dot segments or empty ones, is spelled as the standard spells it: gluing it
# to its base is all there is to joining, and a whole address of this kind stays as it is. Most links are like this, and
# it is ten times as fast.
_PLAIN = re.compile(
    r"(?:https?://(?:(?!xn--)[a-z0-9][a-z0-9-]*+\.)++(?!xn--)[a-z]{2,}/|(?P<root>/)|(?P<up>(?:\.\./)*+))"
    r"(?:[A-Za-z0-9_~-][A-Za-z0-9_.~-]*+/)*+(?:[A-Za-z0-9_~-][A-Za-z0-9_.~-]*+)?"
)

# Browsers skip white space and control characters before and in the name of a scheme.
_SCRIPT_OR_DATA = re.compile(r"[\x00-\x20]*(?:(?:java|vb)script|data):", re.IGNORECASE)
_SKIPPED = dict.fromkeys(map(ord, "\t\n\r"))


def find_links(tree: Tree, base: str, codec: str = "") -> tuple[Link, ...]:
    """Absolute, normalised, without repeats. A link is `nofollow` only if the page says so each time it appears.

    `codec` is what the page is encoded in, if that is not UTF-8.
    """
    areas = tree.find_all("area")
    # Without what only leads to another place on the same page, of which long pages have many.
    anchors = tree.select('a[href]:not([href^="#"])') + areas
    # Few links say what they are to the page, and the parser finds those faster than they could be looked for.
    related = tree.select("a[rel]") + areas
    if tree.find_all("template"):
        # What stands in a template is on no page before a script has made something of it.
        anchors, related = _outside_templates(anchors), _outside_templates(related)
    written = [href for anchor in anchors if (href := anchor.attr("href")) and href[:1] != "#"]
    hrefs = [href.partition("#")[0] if "#" in href else href for href in written]
    shunned = _only_shunned(related, hrefs) if related else ()
    found: dict[str, bool] = {}
    for href, url in _joined(islice(dict.fromkeys(hrefs), _MAX_HREFS), base, codec):
        found[url] = href in shunned and found.get(url, True)
        if len(found) == MAX_LINKS:
            break
    return tuple(map(Link._make, found.items()))


def is_plain(url: str) -> bool:
    """Return True if a quick check shows that a URL is absolute and already spelled as `normalise` spells it."""
    plain = _PLAIN.fullmatch(url)
    return plain is not None and plain.lastgroup is None and len(url) <= MAX_URL_LENGTH


def _outside_templates(anchors: list[Element]) -> list[Element]:
    return [anchor for anchor in anchors if anchor.closest("template") is None]


def _only_shunned(related: list[Element], hrefs: list[str]) -> Collection[str]:
    """Return the addresses, without fragments, that are nofollow in every link to them."""
    unfollowed = [anchor.attr("href") or "" for anchor in related if is_unfollowed(anchor.attr("rel") or "")]
    if not unfollowed:
        return ()
    shunned, times = Counter(href.partition("#")[0] for href in unfollowed), Counter(hrefs)
    return {href for href, number in shunned.items() if number == times[href]}


@lru_cache(maxsize=1_024)
def is_unfollowed(relation: str) -> bool:
    """Return True if a `rel` marks the link as not recommended."""
    # Commas are wrong there, and common.
    return not _UNFOLLOWED.isdisjoint(relation.lower().replace(",", " ").split())


def is_script_or_data(address: str | None) -> bool:
    """Return True if a URL is itself a program or a document, and leads to no other page."""
    return bool(address) and _SCRIPT_OR_DATA.match(str(address).translate(_SKIPPED)) is not None


def _joined(hrefs: Iterable[str], base: str, codec: str) -> Iterator[tuple[str, str]]:
    """Each href with its address: `normalise(href, base)`, by a short way for plain ones. Broken ones vanish."""
    if not base:
        return
    origin, folders = origin_of(base), _folders(base)
    # The base adds no more than its own length, so an address up to here is never too long.
    short = MAX_URL_LENGTH - len(folders[0])
    for href in hrefs:
        plain = _PLAIN.fullmatch(href)
        if plain is None or len(href) > short:
            sent = with_query_in(codec, href) if codec else href
            # A whole address means the same everywhere, and sites repeat theirs on every page.
            url = _normalise_whole(sent) if sent.startswith(("http://", "https://")) else _normalise(sent, base)
            if url is not None:
                yield href, url
        elif plain.lastgroup is None:
            yield href, href
        elif plain.lastgroup == "root":
            yield href, origin + href
        else:
            dots = plain.end("up")
            yield href, folders[min(dots // 3, len(folders) - 1)] + href[dots:]


def _normalise(href: str, base: str) -> str | None:
    # What leads nowhere: the page itself, or white space.
    return normalise(href, base) if href and not href.isspace() else None


_normalise_whole = lru_cache(maxsize=4_096)(normalise)


def _folders(base: str) -> list[str]:
    """The folder of an address, the one above it, and so on up to the root: where `../` leads."""
    folder = base.partition("?")[0].rpartition("/")[0] + "/"
    folders = [folder]
    while folder.count("/") > 3:
        folder = folder[: folder.rindex("/", 0, -1) + 1]
        folders.append(folder)
    return folders
