"""Prove from rows alone that a job was polite.

Nothing is taken over from the crawl itself: gaps are computed from the times of all requests, and every page's URL is
checked against its robots.txt again. Rows are read in short steps and only numbers are kept, so the largest job fits
into memory and blocks no writer.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby, pairwise
from typing import NamedTuple
from uuid import UUID

from gossamer.db.database import Database
from gossamer.frontier.robots import RobotsRules, read_rules
from gossamer.model.page import Errand
from gossamer.model.url import origin_of, path_of
from gossamer.store import history
from gossamer.store.history import PageRequests, SiteManners

TOLERANCE = 2  # milliseconds: times are stored in whole ones
_NAMED = 5  # forbidden URLs that are listed
_STRAINED = frozenset({429, 503})


class Gap(NamedTuple):
    """The time between two consecutive requests, the required spacing, and the time of the later one."""

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
    unanswered: int  # of both: no response
    gap: Gap | None  # the most violated gap, else the smallest; None for a single request
    delay: int  # the largest Crawl-delay of its hosts
    files: tuple[int, ...]  # statuses of its robots.txt files
    allowed: int  # pages
    refused: int  # pages disallowed by robots.txt and not requested
    forbidden: int  # requested although disallowed by robots.txt, or without a recorded robots.txt
    forbidden_urls: tuple[str, ...]  # some of them
    strained: int  # answers 429 and 503
    longest_wait: int | None  # the longest pause after such an answer

    @property
    def requests(self) -> int:
        return self.pages + self.errands

    @property
    def kept(self) -> bool:
        return not self.forbidden and (self.gap is None or self.gap.kept)

    @property
    def order(self) -> tuple[bool, float, str]:
        """Sort key: worst first, then by the smallest gap."""
        return self.kept, self.gap.milliseconds if self.gap else float("inf"), self.domain


@dataclass(slots=True)
class Track:
    """The requests to one domain as plain numbers, because there may be millions."""

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
        """Add a sent request with the Crawl-delay known at that time and its status: 0 or None without response."""
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
        """Yield the gaps with a request of this job at one end or both."""
        order = sorted(range(len(self._sent)), key=self._sent.__getitem__)
        for before, after in pairwise(order):
            if self._own[before] or self._own[after]:
                yield Gap(self._sent[after] - self._sent[before], self._due[after], self._sent[after])

    def _longest_wait(self) -> int | None:
        moments = sorted(self._sent) if self._strained else []
        places = [(at, bisect_right(moments, at)) for at in self._strained]
        return max((moments[place] - at for at, place in places if place < len(moments)), default=None)


_SITES_PER_READ = 200
_PAGES_PER_READ = 5_000
_REDIRECTS = range(300, 400)


async def prove_politeness(
    database: Database, job_id: UUID, spacing_of: Callable[[str], timedelta]
) -> list[DomainManners]:
    """Return how politely every domain of a job was treated: worst first, then those with the smallest gap.

    Requests of other jobs in the same time count for the gaps, because all share one spacing.
    """
    book = _Book(spacing_of)
    await _read_job(database, job_id, book, own=True)
    for other in await database.read(history.jobs_beside, job_id):
        await _read_job(database, other, book, own=False)
    return sorted(book.domains(), key=lambda one: one.order)


async def _read_job(database: Database, job_id: UUID, book: "_Book", *, own: bool) -> None:
    """Read all requests of a job by its pages and their sites; a site with requests always has pages."""
    key = history.FIRST
    while pages := await database.read(history.requests_of_pages, job_id, key, _PAGES_PER_READ):
        by_site = [(site_id, list(some)) for site_id, some in groupby(pages, key=lambda page: page.site_id)]
        for start in range(0, len(by_site), _SITES_PER_READ):
            step = by_site[start : start + _SITES_PER_READ]
            sites = await database.read(history.manners_of_sites, [site_id for site_id, _ in step])
            for site_id, some in step:
                if site_id in sites:  # missing if the job is being deleted
                    book.take(sites[site_id], some, own=own)
        key = pages[-1].key


class _Book:
    """Collected figures of each domain while rows are read."""

    def __init__(self, spacing_of: Callable[[str], timedelta]) -> None:
        self._spacing_of = spacing_of
        self._tracks: dict[str, Track] = {}
        self._met: set[UUID] = set()

    def domains(self) -> Iterable[DomainManners]:
        return (track.manners() for track in self._tracks.values())

    def take(self, site: SiteManners, pages: list[PageRequests], *, own: bool) -> None:
        """Add some pages of a site; those of other jobs only for domains of this job."""
        if not own and site.domain not in self._tracks:
            return
        track = self._track(site.domain)
        rules = {origin: read_rules(kept["status"], kept["body"]) for origin, kept in site.robots.items()}
        if site.id not in self._met:
            self._met.add(site.id)
            _add_errands(track, site, rules, own=own)
        for page in pages:
            _add_page(track, page, rules, own=own)

    def _track(self, domain: str) -> Track:
        track = self._tracks.get(domain)
        if track is None:
            spacing = self._spacing_of(domain) // timedelta(milliseconds=1)
            track = self._tracks[domain] = Track(domain, spacing)
        return track


def _add_errands(track: Track, site: SiteManners, rules: Mapping[str, RobotsRules], *, own: bool) -> None:
    for errand, is_robots in _told_apart(site.errands):
        # Before robots.txt was read, its delay is unknown.
        delay = 0 if is_robots else _delay(rules, errand.url)
        track.add(errand.at, delay, errand.status, own=own)
        if own:
            track.errands += 1
            if not is_robots and not _allows(rules, errand.url):
                track.forbid(errand.url)
    if own:
        track.hosts.add(site.host)
        track.files |= {kept["status"] for kept in site.robots.values()}
        track.delay = max(track.delay, *(round(one.delay * 1000) for one in rules.values()), 0)


def _add_page(track: Track, page: PageRequests, rules: Mapping[str, RobotsRules], *, own: bool) -> None:
    delay = _delay(rules, page.url)
    sent = 0
    for attempt in page.attempts:
        for at in attempt.sent:
            # All but the last were answered with a redirect.
            status = attempt.status if at == attempt.sent[-1] else _REDIRECTS.start
            track.add(at, delay, status, own=own)
        sent += len(attempt.sent)
    if not own:
        return  # the other job has its own proof
    track.pages += sent
    if _allows(rules, page.url):
        track.allowed += 1
    elif sent:
        track.forbid(page.url)
    elif origin_of(page.url) in rules:
        track.refused += 1


def _delay(rules: Mapping[str, RobotsRules], url: str) -> int:
    kept = rules.get(origin_of(url))
    return round(kept.delay * 1000) if kept else 0


def _allows(rules: Mapping[str, RobotsRules], url: str) -> bool:
    """Return True if a request to the URL was allowed: its robots.txt is recorded and does not forbid it."""
    kept = rules.get(origin_of(url))
    return kept is not None and kept.allow(url)


def _told_apart(errands: Iterable[Errand]) -> Iterable[tuple[Errand, bool]]:
    """Return each errand, and True if it was for robots.txt.

    A redirect from robots.txt leads to the file's substitute, so the errand after it counts as robots.txt too.
    """
    leads_on = False
    for errand in errands:
        is_robots = leads_on or path_of(errand.url) == "/robots.txt"
        leads_on = is_robots and errand.status in _REDIRECTS
        yield errand, is_robots
