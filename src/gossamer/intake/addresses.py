"""Lists of URLs, for jobs that are given pages: parsed, deduplicated and grouped by site."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from gossamer.errors import UserError
from gossamer.intake.columns import Cell, cells_of_sheet, read_cells
from gossamer.intake.domain import BadEntry, clean, is_address, read_domain
from gossamer.intake.textfile import UnusableCell, name_of, quoted, read_list
from gossamer.model.job import Target
from gossamer.model.url import MAX_URL_LENGTH, normalise, site_of_url

MAX_ADDRESSES = 50_000

EXPECTED = "Expected one address per line, like https://example.com/page, or CSV with a 'url' column."


@dataclass(frozen=True, slots=True)
class AddressList:
    """The pages of a list in its order, and their sites. Of `given` entries, `duplicates` were left out."""

    urls: tuple[str, ...]  # normalised
    targets: tuple[Target, ...]
    given: int

    @property
    def duplicates(self) -> int:
        return self.given - len(self.urls)


def read_addresses(texts: Iterable[str], pointer: str = "") -> AddressList:
    """Parse web addresses that were typed or sent in a request. The first invalid one raises a `UserError`.

    With a `pointer` to their list, the error says which one it is.
    """
    given, urls = 0, dict[str, str]()
    for text in texts:
        at = f"{pointer}{given}: " if pointer else ""
        given += 1
        url = read_address(text)
        if isinstance(url, BadEntry):
            raise UserError("urls.bad", f"{at}{quoted(text)} is not a web address: it {url.why}.", hint=_HINT)
        urls.setdefault(url, text)
    if not urls:
        raise UserError("urls.empty", "There is no address to fetch.", hint=_HINT)
    if len(urls) > MAX_ADDRESSES:
        raise _too_many(f"{len(urls):,} addresses were given")
    return _listed(urls, given)


def read_address_file(path: Path) -> AddressList:
    """Read a file of addresses completely or not at all: the first invalid line raises `UserError`."""
    read = read_list(path, "urls", EXPECTED)
    wanted = _looks_like_address
    cells = read_cells(read, wanted) if isinstance(read, str) else cells_of_sheet(read, wanted)
    if not cells:
        message = f"{name_of(path)} has no addresses in it, only blank lines, comments or a header."
        raise UserError("urls.empty", message, hint=EXPECTED)
    urls = dict[str, str]()
    for cell in cells:
        url = BadEntry(cell.text.why) if isinstance(cell.text, UnusableCell) else read_address(cell.text)
        if isinstance(url, BadEntry):
            raise _bad_line(path, cell, url)
        urls.setdefault(url, cell.text)
    if len(urls) > MAX_ADDRESSES:
        raise _too_many(f"{name_of(path)} has {len(urls):,}")
    return _listed(urls, len(cells))


def read_address(text: str) -> str | BadEntry:
    """Normalise a URL; without a scheme it is https. Parts that a browser would not send are removed."""
    text = clean(text)
    domain = read_domain(text)
    if isinstance(domain, BadEntry):
        return domain
    url = normalise(text if "://" in text else f"https://{text.lstrip('/')}")
    if url is None:
        long = len(text) > MAX_URL_LENGTH
        return BadEntry(f"is longer than {MAX_URL_LENGTH:,} characters" if long else "cannot be read as one")
    return url


_HINT = "Give something like https://example.com/page."


def _listed(urls: Mapping[str, str], given: int) -> AddressList:
    """Group URLs by site; `urls` maps them to the texts they were read from."""
    by_site: dict[str, list[str]] = {}
    for url in urls:
        by_site.setdefault(site_of_url(url), []).append(url)
    places = {url: place for place, url in enumerate(urls)}
    targets = tuple(
        replace(_target(site, pages, clean(urls[pages[0]])), places=tuple(places[url] for url in pages))
        for site, pages in by_site.items()
    )
    return AddressList(tuple(urls), targets, given)


def _target(site: str, pages: list[str], text: str) -> Target:
    """Return a site with its pages. A single page without a scheme gets other spellings to try."""
    first = pages[0]
    if len(pages) > 1 or "://" in text:
        return Target(site, (first,), first, tuple(pages))
    return Target(site, spellings(first), text, (first,))


def spellings(url: str) -> tuple[str, ...]:
    """Return a URL that was written without a scheme, and its alternatives: http, and with or without `www`."""
    parts = urlsplit(url)
    rest = url.partition("://")[2].removeprefix(parts.netloc)
    hosts = [parts.netloc]
    if parts.port is None and not is_address(parts.netloc):
        twin = parts.netloc.removeprefix("www.")
        hosts.append(twin if twin != parts.netloc else f"www.{twin}")
    found = (normalise(f"{scheme}://{host}{rest}") for host in hosts for scheme in ("https", "http"))
    return tuple(dict.fromkeys([url, *(one for one in found if one and site_of_url(one) == site_of_url(url))]))


def _looks_like_address(text: str) -> bool:
    return isinstance(read_address(text), str)


def _bad_line(path: Path, cell: Cell, refusal: BadEntry) -> UserError:
    message = (
        f"{name_of(path)}, line {cell.line:,}: {quoted(cell.text.strip())} is not a web address: it {refusal.why}."
    )
    return UserError("urls.bad", message, hint=_HINT)


def _too_many(what: str) -> UserError:
    return UserError(
        "urls.too_many", f"A job takes {MAX_ADDRESSES:,} addresses, and {what}.", hint="Make several jobs of them."
    )
