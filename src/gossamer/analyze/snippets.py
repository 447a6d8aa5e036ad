"""The words round a mention, for a person to judge it by."""

REACH = 150  # characters on each side, the dots of a cut included
_CUT = "..."
# What steers a terminal or turns the direction of reading round: a snippet is only ever looked at.
_STEERING = dict.fromkeys(
    [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)],
)


def snippet(text: str, start: int, end: int) -> str:
    """`text[start:end]` with what stands round it, cut at word edges. `text` has single spaces."""
    return harmless(_before(text, start) + text[start:end] + _after(text, end))


def harmless(text: str) -> str:
    """A text that may be shown in any terminal."""
    # Nearly every text is printable, and asking is a hundred times as fast as translating.
    return text if text.isprintable() else text.translate(_STEERING)


def _before(text: str, start: int) -> str:
    if start <= REACH:
        return text[:start]
    first = start - REACH + len(_CUT)
    edge = text.find(" ", first - 1, start)
    # Without a space there (Chinese, one endless word) the cut falls where it falls.
    return _CUT + text[first if edge < 0 else edge + 1 : start]


def _after(text: str, end: int) -> str:
    if len(text) - end <= REACH:
        return text[end:]
    last = end + REACH - len(_CUT)
    edge = text.rfind(" ", end, last + 1)
    return text[end : last if edge < 0 else edge] + _CUT
