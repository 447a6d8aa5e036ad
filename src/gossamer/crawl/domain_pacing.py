"""Pacing of each domain over all jobs: how far apart its requests begin, and one of them at a time.

The distance is the largest of our spacing, the crawl delay or back-off of the domain, and its slowness."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from weakref import WeakValueDictionary

_LONGEST = 60.0  # seconds that our own back-off reaches
_SLOW = 1.0  # an answer that takes longer is a sign of strain
_LONGEST_FOR_SLOWNESS = 15.0
_WEIGHT = 0.3  # of the latest answer in how slow a server is taken to be
_CALM_AFTER = 10  # good answers in a row halve the back-off
_REMEMBERED = 10_000  # far more than a process walks at once
STRAINED = frozenset({429, 503})


@dataclass(slots=True)
class _Pace:
    """Special pacing of a domain. Most domains have none."""

    asked: float = 0.0  # Crawl-delay
    backoff: float = 0.0
    calm: int = 0  # good answers since the last strained one
    took: float = 0.0  # what its answers take of late

    @property
    def room(self) -> float:
        slowness = min(self.took, _LONGEST_FOR_SLOWNESS) if self.took > _SLOW else 0.0
        return max(self.asked, self.backoff, slowness)


class DomainPacing:
    """One per process. All requests to a domain are made by one process, so all of them are seen here."""

    def __init__(self, spacing_of: Callable[[str], timedelta]) -> None:
        self._spacing_of = spacing_of
        self._slower = 1
        self._manners: OrderedDict[str, _Pace] = OrderedDict()

    def spacing(self, domain: str) -> timedelta:
        """The least time between two requests."""
        ours = self._spacing_of(domain)
        if self._slower != 1:
            ours *= self._slower
        manner = self._manners.get(domain)
        return max(ours, timedelta(seconds=manner.room)) if manner else ours

    def slow_down(self, factor: int) -> None:
        """So many times the room we give by ourselves, to every domain; 1 is the usual speed."""
        self._slower = factor

    def asks(self, domain: str, seconds: float) -> None:
        """The site's robots.txt names a delay."""
        if seconds > 0:
            manner = self._manner(domain)
            manner.asked = max(manner.asked, seconds)

    def answered(self, domain: str, status: int, took: float | None) -> None:
        """Update the pacing after an answer. A domain that is neither strained nor slow costs one lookup.

        `took` is None if a service between us and the site determines the time.
        """
        manner = self._manners.get(domain)
        if manner is not None:
            self._manners.move_to_end(domain)
        if status in STRAINED:
            manner = self._manner(domain)
            least = self._spacing_of(domain).total_seconds()
            manner.backoff = min(max(manner.backoff, least) * 2, max(_LONGEST, least))
            manner.calm = 0
        elif manner is not None and manner.backoff:
            manner.calm += 1
            if manner.calm >= _CALM_AFTER:
                manner.calm = 0
                manner.backoff = manner.backoff / 2 if manner.backoff > 1 else 0.0
        if took is not None and (took > _SLOW or (manner is not None and manner.took)):
            manner = self._manner(domain)
            manner.took += (took - manner.took) * _WEIGHT

    def _manner(self, domain: str) -> _Pace:
        """Return the domain's pacing state; above the size limit the least recently used state is dropped.

        Domains being walked are used all the time, so they stay.
        """
        manner = self._manners.get(domain)
        if manner is None:
            manner = self._manners[domain] = _Pace()
            if len(self._manners) > _REMEMBERED:
                self._manners.popitem(last=False)
        else:
            self._manners.move_to_end(domain)
        return manner


class DomainLocks:
    """One request at a time per domain in this process.

    The Gate spaces the moments at which requests begin; if a first one is slow to connect, a second could catch up
    with it. Waiting for the one before keeps the gap that the site sees.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, domain: str) -> asyncio.Lock:
        lock = self._locks.get(domain)
        if lock is None:
            lock = self._locks[domain] = asyncio.Lock()
        return lock
