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
    parts = {"*": ".*", "?": "."}
    # Runs of stars mean one; written out they would take exponential time on an address that does not fit.
    return "(?:" + "".join(parts.get(part) or re.escape(part) for part in re.sub(r"\*+", "*", pattern)) + ")"
