"""From the files of a sitemap to the pages they list: for doors that want them before there is a job."""

from collections.abc import Sequence

from gossamer.model.url import domain_of, normalise, site_of_url
from gossamer.parse.sitemap import Entry, SitemapReader

_LONGEST = 2_000  # characters of an address


def read_listing(body: bytes) -> list[Entry]:
    """The entries of one file, packed or not; none if it is no sitemap."""
    reader = SitemapReader()
    return [*reader.feed(body), *reader.finish()]


class Listed:
    """The pages of a sitemap and of those it names: each once, of its own domain only, and not too many."""

    def __init__(self, address: str, most: int) -> None:
        self._domain = _domain(address)
        self._most = most
        self._files = {address}
        self._pages: dict[str, None] = {}

    @property
    def urls(self) -> list[str]:
        return list(self._pages)

    @property
    def is_full(self) -> bool:
        return len(self._pages) >= self._most

    def add(self, entries: Sequence[Entry]) -> list[str]:
        """Take the pages; the files that are named and were not read yet."""
        files = []
        for entry in entries:
            url = normalise(entry.url) if len(entry.url) <= _LONGEST else None
            if not url or _domain(url) != self._domain:
                continue
            if entry.is_index:
                if url not in self._files:
                    self._files.add(url)
                    files.append(url)
            elif not self.is_full:
                self._pages[url] = None
        return files


def _domain(url: str) -> str:
    return domain_of(site_of_url(normalise(url) or url))
