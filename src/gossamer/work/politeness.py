"""Beside the path: the proof, from rows alone, that a job was polite.

Nothing the program believed while it ran is taken over: gaps are worked out of the moments at which requests went out,
and every address that was asked for is held against its robots.txt once more. All is read in short steps, and only
numbers are kept, so the largest job fits into memory and nobody waits for it.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from gossamer.frontier.robots import Rules, read_rules
from gossamer.model.page import Errand
from gossamer.model.url import origin_of, path_of
from gossamer.store import requests
from gossamer.store.database import Database
from gossamer.store.requests import PageRequests, SiteManners
from gossamer.work.manners import DomainManners, Track

_SITES_PER_READ = 200
_PAGES_PER_READ = 5_000
_REDIRECTS = range(300, 400)


async def prove_politeness(
    database: Database, job_id: UUID, spacing_of: Callable[[str], timedelta]
) -> list[DomainManners]:
    """How every domain of a job was treated: the worst first, then those with the smallest gap.

    Requests of other jobs in the same time count for the gaps, since all share one spacing.
    """
    book = _Book(spacing_of)
    await _read_job(database, job_id, book, own=True)
    for other in await database.read(requests.jobs_beside, job_id):
        await _read_job(database, other, book, own=False)
    return sorted(book.domains(), key=lambda one: one.order)


async def _read_job(database: Database, job_id: UUID, book: "_Book", *, own: bool) -> None:
    host = ""
    while sites := await database.read(requests.of_sites, job_id, host, _SITES_PER_READ):
        for site in sites:
            book.take_site(site, own=own)
        host = sites[-1].host
    key = requests.FIRST
    while pages := await database.read(requests.of_pages, job_id, key, _PAGES_PER_READ):
        by_site = [(site_id, list(some)) for site_id, some in groupby(pages, key=lambda page: page.site_id)]
        for start in range(0, len(by_site), _SITES_PER_READ):
            step = by_site[start : start + _SITES_PER_READ]
            # Only our own pages are held against robots.txt: the other jobs have a proof of their own.
            robots = await database.read(requests.robots_of, [site_id for site_id, _ in step]) if own else {}
            for site_id, some in step:
                book.take_pages(site_id, some, robots.get(site_id, {}), own=own)
        key = pages[-1].key


class _Book:
    """What is known of each domain while rows come by."""

    def __init__(self, spacing_of: Callable[[str], timedelta]) -> None:
        self._spacing_of = spacing_of
        self._tracks: dict[str, Track] = {}
        self._of_site: dict[UUID, Track] = {}
        self._delays: dict[UUID, dict[str, int]] = {}  # by origin; only where a site asks for one

    def domains(self) -> Iterable[DomainManners]:
        return (track.manners() for track in self._tracks.values())

    def take_site(self, site: SiteManners, *, own: bool) -> None:
        """A site with its errands. Another job's site is of interest only where this job was too."""
        track = self._tracks.get(site.domain)
        if track is None:
            if not own:
                return
            spacing = self._spacing_of(site.domain) // timedelta(milliseconds=1)
            track = self._tracks[site.domain] = Track(site.domain, spacing)
        self._of_site[site.id] = track
        rules = _rules_of(site.robots)
        delays = {origin: round(one.delay * 1000) for origin, one in rules.items() if one.delay}
        if delays:
            self._delays[site.id] = delays
        if own:
            track.hosts.add(site.host)
            track.files += [kept["status"] for kept in site.robots.values()]
            track.delay = max(track.delay, *delays.values()) if delays else track.delay
        for errand, is_robots in _sorted_errands(site.errands):
            # Nobody can know what a robots.txt asks for before it was read.
            delay = 0 if is_robots else delays.get(origin_of(errand.url), 0)
            track.add(errand.at, delay, errand.status, own=own)
            if own:
                track.errands += 1
                if not is_robots and not _allows(rules, errand.url):
                    track.forbid(errand.url)

    def take_pages(self, site_id: UUID, pages: list[PageRequests], robots: Mapping[str, Any], *, own: bool) -> None:
        track = self._of_site.get(site_id)
        if track is None:
            return
        rules = _rules_of(robots)
        delays = self._delays.get(site_id, {})
        for page in pages:
            delay = delays.get(origin_of(page.url), 0)
            for attempt in page.attempts:
                for at in attempt.sent:
                    # All but the last were answered, with a redirect.
                    status = attempt.status if at == attempt.sent[-1] else _REDIRECTS.start
                    track.add(at, delay, status, own=own)
            if own:
                self._judge(track, page, rules)

    def _judge(self, track: Track, page: PageRequests, rules: Mapping[str, Rules]) -> None:
        sent = sum(len(attempt.sent) for attempt in page.attempts)
        track.pages += sent
        if _allows(rules, page.url):
            track.allowed += 1
        elif sent:
            track.forbid(page.url)
        elif origin_of(page.url) in rules:
            track.refused += 1


def _rules_of(robots: Mapping[str, Any]) -> dict[str, Rules]:
    return {origin: read_rules(kept["status"], kept["body"]) for origin, kept in robots.items()}


def _allows(rules: Mapping[str, Rules], url: str) -> bool:
    """Whether an address could be asked for: its robots.txt is on record and does not forbid it."""
    kept = rules.get(origin_of(url))
    return kept is not None and kept.allow(url)


def _sorted_errands(errands: Iterable[Errand]) -> Iterable[tuple[Errand, bool]]:
    """Each errand, and whether it was for robots.txt: a redirect from there leads on to what stands for the file."""
    leads_on = False
    for errand in errands:
        is_robots = leads_on or path_of(errand.url) == "/robots.txt"
        leads_on = is_robots and errand.status in _REDIRECTS
        yield errand, is_robots
