"""Notes of a crawl: the data it keeps between slices apart from its rows, stored compactly in the site's row."""

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import orjson

MOST_CANDIDATES = 2_000


class Candidate(NamedTuple):
    """A URL found on a site that has no row yet."""

    in_links: int
    priority: float  # by the sitemap; 0 where it is in none
    depth: int
    found_on: str


@dataclass(slots=True)
class Sitemaps:
    """Progress of reading a site's sitemaps."""

    begun: bool = False
    left: list[tuple[str, int]] = field(default_factory=list)  # URL, and number of indexes that led there
    tried: list[str] = field(default_factory=list)
    listed: int = 0  # URLs in scope


@dataclass(slots=True)
class Notes:
    """Data of a crawl, written when a level is chosen or a sitemap was read."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    crowded: bool = False  # some URLs were dropped for lack of room
    reached: int = 0  # highest number of known pages, including dropped ones
    as_of: int = 0  # links of pages with a lower rank are included already
    large: bool = False
    sitemaps: Sitemaps = field(default_factory=Sitemaps)
    calendars: dict[str, int] = field(default_factory=dict)  # accepted URLs, by shape
    trapped: int = 0  # refused URLs of endless series
    trap: str = ""  # the first refused one
    cut: int = 0  # pages requested by the recipe beyond its own limits
    changed: bool = False

    def see(self, url: str, in_links: int, priority: float, depth: int, found_on: str, most: int) -> bool:
        """Keep an address or new data about it; False if there is no room for it."""
        known = self.candidates.get(url)
        if known:
            in_links += known.in_links
            priority, depth = max(priority, known.priority), min(depth, known.depth)
            self.candidates[url] = Candidate(in_links, priority, depth, known.found_on or found_on)
        elif len(self.candidates) < most:
            self.candidates[url] = Candidate(in_links, priority, depth, found_on)
        else:
            self.crowded = True
            return False
        return True

    def drop(self, urls: Iterable[str]) -> None:
        for url in urls:
            self.candidates.pop(url, None)

    def snapshot(self) -> "Notes | None":
        """Return a copy to store, if anything has changed. Packing is left to the caller that stores the last copy."""
        if not self.changed:
            return None
        self.changed = False
        sitemaps = replace(self.sitemaps, left=list(self.sitemaps.left), tried=list(self.sitemaps.tried))
        return replace(self, candidates=dict(self.candidates), sitemaps=sitemaps, calendars=dict(self.calendars))

    def pack(self) -> bytes:
        # Most URLs are found on a few pages, whose URLs are stored once.
        finders = {one.found_on: None for one in self.candidates.values()}
        place = {url: number for number, url in enumerate(finders)}
        rows = [
            [url, one.in_links, one.priority, one.depth, place[one.found_on]] for url, one in self.candidates.items()
        ]
        kept = {
            "finders": list(finders),
            "rows": rows,
            "crowded": self.crowded,
            "reached": self.reached,
            "as_of": self.as_of,
            "large": self.large,
            "sitemaps": self.sitemaps,
            "calendars": self.calendars,
            "trapped": self.trapped,
            "trap": self.trap,
            **({"cut": self.cut} if self.cut else {}),
        }
        return zlib.compress(orjson.dumps(kept), 1)

    @classmethod
    def unpack(cls, packed: bytes) -> "Notes":
        if not packed:
            return cls()
        kept = orjson.loads(zlib.decompress(packed))
        finders, rows, sitemaps = kept.pop("finders"), kept.pop("rows"), kept.pop("sitemaps")
        sitemaps["left"] = [(url, depth) for url, depth in sitemaps["left"]]
        return cls(
            {
                url: Candidate(in_links, priority, depth, finders[place])
                for url, in_links, priority, depth, place in rows
            },
            sitemaps=Sitemaps(**sitemaps),
            **kept,
        )


def notes_without(packed: bytes, unwanted: Callable[[str], bool]) -> bytes | None:
    """Remove unwanted URLs from a site's notes; None if there are none."""
    notes = Notes.unpack(packed)
    gone = [url for url in notes.candidates if unwanted(url)]
    changed = bool(gone)
    notes.drop(gone)
    for url, one in list(notes.candidates.items()):
        if one.found_on and unwanted(one.found_on):
            notes.candidates[url] = one._replace(found_on="")
            changed = True
    return notes.pack() if changed else None


def links_without(packed: bytes, unwanted: Callable[[str], bool], home: str) -> bytes | None:
    """Remove unwanted URLs from a page's links; None if there are none.

    Other pages refer to links by number, so each is replaced by the homepage, which is never chosen again.
    """
    first, fresh, numbers = orjson.loads(packed if packed[:1] == b"[" else zlib.decompress(packed))
    kept = [home if unwanted(link) else link for link in fresh]
    return zlib.compress(orjson.dumps([first, kept, numbers]), 1) if kept != fresh else None
