"""How much a page says besides its furniture: menus, headers, footers and lists of links."""

from typing import Any

from gossamer.model.document import Document

# What is the same on every page of a site, leads elsewhere, or is never shown.
_ASIDE = frozenset({
    "nav", "header", "footer", "button", "select", "script", "style", "noscript", "template", "svg", "iframe", "object",
    "title",
})  # fmt: skip


def has_prose(doc: Document, characters: int) -> bool:
    """Whether more than so many characters stand in the page itself.

    Hidden text counts too: whoever asks wants to condemn pages that say little, so the error is on the safe side.
    """
    if len(doc.text) <= characters:
        return False
    left = characters
    waiting: list[Any] = [doc.tree]
    while waiting:
        for node in waiting.pop().children:
            tag = getattr(node, "tag", None)
            if tag is None:
                # Indentation is no text.
                left -= len(" ".join(node.text.split()))
                if left < 0:
                    return True
            elif not _is_aside(tag, node):
                waiting.append(node)
    return False


def _is_aside(tag: str, element: Any) -> bool:
    # An anchor without an address leads nowhere; where nobody has closed it, the whole page stands in it.
    return tag in _ASIDE or (tag == "a" and "href" in element.attrs) or element.attr("role") == "navigation"
