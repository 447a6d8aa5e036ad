"""Normalised words of a page for the checks: parts of its title, its main headings, its prose."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from turbohtml import Element

from gossamer.model.document import Document

# What sites put between a page's title and their own name. A plain hyphen only between spaces.
_SEPARATORS = re.compile(r"\s*[|•·»›«‹—–:]\s*|\s+-+\s+")
_FEW = 3  # headings of one rank that may say what a page is
_EDGES = " .!?…'\"“”()[]"
# How `words_of` spells other characters than letters and digits: apostrophes alike, punctuation as spaces.
_BEYOND_ASCII = {**dict.fromkeys("’‘ʼ´", "'"), **dict.fromkeys("…“”„«»‹›–—·•¡¿", " ")}
_ASCII = bytes.maketrans(b'`!"#$%&()*+,-./:;<=>?@[\\]^_{|}~', b"'" + b" " * 30)


def title_parts(doc: Document) -> tuple[str, ...]:
    """The parts of the title between separators; lower case, without punctuation at the ends."""
    return tuple(map(plain, _SEPARATORS.split(doc.title)))


def headings(doc: Document, tag: str, *, outside: str = "") -> list[str]:
    """The first few headings of one rank, spelled like titles; only those outside of what a selector names."""
    found = islice((each for each in _of_rank(doc, tag) if not outside or each.closest(outside) is None), _FEW)
    return [plain(_text_of(each)) for each in found]


def statements(doc: Document, tag: str) -> list[tuple[str, Element]]:
    """Return the first few headings of one rank that are not questions, with their elements."""
    found = ((_text_of(each), each) for each in islice(_of_rank(doc, tag), _FEW))
    return [(plain(text), each) for text, each in found if not text.endswith("?")]


def _of_rank(doc: Document, tag: str) -> Iterator[Element]:
    for each in doc.landmarks.headings:
        # They come by rank, and pages may have hundreds of the lower ones.
        if each.tag > tag:
            break
        if each.tag == tag:
            yield each


def _text_of(heading: Element) -> str:
    return " ".join(heading.text[:500].split())


def plain(text: str) -> str:
    return text.strip(_EDGES).lower().replace("’", "'")


def words_of(text: str) -> str:
    """Return the text in lower case, without punctuation except apostrophes, which are made alike."""
    spelled = text.lower()
    if not spelled.isascii():
        for mark, plain_one in _BEYOND_ASCII.items():
            spelled = spelled.replace(mark, plain_one)
    # Bytes are translated many times as fast as characters, and no letter beyond ASCII has one of these in it.
    spelled = spelled.encode("utf-8", "surrogatepass").translate(_ASCII).decode("utf-8", "surrogatepass")
    return " ".join(spelled.split()).strip(" '")


# What is the same on every page of a site, leads elsewhere, or is never shown.
_ASIDE = frozenset({
    "nav", "header", "footer", "button", "select", "script", "style", "noscript", "template", "svg", "iframe", "object",
    "title",
})  # fmt: skip


def has_prose(doc: Document, characters: int) -> bool:
    """Return True if more than so many characters stand in the page itself.

    Hidden text counts too: callers use this to reject pages with little text, so the error is on the safe
    side.
    """
    if len(doc.text) <= characters:
        return False
    left = characters
    waiting: list[Any] = [doc.tree]
    while waiting:
        for node in waiting.pop().children:
            tag = getattr(node, "tag", None)
            if tag is None:
                # Indentation does not count as text.
                left -= len(" ".join(node.text.split()))
                if left < 0:
                    return True
            elif not _is_aside(tag, node):
                waiting.append(node)
    return False


def _is_aside(tag: str, element: Any) -> bool:
    # An anchor without an address is not a link; if it is never closed, it contains the whole page.
    return tag in _ASIDE or (tag == "a" and "href" in element.attrs) or element.attr("role") == "navigation"
