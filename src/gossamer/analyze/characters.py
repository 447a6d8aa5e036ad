"""What a character is to the edge of a word: the few facts about writing that word boundaries rest on."""

import unicodedata
from bisect import bisect_right
from enum import Enum
from functools import lru_cache

# Scripts written without spaces between words: within them there are no edges to be found, so none are asked for.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x19E0, 0x19FF),  # Khmer symbols
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),  # Han repetition mark and zero
    (0x3021, 0x3029),  # Han numerals
    (0x3038, 0x303B),  # Han numerals
    (0x3041, 0x30FF),  # Hiragana, Katakana
    (0x3100, 0x312F),  # Bopomofo
    (0x31A0, 0x31FF),  # Bopomofo, Katakana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAA7F),  # Myanmar
    (0xF900, 0xFAFF),  # Han
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x1AFF0, 0x1B16F),  # Hiragana, Katakana
    (0x20000, 0x3FFFF),  # Han
)
_HANGUL = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF))


class Sort(Enum):
    WORD = "word"  # letters, decimal digits, underscore, combining marks
    HANGUL = "hangul"  # the same, but endings are glued to foreign words: a neighbour only to its like
    UNSPACED = "unspaced"
    SYMBOL = "symbol"  # everything else, white space too


@lru_cache(maxsize=8_192)
def sort_of(character: str) -> Sort:
    if not _is_word(character):
        return Sort.SYMBOL
    code = ord(character)
    if _lies_in(_UNSPACED, code):
        return Sort.UNSPACED
    return Sort.HANGUL if _lies_in(_HANGUL, code) else Sort.WORD


def _is_word(character: str) -> bool:
    if character == "_" or character.isalpha() or character.isdecimal():
        return True
    # Variation selectors are marks by category, but they follow pictures: "✔️CRM" has an edge before the C.
    return unicodedata.category(character) in {"Mn", "Mc"} and not "\ufe00" <= character <= "\ufe0f"


def _lies_in(ranges: tuple[tuple[int, int], ...], code: int) -> bool:
    position = bisect_right(ranges, (code, 0x110000)) - 1
    return position >= 0 and code <= ranges[position][1]
