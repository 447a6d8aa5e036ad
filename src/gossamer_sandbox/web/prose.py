"""Filler text in seven languages: pages are assembled from a pool of prepared sentences and paragraphs.

The pool of a language is the same for every seed and is built on first use, because a page must cost the
server microseconds per paragraph, not a walk through the dictionary.
"""

from dataclasses import dataclass
from functools import lru_cache
from random import Random

from gossamer_sandbox.web.dice import dice
from gossamer_sandbox.web.vocabulary import WORDS

_SENTENCES = 400
_PARAGRAPHS = 240
_SLUG_WORDS = tuple(word for word in WORDS["en"] if word.isascii() and word.isalpha() and len(word) > 3)


@dataclass(frozen=True, slots=True)
class Prose:
    """Filler text of one language; clauses are a few words without a full stop that fit next to any text."""

    language: str
    clauses: tuple[str, ...]
    sentences: tuple[str, ...]
    paragraphs: tuple[str, ...]  # HTML, without the surrounding tag
    gap: str  # what stands between two clauses

    def around(self, middle: str, throw: Random, *, spaced: bool) -> str:
        """A sentence with something in the middle of it, filler on both sides."""
        gap = " " if spaced else self.gap
        return f"{throw.choice(self.clauses)}{gap}{middle}{gap}{throw.choice(self.clauses)}"


@lru_cache(maxsize=len(WORDS))
def prose_in(language: str) -> Prose:
    throw = dice("prose", language)
    gap = "" if language == "ja" else " "
    stop = "。" if language == "ja" else "."
    clauses = tuple(gap.join(throw.sample(WORDS[language], throw.randint(2, 5))) for _ in range(_SENTENCES))
    sentences = tuple(_sentence(throw, clauses, gap, stop) for _ in range(_SENTENCES))
    paragraphs = tuple(_paragraph(throw, sentences, gap) for _ in range(_PARAGRAPHS))
    return Prose(language, clauses, sentences, paragraphs, gap)


def _sentence(throw: Random, clauses: tuple[str, ...], gap: str, stop: str) -> str:
    text = gap.join(throw.sample(clauses, throw.randint(2, 4)))
    return text[0].upper() + text[1:] + stop


def _paragraph(throw: Random, sentences: tuple[str, ...], gap: str) -> str:
    chosen = throw.sample(sentences, throw.randint(3, 7))
    if throw.random() < 0.5:
        tag = throw.choice(("em", "strong", "span", "i", "small"))
        at = throw.randrange(len(chosen))
        chosen[at] = f"<{tag}>{chosen[at]}</{tag}>"
    return gap.join(chosen) if gap else "\n".join(chosen)


def slug(throw: Random, words: int = 2) -> str:
    """Part of an address: plain letters in every language, as most sites have it."""
    return "-".join(throw.choices(_SLUG_WORDS, k=words))
