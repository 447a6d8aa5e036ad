"""The links of a page as a list for people: where each leads, in which words, and whether it is to be followed."""

from itertools import chain

from gossamer.analyze.anchors import Sender
from gossamer.model.document import Document
from gossamer.model.record import Value
from gossamer.model.url import normalise
from gossamer.parse.links import is_unfollowed
from gossamer.parse.metadata import base_of
from gossamer.parse.structured import clean
from gossamer.parse.text import tidy

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
