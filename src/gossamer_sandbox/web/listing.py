"""Expected reading of a site's sitemap by a client that keeps the rules.

- The files that robots.txt names are read, as far as they are on the site; where it names none at all, `/sitemap.xml`.
- An index leads to further files, at most three deep. Files of other sites and forbidden ones are never asked for.
- At most twenty files are asked for, and no further one once more addresses in scope have been seen than the site may
  have pages, or than two thousand if that is more.
- An address without a priority has 0.5.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gossamer.model.url import normalise, site_of_url

DEFAULT_PRIORITY = 0.5
_MOST_FILES = 20
_DEEPEST = 3
_ENOUGH = 2_000


@dataclass(frozen=True, slots=True)
class SitemapFile:
    """The content of one sitemap file: pages with their priority, if given, and further files."""

    pages: Iterable[tuple[str, float | None]] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The sitemap that robots.txt names, and how a file of it is read: None if there is none or it cannot be read."""

    named: tuple[str, ...]
    read: Callable[[str], SitemapFile | None]


def listed_pages(
    start: str,
    sitemap: Sitemap,
    allowed: Callable[[str], bool],
    takes: Callable[[str], bool],
    pages_per_site: int,
) -> dict[str, float]:
    """Every address in scope with its priority, in the order of the files."""
    site = site_of_url(start)
    waiting = deque((url, 0) for url in sitemap.named or (f"{start}sitemap.xml",))
    seen: set[str] = set()
    found: dict[str, float] = {}
    while waiting and len(seen) < _MOST_FILES and len(found) <= max(pages_per_site, _ENOUGH):
        written, depth = waiting.popleft()
        url = normalise(written)
        if url is None or url in seen or site_of_url(url) != site or not allowed(url):
            continue
        seen.add(url)
        file = sitemap.read(url)
        if file is None:
            continue
        for address, priority in file.pages:
            page = normalise(address)
            if page is not None and takes(page):
                found[page] = DEFAULT_PRIORITY if priority is None else priority
        if depth < _DEEPEST:
            waiting.extend((nested, depth + 1) for nested in file.files)
    return found
