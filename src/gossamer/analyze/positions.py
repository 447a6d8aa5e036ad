"""Positions of keywords on a page: in its content, a heading, a menu."""

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache

from turbohtml import Element

from gossamer.analyze.keywords import KeywordMatcher, Mention, fold, fold_keyword
from gossamer.model.document import Document
from gossamer.parse.parts import APART, Landmarks, all_furniture, is_of_the_content, is_outermost, texts_of
from gossamer.parse.text import tidy

# Between the raw texts of parts: no text has it, and a text in plain ASCII stays one, which is compared much faster.
_SEAM = "\0"
# Characters of all parts together, as often as a page may say them over; menus may hide more than a page shows.
_MOST_OF_A_PAGE, _AT_LEAST = 4, 100_000
# What is folded and what is left out of a text in plain ASCII.
_LOWER, _WHITE = bytes(range(256)).lower(), bytes(code for code in range(128) if chr(code).isspace())


class Position(StrEnum):
    """The best place a keyword is mentioned in, best first."""

    TITLE = "title"
    HEADING = "heading"
    BODY = "body"
    NAVIGATION = "navigation"  # only in menus, the page's header or its footer


def positions_of(mentions: Iterable[Mention], doc: Document, matcher: KeywordMatcher) -> dict[str, Position]:
    """The best place of each keyword. Parts of the page are read only as far as there is still a doubt."""
    found = {mention.keyword: Position.TITLE for mention in mentions if mention.in_title}
    left = {mention.keyword: mention.frequency for mention in mentions if not mention.in_title}
    if left:
        most = _MOST_OF_A_PAGE * len(doc.text) + _AT_LEAST
        landmarks: Landmarks = doc.landmarks
        headings = Parts(landmarks.headings, is_of_the_content, most, readings=landmarks.has_readings)
        for keyword in headings.counts(left, matcher):
            if left.pop(keyword, None):
                found[keyword] = Position.HEADING
    if left:
        found_furniture = all_furniture(landmarks)
        furniture = Parts(found_furniture, is_outermost, most, readings=landmarks.has_readings)
        doubtful = {
            keyword
            for keyword, times in left.items()
            if sum(map(furniture.at_most, matcher.spelled((keyword,)))) >= times
        }
        in_furniture = furniture.counts(doubtful, matcher)
        for keyword, times in left.items():
            only_there = keyword in doubtful and in_furniture.get(keyword, 0) >= times
            found[keyword] = Position.NAVIGATION if only_there else Position.BODY
    return found


class Parts:
    """Some elements of a page.

    Reading what a visitor can see of them is dear, so it is put off: the raw text, hidden words and all, is cheap and
    says what they cannot mention. Spaces are left out of the comparison, since the raw text glues blocks together.
    """

    def __init__(
        self,
        elements: Sequence[Element],
        counts: Callable[[Element], bool] = lambda _: True,
        most: int = 10_000_000,
        *,
        readings: bool = True,
    ) -> None:
        self._elements = elements
        self._counts = counts  # whether an element is one of those that are meant; asked only where it matters
        self._bare = _bare_text(_joined(_raw_texts(elements, most, readings=readings))) if elements else ""

    def at_most(self, keyword: str) -> int:
        """Return an upper bound of the number of mentions."""
        return self._bare.count(_bare_keyword(keyword))

    def may_mention(self, keywords: Collection[str]) -> list[int]:
        """Return the elements that could mention any of these keywords."""
        wanted = [bare for keyword in keywords if (bare := _bare_keyword(keyword)) in self._bare]
        if not wanted:
            return []
        return [at for at, text in enumerate(self._bare.split(_SEAM)) if any(keyword in text for keyword in wanted)]

    def counts(self, keywords: Collection[str], matcher: KeywordMatcher) -> dict[str, int]:
        """Count the visible mentions of these keywords in the elements; other keywords may be included."""
        spelled = matcher.spelled(keywords)
        worth_reading = [element for at in self.may_mention(spelled) if self._counts(element := self._elements[at])]
        return matcher.counts(f" {APART} ".join(texts_of(worth_reading))) if worth_reading else {}


def _raw_texts(elements: Sequence[Element], most: int, *, readings: bool) -> list[str]:
    texts: list[str] = []
    for element in elements:
        text = _without_readings(element) if readings else element.text
        most -= len(text)
        if most < 0:  # nested many times over: no page made for people, and not worth its memory
            return []
        texts.append(text)
    return texts


def _joined(texts: list[str]) -> str:
    joined = _SEAM.join(texts)
    if joined.count(_SEAM) >= len(texts) > 0:  # it stands in the texts, too
        joined = _SEAM.join([text.replace(_SEAM, "") for text in texts])
    return joined


def _without_readings(element: Element) -> str:
    # Small readings next to the characters stand in the middle of words, where no visitor reads them.
    return element.text if element.find("rt") is None else texts_of([element])[0]


def _bare_text(text: str) -> str:
    if text.isascii():
        return text.encode().translate(_LOWER, _WHITE).decode()
    return fold(tidy(text)).replace(" ", "")


@lru_cache(maxsize=4_096)
def _bare_keyword(keyword: str) -> str:
    return fold_keyword(keyword).replace(" ", "")
