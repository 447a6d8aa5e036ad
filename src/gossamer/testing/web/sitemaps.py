"""The sitemap of a sample site in its many shapes: which file answers with which bytes."""

import gzip
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

NAMED_ONLY = ("gzip", "text", "rss")
"""Shapes that lie where nobody would guess: only a Sitemap line in robots.txt leads to them."""

SHAPES = ("none", "none", "plain", "plain", "index", *NAMED_ONLY, "broken", "html")
"""What sites draw from. Broken ones list only pages that links lead to anyway: how much of them is read is taste."""

_ENTRY = {"gzip": "/sitemap.xml.gz", "text": "/sitemap.txt", "rss": "/feed.xml"}
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_PROLOGUE = '<?xml version="1.0" encoding="UTF-8"?>\n'
_XML = "application/xml; charset=utf-8"


@dataclass(frozen=True, slots=True)
class SitemapPlan:
    """A site's sitemap. `addresses` are absolute; some may be elsewhere or forbidden, as in real ones."""

    shape: str
    origin: str
    addresses: tuple[str, ...] = ()

    @property
    def entry(self) -> str:
        """Where reading begins."""
        return _ENTRY.get(self.shape, "/sitemap.xml")

    @property
    def found(self) -> tuple[str, ...]:
        """What a reader must find in it."""
        return () if self.shape in ("none", "broken", "html") else self.addresses

    def file(self, path: str) -> tuple[str, bytes] | None:
        """Content type and body of one of its files."""
        if self.shape == "none" or not path.startswith(("/sitemap", "/feed")):
            return None
        if self.shape == "index":
            return self._part(path)
        return _WRITERS[self.shape](self.origin, self.addresses) if path == self.entry else None

    def _part(self, path: str) -> tuple[str, bytes] | None:
        """An index that lists a list of addresses and another index, which lists the other half."""
        half = (len(self.addresses) + 1) // 2
        parts = {
            "/sitemap.xml": _index((f"{self.origin}/sitemaps/first.xml", f"{self.origin}/sitemaps/more.xml")),
            "/sitemaps/more.xml": _index((f"{self.origin}/sitemaps/second.xml",)),
            "/sitemaps/first.xml": _urlset(self.addresses[:half]),
            "/sitemaps/second.xml": _urlset(self.addresses[half:]),
        }
        return (_XML, parts[path]) if path in parts else None


def _urlset(addresses: Iterable[str]) -> bytes:
    entries = "".join(
        f"  <url><loc>{escape(address)}</loc><lastmod>2026-0{1 + at % 9}-11</lastmod>"
        f"<priority>{0.3 + at % 7 / 10:.1f}</priority></url>\n"
        for at, address in enumerate(addresses)
    )
    return f'{_PROLOGUE}<urlset xmlns="{_NAMESPACE}">\n{entries}</urlset>\n'.encode()


def _index(addresses: Iterable[str]) -> bytes:
    entries = "".join(f"  <sitemap><loc>{escape(address)}</loc></sitemap>\n" for address in addresses)
    return f"{_PROLOGUE}<sitemapindex xmlns='{_NAMESPACE}'>\n{entries}</sitemapindex>\n".encode()


def _rss(origin: str, addresses: Iterable[str]) -> bytes:
    items = "".join(
        f"<item><title>Entry</title><link>{escape(address)}</link>"
        "<pubDate>Mon, 02 Mar 2026 08:00:00 GMT</pubDate></item>\n"
        for address in addresses
    )
    return (
        f'{_PROLOGUE}<rss version="2.0"><channel><title>Latest</title>'
        f"<link>{origin}/</link><description>Latest entries</description>\n{items}</channel></rss>\n"
    ).encode()


def _broken(addresses: Sequence[str]) -> bytes:
    return _urlset(addresses).replace(b"</url>", b"</uri> & more", 1).removesuffix(b"</urlset>\n")


_WRITERS: Mapping[str, Callable[[str, Sequence[str]], tuple[str, bytes]]] = {
    "plain": lambda origin, found: (_XML, _urlset(found)),
    "gzip": lambda origin, found: ("application/gzip", gzip.compress(_urlset(found), compresslevel=6, mtime=0)),
    "text": lambda origin, found: ("text/plain; charset=utf-8", "".join(f"{url}\n" for url in found).encode()),
    "rss": lambda origin, found: ("application/rss+xml; charset=utf-8", _rss(origin, found)),
    "broken": lambda origin, found: (_XML, _broken(found)),
    "html": lambda origin, found: ("text/html; charset=utf-8", b"<!doctype html><title>Hello</title><p>Nothing here."),
}
