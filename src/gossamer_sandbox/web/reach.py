"""Compute which pages of a site a polite crawler reads, from an independent statement of the crawl rules.

This module does not depend on how the sample web is generated or how the crawler is built. A site is a
function from an address to what is seen there (`seeing`); `scope` decides which addresses count, `listing`
handles sitemaps.

- The homepage comes first. If it yields a page and the walk may go on from it, the sitemap is read next.
- Addresses in scope that are linked or listed and not chosen yet are candidates. Each has the number of
  pages read so far that link to it, its priority (0 if no sitemap lists it), and its depth: one more than
  the page it was first found on, or 1 if it is listed. A candidate is dropped if it is known to be another
  name of a page of the walk.
- When all chosen pages have been seen, the next are chosen by (in-links, priority, depth, `url_key`), never
  deeper than `depth`. Every chosen address counts, whatever its outcome.
- The size of the site is the larger of two counts: the sitemap's addresses plus the homepage, or the chosen
  addresses plus the candidates. Up to `pages_per_site`, all candidates are chosen, a thousand at a time. A
  site that is larger stays large for good: `top_pages` of it are chosen, a fifth of them (but at least ten)
  at a time.
- A walk that leaves candidates behind is cut, and so is one that met a trap.
- A page handed over by another site is read after the walk; its links are still part of the walk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from gossamer.model.trouble import Reason
from gossamer.model.url import site_of_url, url_key
from gossamer_sandbox.web.listing import Sitemap, listed_pages
from gossamer_sandbox.web.scope import Scope
from gossamer_sandbox.web.seeing import Reached, Seeing, Sight

_MOST_AT_A_TIME = 1_000
_FEWEST_AT_A_TIME = 10
_STEPS = 5  # in which the pages of a large site are chosen


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits of a crawl: pages, depth and patterns."""

    pages_per_site: int = 500
    depth: int = 50
    top_pages: int = 50
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    sitemaps: bool = True


@dataclass(frozen=True, slots=True)
class Reach:
    """A walk that is over. `cut` says what ended it early: "large", "depth", "trap" or "" for nothing."""

    pages: tuple[Reached, ...]
    handed: tuple[str, ...]  # addresses on other sites
    cut: str
    size: int  # pages the site has by what could be learned about it
    size_source: str  # what had a say in that: "sitemap" if it lists anything, else "links" alone


@dataclass(slots=True)
class _Candidate:
    key: bytes
    in_links: int = 0
    priority: float = 0.0
    depth: int = 1

    @property
    def rank(self) -> tuple[int, float, int, bytes]:
        return -self.in_links, -self.priority, self.depth, self.key


@dataclass(slots=True)
class _Walk:
    caps: Caps
    seeing: Seeing
    scope: Scope
    chosen: set[str] = field(default_factory=set)
    candidates: dict[str, _Candidate] = field(default_factory=dict)
    listed: int = 0
    large: bool = False

    def go(self, start: str, sitemap: Sitemap) -> None:
        self.chosen.add(start)
        self._see(start, 0)
        further = self.caps.depth > 0 and self.caps.pages_per_site > 1
        if self.caps.sitemaps and further and not self.seeing.pages[0].reasons:
            self._read(start, sitemap)
        while level := self._choose():
            self.chosen.update(level)
            for url in level:
                self._see(url, self.candidates.pop(url).depth)

    def _see(self, url: str, depth: int) -> None:
        page = self.seeing.visit(url)
        if page is None:
            return
        for found in self.seeing.links(page):
            if found not in self.chosen and self.scope.takes(found):
                self._candidate(found, depth + 1).in_links += 1

    def _read(self, start: str, sitemap: Sitemap) -> None:
        listed = listed_pages(start, sitemap, self.seeing.allowed, self.scope.takes, self.caps.pages_per_site)
        self.listed = len(listed)
        for url, priority in listed.items():
            self._candidate(url, 1).priority = priority

    def _candidate(self, url: str, depth: int) -> _Candidate:
        known = self.candidates.get(url)
        if known is None:
            known = self.candidates[url] = _Candidate(url_key(url), depth=depth)
        return known

    def _choose(self) -> list[str]:
        """The best candidates there is room for, best first."""
        for url in self.seeing.known.keys() & self.candidates.keys():
            del self.candidates[url]
        caps = self.caps
        self.large = self.large or self.size > caps.pages_per_site
        limit, at_a_time = caps.pages_per_site, _MOST_AT_A_TIME
        if self.large:
            limit = min(caps.top_pages, caps.pages_per_site)
            at_a_time = min(max(_FEWEST_AT_A_TIME, limit // _STEPS), _MOST_AT_A_TIME)
        room = min(at_a_time, limit - len(self.chosen))
        within = [url for url, candidate in self.candidates.items() if candidate.depth <= caps.depth]
        return nsmallest(max(room, 0), within, key=lambda url: self.candidates[url].rank)

    @property
    def seen(self) -> int:
        return len(self.chosen) + len(self.candidates)

    @property
    def size(self) -> int:
        return max(self.seen, self.listed + 1)

    @property
    def size_source(self) -> str:
        return "sitemap" if self.listed else "links"

    @property
    def cut(self) -> str:
        if self.candidates:
            return "large" if self.large else "depth"
        return "trap" if self.scope.trapped else ""


NO_SITEMAP = Sitemap((), lambda url: None)


def walk(
    start: str,
    look: Callable[[str], Sight],
    allowed: Callable[[str], bool],
    caps: Caps,
    *,
    sitemap: Sitemap = NO_SITEMAP,
    handed_over: Sequence[str] = (),
    refusal: Reason = Reason.ROBOTS,
) -> Reach:
    """Walk one site from its homepage. `refusal` is what to say of an address that is not allowed."""
    site = site_of_url(start)
    seeing = Seeing(look, allowed, site, refusal)
    walked = _Walk(caps, seeing, Scope(site, caps.include, caps.exclude))
    walked.go(start, sitemap)
    for url in handed_over:
        seeing.visit(url)
    return Reach(tuple(seeing.pages), tuple(seeing.handed), walked.cut, walked.size, walked.size_source)
