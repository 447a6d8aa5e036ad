"""What a page calls itself: the parts of its title and its main headings, spelled for comparison."""

import re

from gossamer.model.document import Document

# What sites put between a page's title and their own name. A plain hyphen only between spaces.
_SEPARATORS = re.compile(r"\s*[|•·»›«‹—–:]\s*|\s+-+\s+")
_FEW = 3  # headings of one rank that may say what a page is
_EDGES = " .!?…'\"“”()[]"
_APOSTROPHES = re.compile("[’‘ʼ´`]")
_PUNCTUATION = re.compile("[\\s!-&(-/:-@\\[-`{-~…“”„«»‹›–—·•¡¿]+")


def title_parts(doc: Document) -> tuple[str, ...]:
    """The parts of the title between separators; lower case, without punctuation at the ends."""
    return tuple(map(plain, _SEPARATORS.split(doc.title)))


def headings(doc: Document, tag: str, *, outside: str = "") -> list[str]:
    """The first few headings of one rank, spelled like titles; only those outside of what a selector names."""
    found: list[str] = []
    for each in doc.landmarks.headings:
        rank = each.tag
        # They come by rank, and pages may have hundreds of the lower ones.
        if rank > tag or len(found) == _FEW:
            break
        if rank == tag and (not outside or each.closest(outside) is None):
            found.append(plain(" ".join(each.text[:500].split())))
    return found


def plain(text: str) -> str:
    return text.strip(_EDGES).lower().replace("’", "'")


def words_of(text: str) -> str:
    """Lower case and without any punctuation but apostrophes, of which there is one kind."""
    return _PUNCTUATION.sub(" ", _APOSTROPHES.sub("'", text.lower())).strip(" '")
