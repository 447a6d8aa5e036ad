"""The words round a mention, for a person to judge it by."""

import unicodedata

REACH = 150  # characters on each side, the dots of a cut included
_CUT = "..."
# How much of that may be given up to cut between two words. Text without spaces between its words has some beside a
# foreign one, which is no reason to leave all the rest out.
_SLACK = 30
# What steers a terminal or turns the direction of reading round: a snippet is only ever looked at.
_STEERING = dict.fromkeys(
    [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)],
)


def snippet(text: str, start: int, end: int, reach: int = REACH) -> str:
    """Return `text[start:end]` with its context, cut at word edges. `text` has single spaces."""
    return harmless(_before(text, start, reach) + text[start:end] + _after(text, end, reach))


def harmless(text: str) -> str:
    """Return a text that is safe to show in any terminal."""
    # Nearly every text is printable, and asking is a hundred times as fast as translating.
    return text if text.isprintable() else text.translate(_STEERING)


def _before(text: str, start: int, reach: int) -> str:
    if start <= reach:
        return text[:start]
    if reach < len(_CUT):
        return ""
    first = start - reach + len(_CUT)
    last = min(first + _SLACK, start)
    edge = text.find(" ", first - 1, last)
    # Without a space there (Chinese, one endless word) the cut falls where it falls, though not within a character.
    return _CUT + text[_without_marks(text, first, last) if edge < 0 else edge + 1 : start]


def _after(text: str, end: int, reach: int) -> str:
    if len(text) - end <= reach:
        return text[end:]
    if reach < len(_CUT):
        return ""
    last = end + reach - len(_CUT)
    first = max(last - _SLACK, end)
    edge = text.rfind(" ", first, last + 1)
    return text[end : _without_marks(text, last, first) if edge < 0 else edge] + _CUT


def _without_marks(text: str, cut: int, end: int) -> int:
    """Return the nearest position whose character is not a combining mark; `cut` if all are marks."""
    for place in range(cut, end, 1 if end > cut else -1):
        if unicodedata.category(text[place])[0] != "M":
            return place
    return cut
