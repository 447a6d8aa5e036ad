"""Candidates: addresses a site showed us that are not rows yet, kept small and inside the site's own row."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

MOST_CANDIDATES = 2_000


class Candidate(NamedTuple):
    in_links: int
    found_on: str


@dataclass(slots=True)
class Notes:
    """What a walk remembers between slices, apart from its rows."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    overflow: int = 0  # addresses seen when there was no room left: only a number
    changed: bool = False

    def see(self, url: str, found_on: str) -> None:
        known = self.candidates.get(url)
        if known:
            self.candidates[url] = Candidate(known.in_links + 1, known.found_on)
        elif len(self.candidates) < MOST_CANDIDATES:
            self.candidates[url] = Candidate(1, found_on)
        else:
            self.overflow += 1
        self.changed = True

    def drop(self, urls: Iterable[str]) -> None:
        for url in urls:
            self.candidates.pop(url, None)
            self.changed = True

    def snapshot(self) -> "Notes | None":
        """A copy to be written, if there is anything new to write. Packing is left to whoever writes the last one."""
        if not self.changed:
            return None
        self.changed = False
        return Notes(dict(self.candidates), self.overflow)

    def pack(self) -> bytes:
        # Few pages find all the others, so their addresses are written once.
        finders = {one.found_on: None for one in self.candidates.values()}
        place = {url: number for number, url in enumerate(finders)}
        rows = [[url, one.in_links, place[one.found_on]] for url, one in self.candidates.items()]
        return zlib.compress(orjson.dumps({"finders": list(finders), "rows": rows, "overflow": self.overflow}), 1)

    @classmethod
    def unpack(cls, packed: bytes) -> "Notes":
        if not packed:
            return cls()
        kept = orjson.loads(zlib.decompress(packed))
        finders = kept["finders"]
        candidates = {url: Candidate(in_links, finders[place]) for url, in_links, place in kept["rows"]}
        return cls(candidates, kept["overflow"])
