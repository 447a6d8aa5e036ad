"""The form in which keywords and text are compared, and the way back to where it stood in the text.

Folding takes case away (`Straße` and `STRASSE` are one word), and lets typographic hyphens and apostrophes count as
plain ones. It may make a text longer: `ß` becomes `ss`.
"""

import re
from bisect import bisect_left
from itertools import accumulate, chain

# Hyphen, non-breaking hyphen, figure dash and minus join words as the plain hyphen does; en and em dashes part them.
_HYPHENS = ("\u2010", "\u2011", "\u2012", "\u2212", "\ufe63", "\uff0d")
_APOSTROPHES = ("\u2019", "\u2018", "\u02bc", "\u201b", "\uff07")

# The only characters that grow when folded lie in these three stretches.
_GROWING = re.compile(
    "[" + "".join(
        chr(code)
        for code in chain(range(0xDF, 0x588), range(0x1E96, 0x1FFD), range(0xFB00, 0xFB18))
        if len(chr(code).casefold()) > 1
    ) + "]"
)


def fold(text: str) -> str:
    """The form to compare. As long as the text, unless some of its characters grow."""
    if text.isascii():
        return text.lower()
    folded = text.casefold()
    for variant in _HYPHENS:
        if variant in folded:
            folded = folded.replace(variant, "-")
    for variant in _APOSTROPHES:
        if variant in folded:
            folded = folded.replace(variant, "'")
    return folded


def squeeze(text: str) -> str:
    """Every run of white space as one space, none at the ends."""
    return text if _is_squeezed(text) else " ".join(text.split())


class Origins:
    """From a place in a folded text to the same place in the text it was made of."""

    def __init__(self, text: str, folded: str) -> None:
        self._ends: list[int] = []  # where in the folded text each grown character ends
        self._extra: list[int] = [0]  # by how much all up to it have grown
        if len(folded) != len(text):
            grown = [(match.start(), len(match[0].casefold()) - 1) for match in _GROWING.finditer(text)]
            self._extra += accumulate(extra for _, extra in grown)
            self._ends = [start + 1 + extra for (start, _), extra in zip(grown, self._extra[1:], strict=True)]

    def of(self, place: int) -> int:
        return place - self._extra[bisect_left(self._ends, place + 1)] if self._ends else place
