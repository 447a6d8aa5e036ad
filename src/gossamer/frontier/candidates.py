"""The addresses of a site that may be read next, and which of them are the best."""

from heapq import nsmallest

from gossamer.frontier.level import Level
from gossamer.frontier.notes import MOST_CANDIDATES, Candidate, Notes
from gossamer.frontier.scope import Scope
from gossamer.frontier.traps import MOST_OF_A_CALENDAR, calendar_shape, is_endless
from gossamer.model.endings import is_binary
from gossamer.model.job import CrawlPolicy
from gossamer.model.url import normalise, path_of, site_of_url, url_key

_USUAL_PRIORITY = 0.5
_MOST_CALENDARS = 100  # shapes that are counted on one site
_LEAST_PRIORITY = 0.001  # of what stands in a sitemap at all

Choice = tuple[bytes, str, Candidate]
"""Key, address and what is known of it."""


class Candidates:
    """Everything a site showed us and we have not chosen. Lives in the notes."""

    def __init__(self, host: str, scope: Scope, policy: CrawlPolicy, notes: Notes) -> None:
        self._host = host
        self._scope = scope
        self._most = max(MOST_CANDIDATES, policy.pages_per_site)
        self._notes = notes
        # The string's own hash: 64 bits are plenty within one site, and cost nothing.
        self._seen: set[int] = set()
        self._keys: dict[str, bytes] = {}

    def seen(self, url: str) -> None:
        """The address is a page of the walk."""
        self._seen.add(hash(url))

    @property
    def number(self) -> int:
        return len(self._notes.candidates)

    @property
    def any_left(self) -> bool:
        return bool(self._notes.candidates) or self._notes.crowded

    def take(self, level: Level) -> int:
        """The links of all pages of a level; how many addresses there was no room for."""
        self._notes.crowded |= level.crowded
        verdicts: dict[str, bool] = {}
        homeless = 0
        for finder, url in level.links():
            wanted = verdicts.get(url)
            if wanted is None:
                wanted = verdicts[url] = hash(url) not in self._seen and (
                    url in self._notes.candidates or self._admits(url)
                )
            if wanted and not self._see(url, level.weight, 0.0, finder.depth + 1, finder.url):
                verdicts[url] = False
                homeless += 1
        return homeless

    def _see(self, url: str, in_links: int, priority: float, depth: int, found_on: str) -> bool:
        """Keep an address or what is new about it; False if there is no room. Only what is kept fills a calendar."""
        is_new = url not in self._notes.candidates
        kept = self._notes.see(url, in_links, priority, depth, found_on, self._most)
        if kept and is_new and (shape := calendar_shape(path_of(url))):
            known = self._notes.calendars
            if shape in known or len(known) < _MOST_CALENDARS:
                known[shape] = known.get(shape, 0) + 1
        return kept

    def enlist(self, written: str, priority: float | None, file: str) -> bool:
        """An address from a sitemap; whether it counts as a page of the site."""
        url = normalise(written, file)
        if url is None or site_of_url(url) != self._host or hash(url) in self._seen:
            return False
        known = self._notes.candidates.get(url)
        if known is None and not self._admits(url):
            return False
        stated = _USUAL_PRIORITY if priority is None else max(priority, _LEAST_PRIORITY)
        self._see(url, 0, stated, 1, file)
        return known is None or not known.priority

    @property
    def is_full(self) -> bool:
        return self._notes.sitemaps.listed > self._most

    def drop_known(self, known: set[bytes]) -> None:
        """Forget those whose page was met under another name."""
        self._notes.drop([url for url in self._notes.candidates if self._key(url) in known])

    def best(self, most: int, depth: int) -> list[Choice]:
        """The first `most` by pages linking there, sitemap, depth and key; they are candidates no longer."""
        ranked = (
            (-one.in_links, -one.priority, one.depth, self._key(url), url, one)
            for url, one in self._notes.candidates.items()
            if one.depth <= depth
        )
        chosen = nsmallest(most, ranked)
        self._notes.drop(url for *_, url, _ in chosen)
        self._keys.clear()
        return [(key, url, one) for *_, key, url, one in chosen]

    def _key(self, url: str) -> bytes:
        key = self._keys.get(url)
        if key is None:
            key = self._keys[url] = url_key(url)
        return key

    def _admits(self, url: str) -> bool:
        """Whether a new address is wanted, and is not one of an endless row."""
        tail = path_of(url)
        # The first is another spelling of the homepage, which was read already.
        if tail == "/" or is_binary(tail) or not self._scope.wants(tail):
            return False
        shape = calendar_shape(tail)
        months = self._notes.calendars.get(shape, 0) if shape else 0
        if is_endless(tail) or months >= MOST_OF_A_CALENDAR:
            self._notes.trapped += 1
            self._notes.trap = self._notes.trap or tail[:80]
            return False
        return True
