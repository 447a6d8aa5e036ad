"""Which addresses of a site a job wants at all, by the patterns it was given."""

import re
from collections.abc import Sequence
from functools import lru_cache

from gossamer.model.job import CrawlPolicy


class Scope:
    """A job's include and exclude patterns: `*` is any run of characters, `?` one of them."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = _either(include)
        self._exclude = _either(exclude)

    def wants(self, tail: str) -> bool:
        """Whether a path with its query may be visited."""
        if self._include and not self._include.fullmatch(tail):
            return False
        return not (self._exclude and self._exclude.fullmatch(tail))


@lru_cache(maxsize=64)
def scope_of(policy: CrawlPolicy) -> Scope:
    """Built once for a job, not for each of its sites."""
    return Scope(policy.include, policy.exclude)


def _either(patterns: Sequence[str]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    return re.compile("|".join(_translated(pattern) for pattern in patterns), re.DOTALL)


def _translated(pattern: str) -> str:
    """Each star takes as little as it can and never gives back: the site writes the addresses, and some are traps.

    The first place where a piece fits is as good as any later one, so nothing is missed by that; only the last piece
    must stand at the end.
    """
    first, *pieces = [_literal(piece) for piece in re.split(r"\*+", pattern)]
    if not pieces:
        return first
    *inner, last = pieces
    return first + "".join(f"(?>.*?{piece})" for piece in inner) + f".*{last}"


def _literal(piece: str) -> str:
    return "".join("." if character == "?" else re.escape(character) for character in piece)
