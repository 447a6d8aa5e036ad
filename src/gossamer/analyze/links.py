"""The links of a page as its visitors see them: where each leads, how it is written, and in what words."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from turbohtml import Element

from gossamer.analyze.snippets import harmless
from gossamer.model.document import Document
from gossamer.model.record import Value
from gossamer.model.url import MAX_URL_LENGTH, normalise, site_of_url
from gossamer.parse.decode import decode_and_tell
from gossamer.parse.links import is_plain, is_unfollowed, with_query_in
from gossamer.parse.metadata import base_of
from gossamer.parse.parts import texts_of
from gossamer.parse.structured import clean
from gossamer.parse.text import tidy

LONGEST_LABEL = 100  # characters


@dataclass(frozen=True, slots=True)
class Anchor:
    """An `<a>` or `<area>`. `url` is the one spelling of its address, `written` what the page has."""

    element: Element
    url: str
    written: str

    @property
    def nofollow(self) -> bool:
        return is_unfollowed(self.element.attr("rel") or "")


class Sender:
    """Spells the URLs of a page as a browser does when it requests them."""

    def __init__(self, doc: Document) -> None:
        self._doc = doc
        self._codec: str | None = None  # found out when it matters

    def spell(self, href: str) -> str:
        if "?" not in href or href.isascii():
            return href
        if self._codec is None:
            self._codec = decode_and_tell(self._doc.body, self._doc.headers.get("content-type", ""))[1]
        return with_query_in(self._codec, href) if self._codec else href


def anchors_of(doc: Document) -> Iterator[Anchor]:
    """The links of a page that may leave its site, in the order of the page; those of image maps come last."""
    base = base_of(doc.tree, doc.url)
    sender = Sender(doc)
    at_home = site_of_url(base) == site_of_url(doc.url)
    for element in chain(doc.tree.find_all("a"), doc.tree.find_all("area")):
        href = (element.attr("href") or "").strip()
        if not href or (at_home and _is_relative(href)):
            continue
        url = href if is_plain(href) else normalise(href if href.isascii() else sender.spell(href), base)
        if url is not None:
            yield Anchor(element, url, href if _is_presentable(href) else url)


def label_of(anchor: Anchor) -> str:
    """Return the label of a link: its text, otherwise the alternative text of its picture.

    Up to 100 characters.
    """
    text = texts_of([anchor.element])[0] or _alternative(anchor.element)
    return harmless(text)[:LONGEST_LABEL].rstrip()


def _is_relative(href: str) -> bool:
    """Return True if a URL evidently stays on the host of its page, because it names no host."""
    return ":" not in href and not href.startswith(("//", "/\\", "\\"))


def _is_presentable(href: str) -> bool:
    """Return True if a URL can be shown as written: absolute, printable and not too long."""
    return href[:8].lower().startswith(("http://", "https://")) and href.isprintable() and len(href) <= MAX_URL_LENGTH


def _alternative(element: Element) -> str:
    pictures = [element] if element.tag == "area" else element.select("img[alt]")
    return next((said for picture in pictures if (said := tidy(picture.attr("alt") or ""))), "")


MOST = 5_000
_LONGEST_LABEL = 300  # characters


def page_links(doc: Document) -> list[Value]:
    """`url`, `text` and `nofollow` of each address once, in the order of the page."""
    base = base_of(doc.tree, doc.url)
    sender = Sender(doc)
    found: dict[str, Value] = {}
    for element in chain(doc.tree.find_all("a"), doc.tree.find_all("area")):
        href = (element.attr("href") or "").strip()
        url = normalise(sender.spell(href), base) if href and not href.startswith("#") else None
        if url is None or url in found:
            continue
        label = tidy(element.text[: 4 * _LONGEST_LABEL]) or tidy(element.attr("title") or "")
        found[url] = {
            "url": url,
            "text": clean(label)[:_LONGEST_LABEL],
            "nofollow": doc.nofollow or is_unfollowed(element.attr("rel") or ""),
        }
        if len(found) >= MOST:
            break
    return list(found.values())
