"""Candidates: addresses of a site that may be read next, from links and sitemaps, without unwanted or endless ones.

Pages of one site link to much the same addresses. An address is written by the first page that has it and gets a
number; the others only name the number. Links count when the level is over, in the order of its pages, so it does not
matter in which order the pages came in.

A page that another lane reads knows nothing of those numbers: its row has all its addresses written out. When the level
is over both count alike.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import NamedTuple, cast

import orjson

from gossamer.frontier.notes import MOST_CANDIDATES, Candidate, Notes
from gossamer.model.job import CrawlPolicy
from gossamer.model.url import is_binary, normalise, origin_of, path_of, site_of_url, url_key
from gossamer.parse.sitemap import Entry


class UrlScope:
    """A job's include and exclude patterns: `*` is any run of characters, `?` one of them."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = _either(include)
        self._exclude = _either(exclude)

    def wants(self, tail: str) -> bool:
        """Return True if a path with its query may be visited."""
        if self._include and not self._include.fullmatch(tail):
            return False
        return not (self._exclude and self._exclude.fullmatch(tail))


@lru_cache(maxsize=64)
def scope_of(policy: CrawlPolicy) -> UrlScope:
    """Built once for a job, not for each of its sites."""
    return UrlScope(policy.include, policy.exclude)


