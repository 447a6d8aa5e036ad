"""The sitemap of a sample site in its many shapes: which file answers with which bytes, and what there is to read."""

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import chain

from gossamer_sandbox.web.crowd import Crowd
from gossamer_sandbox.web.keywords import OUTSIDE
from gossamer_sandbox.web.listing import SitemapFile

NAMED_ONLY = ("gzip", "text", "rss", "elsewhere")
"""Shapes that only a Sitemap line in robots.txt leads to, or away from."""

SHAPES = ("none", "none", "plain", "plain", "index", *NAMED_ONLY, "broken", "html")
"""What sites draw from. What is broken about the broken ones loses nothing to a reader that puts up with it."""

HUGE = "huge"
"""An index of two gzipped lists, the first nearly as long as lists may be; nobody needs the second then."""

_ENTRY = {"gzip": "/sitemap.xml.gz", "text": "/sitemap.txt", "rss": "/feed.xml"}
_FOREIGN = f"http://{OUTSIDE[3]}/sitemap.xml"
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_PROLOGUE = '<?xml version="1.0" encoding="UTF-8"?>\n'
_XML = "application/xml; charset=utf-8"

Listed = tuple[str, float | None]


@dataclass(frozen=True, slots=True)
class SitemapPlan:
    """A site's sitemap. `addresses` are absolute; some may be elsewhere or forbidden, as in real ones."""

    shape: str
    origin: str
    addresses: tuple[str, ...] = ()
    crowd: Crowd | None = None  # listed before the addresses

    @property
    def entry(self) -> str:
        """The sitemap address that robots.txt names, if it names one."""
        return _FOREIGN if self.shape == "elsewhere" else self.origin + _ENTRY.get(self.shape, "/sitemap.xml")

    def read(self, path: str) -> SitemapFile | None:
        """Return the expected content of one of the site's sitemap files; None where nothing can be read."""
        found = self._files().get(path)
        return None if found is None else SitemapFile(found[1](), found[2])

    def file(self, path: str) -> tuple[str, bytes] | None:
        """Content type and body of one of its files."""
        if not path.startswith(("/sitemap", "/feed")) or self.shape == "none":
            return None
        if self.shape == "html":
            return ("text/html; charset=utf-8", _HTML) if path == "/sitemap.xml" else None
        found = self._files().get(path)
        if found is None:
            return None
        kind, pages, files = found
        return _WRITERS[kind](self.origin, pages(), files)

    def _files(self) -> Mapping[str, tuple[str, Callable[[], Iterable[Listed]], tuple[str, ...]]]:
        """By path: how it is written, the pages in it, the other files in it."""
        match self.shape:
            case "none" | "html":
                return {}
            case "index":
                return self._nested()
            case "huge":
                first, second = f"{self.origin}/sitemaps/first.xml.gz", f"{self.origin}/sitemaps/second.xml.gz"
                return {
                    "/sitemap.xml": ("index", tuple, (first, second)),
                    "/sitemaps/first.xml.gz": ("gzip", self._all, ()),
                    "/sitemaps/second.xml.gz": ("gzip", lambda: [(f"{self.origin}/never/asked/for", 1.0)], ()),
                }
            case "elsewhere":
                return {"/sitemap.xml": ("plain", self._all, ())}
            case shape:
                return {_ENTRY.get(shape, "/sitemap.xml"): (shape, self._all, ())}

    def _nested(self) -> dict[str, tuple[str, Callable[[], Iterable[Listed]], tuple[str, ...]]]:
        """A list of addresses, a file that is not this site's business, and another index with the other half."""
        listed = list(self._all())
        half = (len(listed) + 1) // 2
        first, more, second = (f"{self.origin}/sitemaps/{name}.xml" for name in ("first", "more", "second"))
        return {
            "/sitemap.xml": ("index", tuple, (first, _FOREIGN, more)),
            "/sitemaps/more.xml": ("index", tuple, (second,)),
            "/sitemaps/first.xml": ("plain", lambda: listed[:half], ()),
            "/sitemaps/second.xml": ("plain", lambda: listed[half:], ()),
        }

    def _all(self) -> Iterator[Listed]:
        silent = self.shape in ("text", "rss")
        crowd = (self.origin + path for path in self.crowd.paths()) if self.crowd else ()
        for at, address in enumerate(chain(crowd, self.addresses)):
            yield address, None if silent else _PRIORITIES[at % 8]


_PRIORITIES = (0.3, 0.9, 0.4, None, 0.8, 0.5, 1.0, 0.7)


def _entries(pages: Iterable[Listed]) -> Iterator[str]:
    for at, (address, priority) in enumerate(pages):
        rated = "" if priority is None else f"<priority>{priority}</priority>"
        where = escape(address) if "&" in address else address
        yield f"  <url><loc>{where}</loc><lastmod>2026-0{1 + at % 9}-11</lastmod>{rated}</url>\n"


def _urlset(pages: Iterable[Listed]) -> bytes:
    return f'{_PROLOGUE}<urlset xmlns="{_NAMESPACE}">\n{"".join(_entries(pages))}</urlset>\n'.encode()


def _index(files: Iterable[str]) -> bytes:
    entries = "".join(f"  <sitemap><loc>{escape(address)}</loc></sitemap>\n" for address in files)
    return f"{_PROLOGUE}<sitemapindex xmlns='{_NAMESPACE}'>\n{entries}</sitemapindex>\n".encode()


def _rss(origin: str, pages: Iterable[Listed]) -> bytes:
    items = "".join(
        f"<item><title>Entry</title><link>{escape(address)}</link>"
        "<pubDate>Mon, 02 Mar 2026 08:00:00 GMT</pubDate></item>\n"
        for address, _ in pages
    )
    return (
        f'{_PROLOGUE}<rss version="2.0"><channel><title>Latest</title>'
        f"<link>{origin}/</link><description>Latest entries</description>\n{items}</channel></rss>\n"
    ).encode()


def _broken(pages: Iterable[Listed]) -> bytes:
    """A blank line before the declaration, no namespace, a stray ampersand, and the end is missing."""
    entries = "  <!-- news & views -->\n  terms & conditions\n".join(_entries(pages))
    return f"\n{_PROLOGUE}<urlset>\n{entries}".encode()


_WRITERS: Mapping[str, Callable[[str, Iterable[Listed], tuple[str, ...]], tuple[str, bytes]]] = {
    "plain": lambda origin, pages, files: (_XML, _urlset(pages)),
    "index": lambda origin, pages, files: (_XML, _index(files)),
    "gzip": lambda origin, pages, files: ("application/gzip", gzip.compress(_urlset(pages), compresslevel=1, mtime=0)),
    "text": lambda origin, pages, files: (
        "text/plain; charset=utf-8",
        "".join(f"{url}\n" for url, _ in pages).encode(),
    ),
    "rss": lambda origin, pages, files: ("application/rss+xml; charset=utf-8", _rss(origin, pages)),
    "broken": lambda origin, pages, files: (_XML, _broken(pages)),
}
_HTML = b"<!doctype html><title>Hello</title><p>Nothing here."
