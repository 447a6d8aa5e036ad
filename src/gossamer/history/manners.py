"""The treatment of one domain: the moments of its requests, and the gaps between them."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

TOLERANCE = 2  # milliseconds: moments are kept in whole ones
_NAMED = 5  # forbidden addresses that are kept by name
_STRAINED = frozenset({429, 503})


class Gap(NamedTuple):
    """The time between two requests in a row, what was due between them, and when the later one went out."""

    milliseconds: int
    due: int
    at: int

    @property
    def kept(self) -> bool:
        return self.milliseconds >= self.due - TOLERANCE


@dataclass(frozen=True, slots=True)
class DomainManners:
    """The proof for one registrable domain. Times are milliseconds."""

    domain: str
    hosts: tuple[str, ...]
    pages: int  # requests for pages, each redirect hop and retry counted
    errands: int  # requests for robots.txt and sitemaps
    unanswered: int  # of both: nobody was there, or too slow
    gap: Gap | None  # the one that was too short by most, else the smallest; None after a single request
    delay: int  # the largest Crawl-delay of its hosts
    files: tuple[int, ...]  # statuses of its robots.txt files
    allowed: int  # pages
    refused: int  # pages robots.txt disallows, which were not asked for
    forbidden: int  # requested although robots.txt disallows it, or is not on record
    forbidden_urls: tuple[str, ...]  # some of them
    strained: int  # answers 429 and 503
    longest_wait: int | None  # the longest time nothing was asked after such an answer

    @property
    def requests(self) -> int:
        return self.pages + self.errands

    @property
    def kept(self) -> bool:
        return not self.forbidden and (self.gap is None or self.gap.kept)

    @property
    def order(self) -> tuple[bool, float, str]:
        """The worst first, then the smallest gap."""
        return self.kept, self.gap.milliseconds if self.gap else float("inf"), self.domain


@dataclass(slots=True)
class Track:
    """The requests to one domain, as plain numbers: there may be millions."""

    domain: str
    spacing: int  # milliseconds, by the settings
    hosts: set[str] = field(default_factory=set)
    files: set[int] = field(default_factory=set)
    delay: int = 0
    pages: int = 0
    errands: int = 0
    unanswered: int = 0
    allowed: int = 0
    refused: int = 0
    forbidden: int = 0
    _forbidden_urls: list[str] = field(default_factory=list)
    _sent: "array[int]" = field(default_factory=lambda: array("q"))
    _due: "array[int]" = field(default_factory=lambda: array("q"))
    _own: bytearray = field(default_factory=bytearray)
    _strained: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, at: int, delay: int, status: int | None, *, own: bool) -> None:
        """A request that went out, the Crawl-delay known by then, and its answer: 0 or nothing if there was none."""
        self._sent.append(at)
        self._due.append(max(self.spacing, delay))
        self._own.append(own)
        if own:
            self.unanswered += not status
            if status in _STRAINED:
                self._strained.append(at)

    def forbid(self, url: str) -> None:
        self.forbidden += 1
        if len(self._forbidden_urls) < _NAMED:
            self._forbidden_urls.append(url)

    def manners(self) -> DomainManners:
        gap = min(
            self._gaps(), key=lambda gap: (gap.kept, gap.milliseconds - (0 if gap.kept else gap.due)), default=None
        )
        return DomainManners(
            self.domain,
            tuple(sorted(self.hosts)),
            self.pages,
            self.errands,
            self.unanswered,
            gap,
            self.delay,
            tuple(sorted(self.files)),
            self.allowed,
            self.refused,
            self.forbidden,
            tuple(self._forbidden_urls),
            len(self._strained),
            self._longest_wait(),
        )

    def _gaps(self) -> Iterator[Gap]:
        """Those with a request of this job at one end or both."""
        order = sorted(range(len(self._sent)), key=self._sent.__getitem__)
        for before, after in pairwise(order):
            if self._own[before] or self._own[after]:
                yield Gap(self._sent[after] - self._sent[before], self._due[after], self._sent[after])

    def _longest_wait(self) -> int | None:
        moments = sorted(self._sent) if self._strained else []
        places = [(at, bisect_right(moments, at)) for at in self._strained]
        return max((moments[place] - at for at, place in places if place < len(moments)), default=None)
