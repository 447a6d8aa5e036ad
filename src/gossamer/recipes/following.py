"""Where a walk may go on from a page: what recipes that read whole sites have in common."""

from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, Field

from gossamer.model.document import Document
from gossamer.model.url import site_of_url


def _pattern(text: str) -> str:
    if not text.startswith(("/", "*")):
        raise ValueError(f'"{text}" must begin with / or *: it is compared with path and query')
    return text


def each_once(entries: list[str]) -> list[str]:
    return list(dict.fromkeys(entries))


Pattern = Annotated[str, Field(max_length=200), AfterValidator(_pattern)]
Patterns = Annotated[list[Pattern], Field(max_length=50), AfterValidator(each_once)]
"""Which pages are wanted, by path and query: `*` for anything."""


@lru_cache(maxsize=1_024)
def _beginnings(site: str) -> tuple[str, ...]:
    return tuple(f"{scheme}://{www}{site}/" for scheme in ("https", "http") for www in ("", "www."))


def links_within(doc: Document) -> list[str]:
    """Where the page leads on the same site: first where it sends visitors by itself, then its links."""
    here = doc.url
    site = site_of_url(here)
    usual = _beginnings(site)
    first = [doc.refresh] if doc.refresh and site_of_url(doc.refresh) == site else []
    if doc.nofollow:
        return first
    return first + [
        url
        for url, nofollow in doc.links
        # Only the few links that are not plainly here, but name this site (another port, say), are taken apart.
        if not nofollow and (url.startswith(usual) or (site in url and site_of_url(url) == site)) and url != here
    ]
