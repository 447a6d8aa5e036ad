"""Prove from rows alone that a job was polite.

Nothing the program believed while it ran is taken over: gaps are worked out of the moments at which requests went out,
and every page's own address is held against its robots.txt once more. All is read in short steps, and only
numbers are kept, so the largest job fits into memory and nobody waits for it.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from itertools import groupby
from uuid import UUID

from gossamer.db.database import Database
from gossamer.frontier.robots import Rules, read_rules
from gossamer.history.manners import DomainManners, Track
from gossamer.model.page import Errand
from gossamer.model.url import origin_of, path_of
from gossamer.store import history
from gossamer.store.history import PageRequests, SiteManners

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
    """A site that was asked anything has pages, so reading those and their sites is reading all."""
    key = history.FIRST
    while pages := await database.read(history.requests_of_pages, job_id, key, _PAGES_PER_READ):
        by_site = [(site_id, list(some)) for site_id, some in groupby(pages, key=lambda page: page.site_id)]
        for start in range(0, len(by_site), _SITES_PER_READ):
            step = by_site[start : start + _SITES_PER_READ]
            sites = await database.read(history.manners_of_sites, [site_id for site_id, _ in step])
            for site_id, some in step:
                if site_id in sites:  # nobody is deleting the job just now
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
        """Some pages of a site. Another job's are of interest only where this job was too."""
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


def _add_errands(track: Track, site: SiteManners, rules: Mapping[str, Rules], *, own: bool) -> None:
    for errand, is_robots in _told_apart(site.errands):
        # Nobody can know what a robots.txt asks for before it was read.
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


def _add_page(track: Track, page: PageRequests, rules: Mapping[str, Rules], *, own: bool) -> None:
    delay = _delay(rules, page.url)
    sent = 0
    for attempt in page.attempts:
        for at in attempt.sent:
            # All but the last were answered, with a redirect.
            status = attempt.status if at == attempt.sent[-1] else _REDIRECTS.start
            track.add(at, delay, status, own=own)
        sent += len(attempt.sent)
    if not own:
        return  # that job has a proof of its own
    track.pages += sent
    if _allows(rules, page.url):
        track.allowed += 1
    elif sent:
        track.forbid(page.url)
    elif origin_of(page.url) in rules:
        track.refused += 1


def _delay(rules: Mapping[str, Rules], url: str) -> int:
    kept = rules.get(origin_of(url))
    return round(kept.delay * 1000) if kept else 0


def _allows(rules: Mapping[str, Rules], url: str) -> bool:
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
