"""Which of a job's keywords a page mentions, how often, and in what words. One pass over the text for all of them.

The rules, in the order in which they matter:

- Case does not count, in any script (`CRM`, `crm`; `Straße`, `STRASSE`). Typographic hyphens and apostrophes are plain
  ones; white space in a phrase is any run of white space, line ends and no-break spaces included.
- A keyword that begins (ends) with a word character must not be preceded (followed) by one. Word characters are
  letters, decimal digits, underscore and combining marks: `CRM` is not in `sCRaMble`, `CRM2` or `my_crm`, but it is in
  `CRM's`, `pre-CRM` and `CRM²`.
- Scripts without spaces between words (Han, Kana, Thai, Lao, Khmer, Myanmar) have no such edges: a keyword that begins
  or ends in one of them needs no boundary there, and beside a keyword they do not stand in its way (`CRM` is in
  `使用CRM软件`). Hangul beside a keyword of another script does not either (`CRM을`).
- A keyword that begins (ends) with a symbol needs no boundary there, except that the symbol must not go on: `C++` is in
  `C++17` but not in `C+++`; `.NET` is in `ASP.NET`, but not in `ASP.NETwork` (its other edge is a letter) or `..NET`.
- Names of hosts end in what may be a keyword: a dot and letters. Glued to a word, such a keyword counts only if it is
  not in lower case there: `.NET` is in `ASP.NET`, but not in `company.net`. By itself it counts in any case.
- Every keyword counts by itself: in `CRM software`, both `CRM` and `CRM software` are mentioned. Mentions of the same
  keyword do not overlap each other. Title and text are two texts: no phrase begins in one and ends in the other.
- Keywords that are the same after all this are one, spelled as the first of them.

A job may say that case counts (`IT` is not `it`), and that singular and plural of a keyword count as it (see
`analyze.plurals`).
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ahocorasick_rs import AhoCorasick, Implementation

from gossamer.analyze.characters import Sort, sort_of
from gossamer.analyze.folding import Origins, fold, fold_in_case, squeeze
from gossamer.analyze.plurals import forms_of
from gossamer.analyze.snippets import REACH, snippet

# Soft hyphens, zero-width characters, marks of direction and the like are not in the text of a page, so they can be in
# no keyword either. Spelled out here, because whoever only checks a keyword should not load what reads pages.
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
    """A keyword as it is kept and shown: composed, with single spaces, nothing invisible. May be empty."""
    return " ".join(unicodedata.normalize("NFC", keyword.translate(_INVISIBLE)).split())


def fold_keyword(keyword: str, *, case_sensitive: bool = False) -> str:
    """What two spellings of the same keyword have in common."""
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
        """Everything that may stand on a page for any of these keywords."""
        if not self.forms:
            return keywords
        return [form for keyword in keywords for form in self.forms.get(keyword, (keyword,))]

    def counts(self, text: str) -> dict[str, int]:
        """How often each keyword is mentioned in a text with single spaces; those that are not are left out."""
        tallies = self._count(text, self._fold(text))
        if self._owners:
            tallies = self._by_keyword(tallies)
        return {self._keywords[index]: tally.count for index, tally in tallies.items()}

    def _add_forms(self, spellings: dict[str, str]) -> None:
        """Put the forms behind the keywords among what is looked for. One form may be of several keywords."""
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
        """Mentions of a keyword in all its forms as one."""
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
    """Whether a character beside this edge of a keyword makes a mention impossible; answers are remembered."""

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
