"""Keywords in a text: which of a job's are mentioned, how often, and in what words, in one pass for all of them.

Folding takes case away (`Straße` and `STRASSE` are one word) and lets typographic hyphens and apostrophes count as
plain ones. It may make a text longer: `ß` becomes `ss`.

The rules, in the order in which they matter:

- Case does not count, in any script (`CRM`, `crm`; `Straße`, `STRASSE`). Typographic hyphens and apostrophes are plain
  ones; white space in a phrase is any run of white space, line ends and no-break spaces included.
- A keyword that begins (ends) with a word character must not be preceded (followed) by one. Word characters are
  letters, decimal digits, underscore and combining marks: `CRM` is not in `sCRaMble`, `CRM2` or `my_crm`, but it is in
  `CRM's`, `pre-CRM` and `CRM²`.
- Scripts without spaces between words (Han, Kana, Thai, Lao, Khmer, Myanmar) have no such edges: a keyword that begins
  or ends in one of them needs no boundary there, and next to a keyword they do not prevent a mention (`CRM` is in
  `使用CRM软件`). Hangul next to a keyword of another script does not either (`CRM을`).
- A keyword that begins (ends) with a symbol needs no boundary there, except that the symbol must not go on: `C++` is in
  `C++17` but not in `C+++`; `.NET` is in `ASP.NET`, but not in `ASP.NETwork` (its other edge is a letter) or `..NET`.
- Names of hosts end in what may be a keyword: a dot and letters. Glued to a word, such a keyword counts only if it is
  not in lower case there: `.NET` is in `ASP.NET`, but not in `company.net`. Alone it counts in any case.
- Every keyword counts separately: in `CRM software`, both `CRM` and `CRM software` are mentioned. Mentions of the same
  keyword do not overlap each other. Title and text are two texts: no phrase begins in one and ends in the other.
- Keywords that are the same after all this are one, spelled as the first of them.

A job may say that case counts (`IT` is not `it`), and that singular and plural of a keyword count as it (see
`analyze.plurals`).
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import accumulate, chain

from ahocorasick_rs import AhoCorasick, Implementation

from gossamer.analyze.plurals import forms_of
from gossamer.analyze.snippets import REACH, snippet

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
    """Fold a text where capitals count: the result is as long as the text."""
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
    """Replace each run of white space by one space, and strip the ends; quick for text without such runs."""
    return text if _is_squeezed(text) else " ".join(text.split())


def _is_squeezed(text: str) -> bool:
    if "  " in text or text[:1] == " " or text[-1:] == " ":
        return False
    if any(space in text for space in _OTHER_ASCII_SPACES):
        return False
    return text.isascii() or not (_IDEOGRAPHIC_SPACE in text or any(space in text for space in _OTHER_SPACES))


class Origins:
    """Map a position in a folded text to the position in the original text."""

    def __init__(self, text: str, folded: str) -> None:
        self._ends: list[int] = []  # where in the folded text each grown character ends
        self._extra: list[int] = [0]  # by how much all the grown ones so far have grown
        if len(folded) != len(text):
            grown = [(match.start(), len(match[0].casefold()) - 1) for match in _GROWING.finditer(text)]
            self._extra += accumulate(extra for _, extra in grown)
            self._ends = [start + 1 + extra for (start, _), extra in zip(grown, self._extra[1:], strict=True)]

    def of(self, place: int) -> int:
        return place - self._extra[bisect_right(self._ends, place)]


# Soft hyphens, zero-width characters, marks of direction and the like are not in the text of a page, so they can be in
# no keyword either. Spelled out here, because checking a keyword should not load what reads pages.
_INVISIBLE = dict.fromkeys([0, 0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])
# The fastest automaton is a table with a row per character of every keyword; beyond this it would be a large table.
_LARGEST_TABLE = 20_000
_ENDS_HOSTS = re.compile(r"\.[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Mention:
    """A keyword on a page."""

    keyword: str
    frequency: int  # title and text together
    snippet: str
    in_title: int = 0


def clean_keyword(keyword: str) -> str:
    """Return a keyword as stored and shown: composed, single-spaced, no invisible characters. May be empty."""
    return " ".join(unicodedata.normalize("NFC", keyword.translate(_INVISIBLE)).split())


def fold_keyword(keyword: str, *, case_sensitive: bool = False) -> str:
    """Normalize a keyword, so that two spellings of the same keyword become equal."""
    return (fold_in_case if case_sensitive else fold)(clean_keyword(keyword))


@dataclass(slots=True)
class _Tally:
    """One keyword in one text so far."""

    count: int
    first: int  # where the first mention begins
    end: int  # where the last one ends
    length: int = 0  # of the first mention; 0: of the keyword itself


class KeywordMatcher:
    """All keywords of a job. Built once, used for every page."""

    def __init__(
        self,
        keywords: Sequence[str],
        *,
        case_sensitive: bool = False,
        plurals: bool = False,
        reach: int = REACH,
    ) -> None:
        self._fold: Callable[[str], str] = fold_in_case if case_sensitive else fold
        self._reach = reach
        spellings: dict[str, str] = {}
        for keyword in map(clean_keyword, keywords):
            if keyword:
                spellings.setdefault(self._fold(keyword), keyword)
        self._keywords = tuple(spellings.values())
        self.forms: dict[str, tuple[str, ...]] = {}
        """All spellings of each keyword that has other forms, itself first. None in a job without plurals."""
        self._owners: dict[int, tuple[int, ...]] = {}
        if plurals:
            self._add_forms(spellings)
        self._lengths = tuple(map(len, spellings))
        self._dotted = frozenset(at for at, name in enumerate(self._keywords) if _ENDS_HOSTS.fullmatch(name))
        self._blocked_before = tuple(
            _blockers(folded[0], dotted=at in self._dotted) for at, folded in enumerate(spellings)
        )
        self._blocked_after = tuple(_blockers(folded[-1]) for folded in spellings)
        small = sum(self._lengths) <= _LARGEST_TABLE
        self._automaton = AhoCorasick(list(spellings), implementation=Implementation.DFA if small else None)

    def matches(self, title: str, text: str) -> list[Mention]:
        """The keywords mentioned, in the order they were given. Both texts are expected in composed form (NFC)."""
        return self.matches_in_tidy(squeeze(title), squeeze(text))

    def matches_in_tidy(self, title: str, text: str) -> list[Mention]:
        """The same for texts known to have single spaces only, as those of a Document have."""
        folded_title, folded_text = self._fold(title), self._fold(text)
        in_title, in_text = self._count(title, folded_title), self._count(text, folded_text)
        if not in_title and not in_text:
            return []
        if self._owners:
            in_title, in_text = self._by_keyword(in_title), self._by_keyword(in_text)
        title_origins, text_origins = Origins(title, folded_title), Origins(text, folded_text)
        mentions = []
        for index in sorted(in_title.keys() | in_text.keys()):
            titled, written = in_title.get(index), in_text.get(index)
            times_titled = titled.count if titled else 0
            frequency = times_titled + (written.count if written else 0)
            if written:
                around = self._snippet(index, written, text, text_origins)
            elif titled:
                around = self._snippet(index, titled, title, title_origins)
            mentions.append(Mention(self._keywords[index], frequency, around, times_titled))
        return mentions

    def spelled(self, keywords: Collection[str]) -> Collection[str]:
        """Return all forms of these keywords that count as mentions on a page."""
        if not self.forms:
            return keywords
        return [form for keyword in keywords for form in self.forms.get(keyword, (keyword,))]

    def counts(self, text: str) -> dict[str, int]:
        """Count the mentions of each keyword in a text with single spaces; keywords without mentions are left out."""
        tallies = self._count(text, self._fold(text))
        if self._owners:
            tallies = self._by_keyword(tallies)
        return {self._keywords[index]: tally.count for index, tally in tallies.items()}

    def _add_forms(self, spellings: dict[str, str]) -> None:
        """Add the forms of the keywords to the searched words. One form may belong to several keywords."""
        owners: dict[str, list[int]] = {}
        for at, keyword in enumerate(self._keywords):
            forms = () if _ENDS_HOSTS.fullmatch(keyword) else forms_of(keyword)
            if forms:
                self.forms[keyword] = (keyword, *forms)
            for folded in dict.fromkeys(map(self._fold, forms)):
                owners.setdefault(folded, []).append(at)
                spellings.setdefault(folded, "")
        places = {folded: at for at, folded in enumerate(spellings)}
        self._owners = {places[folded]: tuple(of) for folded, of in owners.items()}

    def _by_keyword(self, tallies: dict[int, _Tally]) -> dict[int, _Tally]:
        """Merge the mentions of all forms of a keyword."""
        merged: dict[int, _Tally] = {}
        for at, tally in tallies.items():
            owners = self._owners.get(at, ())
            for owner in (at, *owners) if at < len(self._keywords) else owners:
                so_far = merged.get(owner)
                if so_far is None:
                    merged[owner] = _Tally(tally.count, tally.first, tally.end, self._lengths[at])
                    continue
                so_far.count += tally.count
                if tally.first < so_far.first:
                    so_far.first, so_far.length = tally.first, self._lengths[at]
        return merged

    def _count(self, text: str, folded: str) -> dict[int, _Tally]:
        before, after, length = self._blocked_before, self._blocked_after, len(folded)
        dotted, origins = self._dotted, None
        tallies: dict[int, _Tally] = {}
        for index, start, end in self._automaton.find_matches_as_indexes(folded, overlapping=True):
            if start and before[index][folded[start - 1]]:
                if index not in dotted:
                    continue
                origins = origins or Origins(text, folded)
                glued_to_a_word = sort_of(folded[start - 1]) is Sort.WORD
                if not glued_to_a_word or text[origins.of(start) : origins.of(end)].islower():
                    continue
            if end < length and after[index][folded[end]]:
                continue
            tally = tallies.get(index)
            if tally is None:
                tallies[index] = _Tally(1, start, end)
            elif start >= tally.end:
                tally.count += 1
                tally.end = end
        return tallies

    def _snippet(self, index: int, tally: _Tally, text: str, origins: Origins) -> str:
        end = tally.first + (tally.length or self._lengths[index])
        return snippet(text, origins.of(tally.first), origins.of(end), self._reach)


class _Blockers(dict[str, bool]):
    """Cache of characters that, next to this edge of a keyword, rule out a mention."""

    def __init__(self, edge: str, *, dotted: bool) -> None:
        super().__init__()
        self._edge = edge
        self._dotted = dotted  # a dot before letters, which to a word before it may be the end of a host's name
        self._sort = sort_of(edge)

    def __missing__(self, neighbour: str) -> bool:
        match self._sort:
            case Sort.WORD:
                blocked = sort_of(neighbour) is Sort.WORD
            case Sort.HANGUL:
                blocked = sort_of(neighbour) in (Sort.WORD, Sort.HANGUL)
            case Sort.UNSPACED:
                blocked = False
            case Sort.SYMBOL:
                blocked = neighbour == self._edge or (self._dotted and sort_of(neighbour) is Sort.WORD)
        self[neighbour] = blocked
        return blocked


@lru_cache(maxsize=256)
def _blockers(edge: str, *, dotted: bool = False) -> _Blockers:
    return _Blockers(edge, dotted=dotted)
