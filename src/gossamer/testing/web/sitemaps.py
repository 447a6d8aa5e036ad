"""The sitemap of a sample site in its many shapes: which file answers with which bytes, for a given list of addresses."""

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

NAMED_ONLY = ("gzip", "text", "rss")
"""Shapes that lie where nobody would guess: only a Sitemap line in robots.txt leads to them."""

SHAPES = ("none", "none", "plain", "plain", "index", *NAMED_ONLY, "broken", "html")
"""What sites draw from. The broken ones list only pages that links lead to anyway: how much of them is read is taste."""

_ENTRY = {"gzip": "/sitemap.xml.gz", "text": "/sitemap.txt", "rss": "/feed.xml"}
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
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
        if path != self.entry:
            return None
        match self.shape:
            case "gzip":
                return "application/gzip", gzip.compress(_urlset(self.addresses), compresslevel=6, mtime=0)
            case "text":
                return "text/plain; charset=utf-8", "".join(f"{address}\n" for address in self.addresses).encode()
            case "rss":
                return "application/rss+xml; charset=utf-8", _rss(self.origin, self.addresses)
            case "broken":
                return _XML, _broken(self.addresses)
            case "html":
                return "text/html; charset=utf-8", b"<!doctype html><title>Hello</title><p>There is nothing here."
            case _:
                return _XML, _urlset(self.addresses)

    def _part(self, path: str) -> tuple[str, bytes] | None:
        half = (len(self.addresses) + 1) // 2
        match path:
            case "/sitemap.xml":
                return _XML, _index((f"{self.origin}/sitemaps/first.xml", f"{self.origin}/sitemaps/more.xml"))
            case "/sitemaps/more.xml":
                return _XML, _index((f"{self.origin}/sitemaps/second.xml",))
            case "/sitemaps/first.xml":
                return _XML, _urlset(self.addresses[:half])
            case "/sitemaps/second.xml":
                return _XML, _urlset(self.addresses[half:])
            case _:
                return None


def _urlset(addresses: Iterable[str]) -> bytes:
    entries = "".join(
        f"  <url><loc>{escape(address)}</loc><lastmod>2026-0{1 + at % 9}-11</lastmod>"
        f"<priority>{0.3 + at % 7 / 10:.1f}</priority></url>\n"
        for at, address in enumerate(addresses)
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{_NAMESPACE}">\n{entries}</urlset>\n'.encode()


def _index(addresses: Iterable[str]) -> bytes:
    entries = "".join(f"  <sitemap><loc>{escape(address)}</loc></sitemap>\n" for address in addresses)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="{_NAMESPACE}">\n{entries}</sitemapindex>\n'.encode()


def _rss(origin: str, addresses: Iterable[str]) -> bytes:
    items = "".join(
        f"<item><title>Entry</title><link>{escape(address)}</link><pubDate>Mon, 02 Mar 2026 08:00:00 GMT</pubDate></item>\n"
        for address in addresses
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel><title>Latest</title>'
        f"<link>{origin}/</link><description>Latest entries</description>\n{items}</channel></rss>\n"
    ).encode()


def _broken(addresses: Sequence[str]) -> bytes:
    return _urlset(addresses).replace(b"</url>", b"</uri> & more", 1).removesuffix(b"</urlset>\n")