def _either(patterns: Sequence[str]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    return re.compile("|".join(_translated(pattern) for pattern in patterns), re.DOTALL)


def _translated(pattern: str) -> str:
    """Return the pattern as a regular expression without backtracking.

    Each star matches as little as possible and never gives back, because sites write the addresses, and some
    are traps. The first place where a piece fits is as good as any later one, so no match is missed; only the
    last piece must be at the end.
    """
    first, *pieces = [_literal(piece) for piece in re.split(r"\*+", pattern)]
    if not pieces:
        return first
    *inner, last = pieces
    return first + "".join(f"(?>.*?{piece})" for piece in inner) + f".*{last}"


def _literal(piece: str) -> str:
    return "".join("." if character == "?" else re.escape(character) for character in piece)


# Runs of so many segments are looked for, and so many of one run after the other are no accident.
_LONGEST_RUN = 4
_REPEATS = 3
_MOST_OF_ONE_NAME = 3
_MOST_PARAMETERS = 12
MOST_OF_A_CALENDAR = 24

_YEAR, _MONTH, _DAY = r"(?:19|2\d)\d\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_DATED_PATH = re.compile(rf"/(?:{_YEAR}/{_MONTH}(?:/{_DAY})?|{_YEAR}-{_MONTH}(?:-{_DAY})?)/?$")
_DATED_VALUE = re.compile(rf"[^&=]+={_YEAR}-{_MONTH}(?:-{_DAY})?")
_DIGITS = re.compile(r"\d+")


def is_endless(tail: str) -> bool:
    """Return True if a path and query can only come from a site that keeps extending its own URLs."""
    path, _, query = tail.partition("?")
    return _repeats(path) or (bool(query) and _grows(query))


def _repeats(path: str) -> bool:
    """`/a/b/a/b/a/b`: the same few folders again and again."""
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) < _REPEATS or len(set(segments)) > len(segments) - _REPEATS + 1:
        return False
    for length in range(1, min(_LONGEST_RUN, len(segments) // _REPEATS) + 1):
        for start in range(len(segments) - length * _REPEATS + 1):
            run = segments[start : start + length]
            if segments[start : start + length * _REPEATS] == run * _REPEATS:
                return True
    return False


def _grows(query: str) -> bool:
    """`?tag=1&tag=2&tag=3&tag=4`: every click adds a condition to those before."""
    parameters = query.split("&")
    if len(parameters) <= _MOST_OF_ONE_NAME:
        return False
    names = [parameter.partition("=")[0] for parameter in parameters]
    return len(names) > _MOST_PARAMETERS or max(map(names.count, names)) > _MOST_OF_ONE_NAME


def calendar_shape(tail: str) -> str:
    """Return the common form of all months of a calendar, if the URL is one of its months or days; else ""."""
    path, _, query = tail.partition("?")
    return _DIGITS.sub("0", tail) if _DATED_PATH.search(path) or (query and _is_dated(query)) else ""


def _is_dated(query: str) -> bool:
    parameters = query.split("&")
    names = {parameter.partition("=")[0].lower() for parameter in parameters}
    return {"year", "month"} <= names or any(_DATED_VALUE.fullmatch(parameter) for parameter in parameters)


MOST_ADDRESSES = 20_000  # of one level
_WORTH_PACKING = 512  # bytes
_WRITTEN_OUT = -1  # instead of a number: these addresses stand for themselves


class Finder(NamedTuple):
    """A page of the level, and the addresses it links to: by number, or written out."""

    url: str
    depth: int
    numbers: list[int]
    links: list[str] = []  # noqa: RUF012 - nobody adds to it


class Level:
    """The links of the pages that have ended since the last choice. Each counts `weight` as an in-link."""

    def __init__(self, weight: int = 1) -> None:
        self.weight = weight
        self._numbers: dict[str, int] = {}
        self._addresses: dict[int, str] = {}
        self._finders: dict[tuple[int, str], Finder] = {}
        self._next = 0
        self.crowded = False  # there was no room for some

    def add(self, rank: int, url: str, depth: int, links: Iterable[str]) -> bytes:
        """Add a page's links; return the packed form to store in its row."""
        first = self._next
        links = list(links)
        numbers = cast("list[int]", list(map(self._numbers.get, links)))
        fresh: list[str] = []
        if None in numbers:  # after the first pages of a level there are few new ones
            fresh = self._number([link for link in links if link not in self._numbers])
            numbers = [self._numbers[link] for link in links if link in self._numbers]
        self._finders[rank, url] = Finder(url, depth, numbers)
        return _packed(first, fresh, numbers)

    def _number(self, unknown: list[str]) -> list[str]:
        """Number the new addresses as far as there is room; return those that were numbered."""
        fresh = list(dict.fromkeys(unknown))
        room = MOST_ADDRESSES - self._next
        if len(fresh) > room:
            self.crowded = True
            del fresh[room:]
        self._numbers.update(zip(fresh, range(self._next, self._next + len(fresh)), strict=True))
        self._addresses.update(enumerate(fresh, self._next))
        self._next += len(fresh)
        return fresh

    def recall(self, rank: int, url: str, depth: int, packed: bytes) -> None:
        """Take a page's links from its row."""
        first, fresh, numbers = orjson.loads(packed if packed[:1] == b"[" else zlib.decompress(packed))
        if first == _WRITTEN_OUT:
            self._finders[rank, url] = Finder(url, depth, [], fresh)
            return
        for number, link in enumerate(fresh, first):
            self._addresses[number] = link
            self._numbers[link] = number
        self._next = max(self._next, first + len(fresh))
        self._finders[rank, url] = Finder(url, depth, numbers)

    def links(self) -> Iterator[tuple[Finder, str]]:
        """Every link of every page, in the order of the pages."""
        for _, finder in sorted(self._finders.items()):
            for number in finder.numbers:
                link = self._addresses.get(number)
                if link is not None:
                    yield finder, link
            for link in finder.links:
                yield finder, link


def written_out(links: Iterable[str]) -> bytes:
    """Return the links of a page in full, for a row that another lane writes."""
    return _packed(_WRITTEN_OUT, list(dict.fromkeys(links)), [])


def _packed(first: int, fresh: list[str], numbers: list[int]) -> bytes:
    packed = orjson.dumps([first, fresh, numbers])
    return zlib.compress(packed, 1) if len(packed) > _WORTH_PACKING else packed


_USUAL_PRIORITY = 0.5
_MOST_CALENDARS = 100  # shapes that are counted on one site
_LEAST_PRIORITY = 0.001  # of what stands in a sitemap at all

Choice = tuple[bytes, str, Candidate]
"""Key, address and what is known of it."""


class Candidates:
    """All addresses found on a site and not chosen yet. Stored in the visit's notes."""

    def __init__(self, host: str, scope: UrlScope, policy: CrawlPolicy, notes: Notes) -> None:
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
        """Add the links of all pages of a level; return the number of addresses that did not fit."""
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
        """Keep an address or new data about it; False if there is no room.

        Only addresses that are kept count towards a calendar's limit.
        """
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
        """Remove candidates that turned out to be known pages under another URL."""
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
        """Return True if a new URL is wanted and does not belong to an endless series."""
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


MOST_FILES = 20
_DEEPEST = 3  # indexes that name indexes
_USUAL_PLACE = "/sitemap.xml"


class SitemapQueue:
    """The sitemap files of one site still to be read. Kept in the notes, so a resumed walk continues."""

    def __init__(self, host: str, candidates: Candidates, notes: Notes) -> None:
        self._host = host
        self._candidates = candidates
        self._notes = notes
        self._state = notes.sitemaps

    @property
    def begun(self) -> bool:
        return self._state.begun

    @property
    def over(self) -> bool:
        """True if no sitemaps are left to read."""
        return self._state.begun and not self._state.left

    def begin(self, named: Iterable[str], entry: str) -> None:
        """Queue the sitemaps that robots.txt names, else the default location. Those on other sites are ignored."""
        self._state.begun = True
        lines = tuple(named)
        for url in lines or (origin_of(entry) + _USUAL_PLACE,):
            self._queue(url, entry, 0)

    def next(self) -> str | None:
        """Return the file to fetch now. It stays first in the queue until `close` is called."""
        if len(self._state.tried) >= MOST_FILES or self._candidates.is_full:
            self.give_up()
        return self._state.left[0][0] if self._state.left else None

    def take(self, entries: Iterable[Entry]) -> None:
        """Add some entries of the current file."""
        file, depth = self._state.left[0]
        for entry in entries:
            if entry.is_index:
                if depth < _DEEPEST:
                    self._queue(entry.url, file, depth + 1)
            elif self._candidates.enlist(entry.url, entry.priority, file):
                self._state.listed += 1

    def close(self, *, again: bool) -> None:
        """Remove the current file from the queue. `again`: requeue it once, behind all others."""
        file, depth = self._state.left.pop(0)
        if again and file not in self._state.tried:
            self._state.left.append((file, depth))
        self._state.tried.append(file)
        self._notes.changed = True

    def give_up(self) -> None:
        """Drop the remaining sitemaps; URLs found so far are kept."""
        self._state.left.clear()
        self._notes.changed = True

    def _queue(self, written: str, base: str, depth: int) -> None:
        url = normalise(written, base)
        known = url is None or url in self._state.tried or any(url == left for left, _ in self._state.left)
        if url is not None and not known and site_of_url(url) == self._host and len(self._state.left) < MOST_FILES:
            self._state.left.append((url, depth))
