"""Pacing of each domain over all jobs: the spacing of its requests, and one request at a time.

The spacing is the largest of our own, the domain's crawl delay, the back-off, and the slowness of its answers.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from weakref import WeakValueDictionary

_LONGEST = 60.0  # seconds of back-off
_SLOW = 1.0  # seconds; an answer that takes longer is a sign of strain
_LONGEST_FOR_SLOWNESS = 15.0
_WEIGHT = 0.3  # of the latest answer in the average
_CALM_AFTER = 10  # good answers in a row halve the back-off
_REMEMBERED = 10_000  # domains; far more than a process crawls at once
STRAINED = frozenset({429, 503})


@dataclass(slots=True)
class _Pace:
    """Special pacing of a domain. Most domains have none."""

    asked: float = 0.0  # Crawl-delay
    backoff: float = 0.0
    calm: int = 0  # good answers since the last strained one
    took: float = 0.0  # seconds its latest answers took, averaged

    @property
    def distance(self) -> float:
        slowness = min(self.took, _LONGEST_FOR_SLOWNESS) if self.took > _SLOW else 0.0
        return max(self.asked, self.backoff, slowness)


class DomainPacing:
    """The pacing of all domains of a process. All requests to a domain are made by one process."""

    def __init__(self, spacing_of: Callable[[str], timedelta]) -> None:
        self._spacing_of = spacing_of
        self._slower = 1
        self._paces: OrderedDict[str, _Pace] = OrderedDict()

    def spacing(self, domain: str) -> timedelta:
        """Return the minimum time between two requests."""
        ours = self._spacing_of(domain)
        if self._slower != 1:
            ours *= self._slower
        pace = self._paces.get(domain)
        return max(ours, timedelta(seconds=pace.distance)) if pace else ours

    def slow_down(self, factor: int) -> None:
        """Multiply our own spacing by a factor, for every domain; 1 is the usual speed."""
        self._slower = factor

    def asks(self, domain: str, seconds: float) -> None:
        """Note the crawl delay that robots.txt names."""
        if seconds > 0:
            pace = self._pace(domain)
            pace.asked = max(pace.asked, seconds)

    def answered(self, domain: str, status: int, took: float | None) -> None:
        """Update the pacing after an answer. A domain that is neither strained nor slow costs one lookup.

        `took` is None if a service between us and the site determines the time.
        """
        pace = self._paces.get(domain)
        if pace is not None:
            self._paces.move_to_end(domain)
        if status in STRAINED:
            pace = self._pace(domain)
            least = self._spacing_of(domain).total_seconds()
            pace.backoff = min(max(pace.backoff, least) * 2, max(_LONGEST, least))
            pace.calm = 0
        elif pace is not None and pace.backoff:
            pace.calm += 1
            if pace.calm >= _CALM_AFTER:
                pace.calm = 0
                pace.backoff = pace.backoff / 2 if pace.backoff > 1 else 0.0
        if took is not None and (took > _SLOW or (pace is not None and pace.took)):
            pace = self._pace(domain)
            pace.took += (took - pace.took) * _WEIGHT

    def _pace(self, domain: str) -> _Pace:
        """Return the domain's pacing state; above the size limit the least recently used state is dropped.

        Domains that are being crawled are used all the time, so they stay.
        """
        pace = self._paces.get(domain)
        if pace is None:
            pace = self._paces[domain] = _Pace()
            if len(self._paces) > _REMEMBERED:
                self._paces.popitem(last=False)
        else:
            self._paces.move_to_end(domain)
        return pace


class DomainLocks:
    """One request at a time per domain in this process.

    The Gate spaces the starts of requests. If the first is slow to connect, the second could reach the site right
    behind it; waiting for the first keeps the spacing that the site sees.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, domain: str) -> asyncio.Lock:
        lock = self._locks.get(domain)
        if lock is None:
            lock = self._locks[domain] = asyncio.Lock()
        return lock
