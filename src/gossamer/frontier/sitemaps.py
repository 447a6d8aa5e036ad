"""Which sitemap of a site is read next, and what becomes of its entries."""

from collections.abc import Iterable

from gossamer.frontier.candidates import Candidates
from gossamer.frontier.notes import Notes
from gossamer.model.url import normalise, origin_of, site_of_url
from gossamer.parse.sitemap import Entry

MOST_FILES = 20
_DEEPEST = 3  # indexes that name indexes
_USUAL_PLACE = "/sitemap.xml"


class SitemapQueue:
    """The files of one site that are still to be read. Lives in the notes, so a resumed walk goes on with the next."""

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
        """Whether there is nothing left to read."""
        return self._state.begun and not self._state.left

    def begin(self, named: Iterable[str], entry: str) -> None:
        """The files that robots.txt names, or the usual place. Those on other sites say nothing about this one."""
        self._state.begun = True
        lines = tuple(named)
        for url in lines or (origin_of(entry) + _USUAL_PLACE,):
            self._queue(url, entry, 0)

    def next(self) -> str | None:
        """The file to ask for now. It stays first in the row until `close` says that it was read."""
        if len(self._state.tried) >= MOST_FILES or self._candidates.is_full:
            self.give_up()
        return self._state.left[0][0] if self._state.left else None

    def take(self, entries: Iterable[Entry]) -> None:
        """Some entries of the file at the head of the row."""
        file, depth = self._state.left[0]
        for entry in entries:
            if entry.is_index:
                if depth < _DEEPEST:
                    self._queue(entry.url, file, depth + 1)
            elif self._candidates.enlist(entry.url, entry.priority, file):
                self._state.listed += 1

    def close(self, *, again: bool) -> None:
        """The file at the head of the row is over. `again`: it is worth a second try, when all others were read."""
        file, depth = self._state.left.pop(0)
        if again and file not in self._state.tried:
            self._state.left.append((file, depth))
        self._state.tried.append(file)
        self._notes.changed = True

    def give_up(self) -> None:
        """What was found is all that will be."""
        self._state.left.clear()
        self._notes.changed = True

    def _queue(self, written: str, base: str, depth: int) -> None:
        url = normalise(written, base)
        known = url is None or url in self._state.tried or any(url == left for left, _ in self._state.left)
        if url is not None and not known and site_of_url(url) == self._host and len(self._state.left) < MOST_FILES:
            self._state.left.append((url, depth))
