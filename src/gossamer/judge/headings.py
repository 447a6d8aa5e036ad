"""What a page calls itself: the parts of its title and its main heading, spelled for comparison."""

import re

from gossamer.model.document import Document

# What sites put between a page's title and their own name. A plain hyphen only between spaces.
_SEPARATORS = re.compile(r"\s*[|•·»›—–:]\s*|\s+-+\s+")
_EDGES = " .!?…'\"“”()[]"


def whole_title(doc: Document) -> str:
    return plain(doc.title)


def title_parts(doc: Document) -> tuple[str, ...]:
    """The parts of the title between separators; lower case, without punctuation at the ends."""
    return tuple(map(plain, _SEPARATORS.split(doc.title)))


def headings(doc: Document, tag: str) -> tuple[str, ...]:
    """The first few headings of one rank, spelled like titles."""
    return tuple(plain(" ".join(each.text[:500].split())) for each in doc.tree.find_all(tag, limit=3))


def plain(text: str) -> str:
    return text.strip(_EDGES).lower().replace("’", "'")
