"""The form in which keywords and text are compared, and the way back to where a match stood in the text.

Folding takes case away (`Straße` and `STRASSE` are one word) and lets typographic hyphens and apostrophes count as
plain ones. It may make a text longer: `ß` becomes `ss`.
"""

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate, chain

# What joins words as the plain hyphen does, the en dash of sloppy typing included. Em dashes part sentences.
_HYPHENS = ("\u2010", "\u2011", "\u2012", "\u2013", "\u2212", "\ufe63", "\uff0d")
_APOSTROPHES = ("\u2019", "\u2018", "\u201b", "\u02bc", "\uff07")

_OTHER_ASCII_SPACES = ("\t", "\n", "\x0b", "\x0c", "\r", "\x1c", "\x1d", "\x1e", "\x1f")
_OTHER_SPACES = ("\x85", "\xa0", "\u1680", *map(chr, range(0x2000, 0x200B)), "\u2028", "\u2029", "\u202f", "\u205f")
_IDEOGRAPHIC_SPACE = "\u3000"

# The only characters that grow when folded lie in these three stretches.
_GROWING = re.compile(
    "|".join(
        character
        for character in map(chr, chain(range(0xDF, 0x588), range(0x1E96, 0x1FFD), range(0xFB00, 0xFB18)))
        if len(character.casefold()) > 1
    )
)


_PLAIN = {**dict.fromkeys(_HYPHENS, "-"), **dict.fromkeys(_APOSTROPHES, "'")}
_ASCII = bytes(range(128))
_FEW = 8


def fold(text: str) -> str:
    """The form to compare: as long as the text, unless some of its characters grow."""
    if text.isascii():
        return text.lower()
    return _fold_mostly_ascii(text) or _fold_any(text)


def fold_in_case(text: str) -> str:
    """The same where capitals count: as long as the text, whatever is in it."""
    return text if text.isascii() else _plain_marks(text)


def _plain_marks(text: str) -> str:
    for variant, plain in _PLAIN.items():
        if variant in text:
            text = text.replace(variant, plain)
    return text


def _fold_any(text: str) -> str:
    # Before case folding, which makes modifier apostrophes of its own.
    return _plain_marks(text).casefold()


def _fold_mostly_ascii(text: str) -> str:
    """The same for a text with a few other characters, three times as fast; nothing for any other text.

    Most pages in Latin script are like this: quotation marks, dashes, some accents.
    """
    encoded = text.encode("utf-8", "surrogatepass")
    others = encoded.translate(None, _ASCII)
    if len(others) * 4 > len(encoded):
        return ""
    changed = {
        other: folded for other in {*others.decode("utf-8", "surrogatepass")} if (folded := _one(other)) != other
    }
    # One after the other is as good as all at once only where none makes what another one changes.
    if len(changed) > _FEW or any(not changed.keys().isdisjoint(folded) for folded in changed.values()):
        return ""
    text = encoded.lower().decode("utf-8", "surrogatepass")
    for other, folded in changed.items():
        text = text.replace(other, folded)
    return text


@lru_cache(maxsize=4_096)
def _one(character: str) -> str:
    return _PLAIN.get(character) or character.casefold()


def squeeze(text: str) -> str:
    """Every run of white space as one space, and none at the ends. Text that is so already is found out cheaply."""
    return text if _is_squeezed(text) else " ".join(text.split())


def _is_squeezed(text: str) -> bool:
    if "  " in text or text[:1] == " " or text[-1:] == " ":
        return False
    if any(space in text for space in _OTHER_ASCII_SPACES):
        return False
    return text.isascii() or not (_IDEOGRAPHIC_SPACE in text or any(space in text for space in _OTHER_SPACES))


class Origins:
    """From a place in a folded text to the same place in the text it was made of."""

    def __init__(self, text: str, folded: str) -> None:
        self._ends: list[int] = []  # where in the folded text each grown character ends
        self._extra: list[int] = [0]  # by how much all the grown ones so far have grown
        if len(folded) != len(text):
            grown = [(match.start(), len(match[0].casefold()) - 1) for match in _GROWING.finditer(text)]
            self._extra += accumulate(extra for _, extra in grown)
            self._ends = [start + 1 + extra for (start, _), extra in zip(grown, self._extra[1:], strict=True)]

    def of(self, place: int) -> int:
        return place - self._extra[bisect_right(self._ends, place)]
