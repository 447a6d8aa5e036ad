"""Remaining work of a running job: estimated from its open sites, and cached for a moment.

The counters of a job show what was done. The remaining time depends on single sites: how many pages
each is known to have, how many of those the job reads, and the spacing of requests to its domain.
"""

import asyncio
import re
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from operator import itemgetter
from uuid import UUID

import orjson

from gossamer.db.database import Database
from gossamer.model.job import Ahead, CrawlPolicy, Job, Progress
from gossamer.model.states import JobState
from gossamer.store import pace, sites
from gossamer.store.counters import SHORTEST, WINDOW
from gossamer.store.pace import Standstill
from gossamer.store.sites import LISTED, OpenSite

_MARGIN = 1.02  # as requests are really spaced
_VISIT_TIME = CrawlPolicy().visit_time.total_seconds()
_SLEPT = 5.0  # seconds: longer pauses between requests do not count towards the time of a visit
_NAMED = re.compile(r"delay[^\d\\]{0,20}(\d{1,6}(?:[.,]\d{1,3})?)", re.IGNORECASE)
_MOST_FAILED = 0.5  # maximum number of failed pages per page read that the estimate assumes
_SPELLINGS = 4  # homepage URLs that fail for a domain that cannot be reached
_KEPT = 2.0  # seconds for which an estimate is cached at least,
_SHARE = 20  # and at least so many times as long as it took to compute
_MANY = 2_000  # open sites, above which the estimate is computed in a thread
_MOST = 64  # jobs whose estimate is cached

SpacingOf = Callable[[str], timedelta]


def look_ahead(job: Job, progress: Progress, open_sites: Sequence[OpenSite], spacing_of: SpacingOf) -> Ahead:
    """Estimate the remaining pages on these open sites, and on those without any data yet."""
    ended = _ended_per_page_read(progress)
    queues: defaultdict[str, _Queue] = defaultdict(_Queue)
    unread = [site for site in open_sites if _is_unread(site)]
    known, growing = 0, False
    for site in open_sites:
        queue = queues[site.domain]
        if not queue.gap:
            queue.gap = spacing_of(site.domain).total_seconds()
        if site.robots:
            queue.robots.append(site.robots)
        if not _is_unread(site):
            rest, may_grow = _rest(job, site, ended, queue.gap)
            queue.add(rest)
            known += rest
            growing |= may_grow
    looked_at = progress.sites_finished + len(open_sites) - len(unread)
    average = (progress.pages_ended + known) / looked_at if looked_at and progress.pages_ended else 1.0
    for site in unread:
        queues[site.domain].add(max(1, round(average)))
    longest = _longest(queues.values(), limited=not job.extent.in_pages)
    return Ahead(known, len(unread), round(average * len(unread)), timedelta(seconds=longest), growing)


def _is_unread(site: OpenSite) -> bool:
    return not site.pages_done and site.size_source != LISTED and max(site.open_pages, site.size) <= 1


def _rest(job: Job, site: OpenSite, ended: float, gap: float) -> tuple[int, bool]:
    """Return the remaining pages of a site, and whether it may turn out to have more."""
    if site.size_source == LISTED:
        return site.open_pages, False
    whole = job.extent.whole_up_to
    most = site.size if site.size <= whole else job.extent.top_pages
    if not job.extent.in_pages:
        # A visit has limited time; pages it has not read by then are skipped.
        most = min(most, int(_VISIT_TIME / (gap * _MARGIN)))
    rest = max(site.open_pages, most - round(site.pages_done * ended))
    return rest, site.size <= whole and site.size_source != "sitemap"


def _ended_per_page_read(progress: Progress) -> float:
    """Return how many pages end per page that is read: sites count only those, but failed pages end too."""
    others = progress.pages_failed + progress.pages_skipped - _SPELLINGS * progress.sites_failed
    return 1 + min(_MOST_FAILED, max(0, others) / progress.pages_done) if progress.pages_done else 1.0


@dataclass(slots=True)
class _Queue:
    """Remaining pages of one domain, whose requests are `gap` seconds apart."""

    pages: int = 0
    sites: int = 0
    gap: float = 0.0
    robots: list[str] = field(default_factory=list)  # robots.txt files that name a delay for any crawler

    def add(self, pages: int) -> None:
        self.pages += pages
        self.sites += 1

    def seconds(self, gap: float, *, limited: bool) -> float:
        time = self.pages * gap * _MARGIN
        return min(time, self.sites * _VISIT_TIME) if limited and gap <= _SLEPT else time

    def longest_named(self) -> float:
        """Return the longest delay that occurs in its robots.txt files, for any user agent: quick to find."""
        return max((float(text.replace(",", ".")) for one in self.robots for text in _NAMED.findall(one)), default=0.0)

    def own_delay(self) -> float:
        """Return the longest Crawl-delay that applies to this crawler."""
        # Imported here: most jobs have no delay, and then need no parser of rules.
        from gossamer.frontier.robots import read_rules

        kept = [one for text in self.robots for one in orjson.loads(text).values()]
        return max((read_rules(one["status"], one["body"]).delay for one in kept), default=0.0)


def _longest(queues: Iterable[_Queue], *, limited: bool) -> float:
    """Return the seconds of the longest queue. A robots.txt is only parsed if its delay may matter."""
    longest, slow = 0.0, []
    for queue in queues:
        longest = max(longest, queue.seconds(queue.gap, limited=limited))
        named = queue.longest_named()
        if named > queue.gap:
            slow.append((queue.pages * named * _MARGIN, queue))
    for most, queue in sorted(slow, key=itemgetter(0), reverse=True):
        if most <= longest:
            break
        longest = max(longest, queue.seconds(max(queue.gap, queue.own_delay()), limited=limited))
    return longest


class RemainingWork:
    """Adds the remaining work to the progress of running jobs, and subtracts their pauses from their time.

    Renewed every few seconds at most, because clients that follow a job ask several times a second, and
    each estimate reads a row per open site.
    """

    def __init__(self, spacing_of: SpacingOf) -> None:
        self._spacing_of = spacing_of
        self._made: OrderedDict[UUID, tuple[float, Ahead, Standstill]] = OrderedDict()

    async def add(self, database: Database, job: Job, progress: Progress) -> Progress:
        """Return the progress with the remaining work, unless the job is not running."""
        if job.state is not JobState.RUNNING:
            return progress
        until, ahead, stood = self._made.get(job.id, (0.0, Ahead(), None))
        if stood is None or time.monotonic() >= until:
            began = time.monotonic()
            stood = await database.read(pace.stood_still, job.id, WINDOW)
            found = await database.read(sites.open_of_job, job.id)
            if len(found) < _MANY:
                ahead = look_ahead(job, progress, found, self._spacing_of)
            else:
                ahead = await asyncio.to_thread(look_ahead, job, progress, found, self._spacing_of)
            took = time.monotonic() - began
            self._made[job.id] = (time.monotonic() + max(_KEPT, _SHARE * took), ahead, stood)
            self._made.move_to_end(job.id)
            while len(self._made) > _MOST:
                self._made.popitem(last=False)
        return replace(
            progress,
            ahead=ahead,
            window=_at_work(progress.window, stood),
            pages_window=_at_work(progress.pages_window, stood),
        )


def _at_work(window: timedelta, stood: Standstill) -> timedelta:
    """Return how long a job was running within a window. A pause does not count as slow work."""
    return max(min(SHORTEST, window), window - stood.within(window))
