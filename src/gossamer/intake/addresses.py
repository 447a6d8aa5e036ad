"""Stage one of a job that is given pages: from the addresses people list to sites, each with its pages, each once."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import UserError
from gossamer.intake.columns import Cell, cells_of_sheet, read_cells
from gossamer.intake.domain import Refusal, clean, read_domain
from gossamer.intake.textfile import name_of, quoted, read_list
from gossamer.model.job import Target
from gossamer.model.url import MAX_URL_LENGTH, normalise, site_of_url

MAX_ADDRESSES = 50_000

EXPECTED = "Expected one address per line, like https://example.com/page, or CSV with a 'url' column."


@dataclass(frozen=True, slots=True)
class AddressList:
    """The pages of a list in its order, and the sites they are of. Of `given` entries, `duplicates` were left out."""

    urls: tuple[str, ...]  # in their one spelling
    targets: tuple[Target, ...]
    given: int

    @property
    def duplicates(self) -> int:
        return self.given - len(self.urls)


def read_addresses(texts: Iterable[str], pointer: str = "") -> AddressList:
    """What was typed, or came in a request. The first that is no address is a `UserError`.

    With a `pointer` to their list it says which of them.
    """
    given, urls = 0, dict[str, None]()
    for text in texts:
        at = f"{pointer}{given}: " if pointer else ""
        given += 1
        url = read_address(text)
        if isinstance(url, Refusal):
            raise UserError("urls.bad", f"{at}{quoted(text)} is not a web address: it {url.why}.", hint=_HINT)
        urls[url] = None
    if not urls:
        raise UserError("urls.empty", "There is no address to fetch.", hint=_HINT)
    if len(urls) > MAX_ADDRESSES:
        raise _too_many(f"{len(urls):,} addresses were given")
    return _listed(urls, given)


def read_address_file(path: Path) -> AddressList:
    """All of a file is read or none of it: the first line that is no address is a `UserError`."""
    read = read_list(path, "urls", EXPECTED)
    wanted = _looks_like_address
    cells = read_cells(read, wanted) if isinstance(read, str) else cells_of_sheet(read, wanted)
    if not cells:
        message = f"{name_of(path)} has no addresses in it, only blank lines, comments or a header."
        raise UserError("urls.empty", message, hint=EXPECTED)
    urls = dict[str, None]()
    for cell in cells:
        url = read_address(cell.text)
        if isinstance(url, Refusal):
            raise _bad_line(path, cell, url)
        urls[url] = None
    if len(urls) > MAX_ADDRESSES:
        raise _too_many(f"{name_of(path)} has {len(urls):,}")
    return _listed(urls, len(cells))


def read_address(text: str) -> str | Refusal:
    """The one spelling of an address; without a scheme it is https. What a browser would not send is cut off."""
    text = clean(text)
    domain = read_domain(text)
    if isinstance(domain, Refusal):
        return domain
    url = normalise(text if "://" in text else f"https://{text.lstrip('/')}")
    if url is None:
        long = len(text) > MAX_URL_LENGTH
        return Refusal(f"is longer than {MAX_URL_LENGTH:,} characters" if long else "cannot be read as one")
    return url


_HINT = "Give something like https://example.com/page."


def _listed(urls: Iterable[str], given: int) -> AddressList:
    by_site: dict[str, list[str]] = {}
    for url in urls:
        by_site.setdefault(site_of_url(url), []).append(url)
    targets = tuple(Target(site, (pages[0],), pages[0], tuple(pages)) for site, pages in by_site.items())
    return AddressList(tuple(urls), targets, given)


def _looks_like_address(text: str) -> bool:
    return isinstance(read_address(text), str)


def _bad_line(path: Path, cell: Cell, refusal: Refusal) -> UserError:
    message = (
        f"{name_of(path)}, line {cell.line:,}: {quoted(cell.text.strip())} is not a web address: it {refusal.why}."
    )
    return UserError("urls.bad", message, hint=_HINT)


def _too_many(what: str) -> UserError:
    return UserError(
        "urls.too_many", f"A job takes {MAX_ADDRESSES:,} addresses, and {what}.", hint="Make several jobs of them."
    )
