"""A page or a domain that is to be erased, and how to find the texts that mention it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from gossamer.model.url import path_of, site_of_url, url_key

_MARK = "/forgotten:"
# Characters that continue a URL: a match before them is only the beginning of a longer one.
_GOES_ON = r"(?![\w/?&=%~+-]|[.:,;]\w)"


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """A page with all its spellings, or a domain with all its subdomains."""

    host: str  # part of every text that mentions it
    pattern: re.Pattern[str]
    keys: frozenset[bytes] = frozenset()  # of the page
    domain: str = ""

    def is_in(self, text: str) -> bool:
        return bool(self.pattern.search(unquote(text)))

    def covers(self, host: str) -> bool:
        """Return True if the data of a whole site is to be erased."""
        return bool(self.domain) and (host == self.domain or host.endswith(f".{self.domain}"))

    def is_of_page(self, url: str, key: bytes, identity: bytes | None) -> bool:
        """Return True if a row belongs to the page, was identified as it, or contains it in its URL."""
        if is_mark(url):
            return False
        return key in self.keys or identity in self.keys or self.is_in(url)


def of_page(urls: Sequence[str]) -> ErasureTarget:
    """`urls` are the normalised spellings of one address."""
    rests = {unquote(url.partition("://")[2]) for url in urls}
    # A homepage is often written without its slash.
    named = [re.escape(rest.removesuffix("/")) + "/?" if rest.count("/") == 1 else re.escape(rest) for rest in rests]
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(sorted(named))}){_GOES_ON}", re.IGNORECASE)
    return ErasureTarget(site_of_url(urls[0]), pattern, frozenset(url_key(url) for url in urls))


def of_domain(domain: str) -> ErasureTarget:
    pattern = re.compile(rf"(?<![\w-]){re.escape(domain)}(?![\w-]|\.\w)", re.IGNORECASE)
    return ErasureTarget(domain, pattern, domain=domain)


def is_mark(url: str) -> bool:
    """Return True if this is the placeholder of an erased URL."""
    return path_of(url).startswith(_MARK)


def mark(origin: str, key: bytes) -> str:
    """Return the placeholder of an erased URL: still on the same site, and different for every page."""
    return f"{origin}{_MARK}{key[4:].hex()}"
