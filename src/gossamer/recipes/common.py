"""Parameters and links that recipes have in common: how pages are fetched, and which pages of a site are read."""

from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, Field

from gossamer.model.document import Document
from gossamer.model.fields import Strict
from gossamer.model.rungs import RUNGS, Ladder, Mode, ladder_of
from gossamer.model.url import site_of_url


def _distinct_rungs(names: list[str]) -> list[str]:
    for at, name in enumerate(names):
        if name not in RUNGS or name in names[:at]:
            raise ValueError(f'"{name}" is not a method, or stands there twice')
    return names


class FetchingParams(Strict):
    """Options for fetching the pages of a job."""

    mode: Mode = Field(default=Mode.FREE_ONLY, description="What pages are fetched with, and what that may cost.")
    ladder: Annotated[list[str], Field(max_length=len(RUNGS)), AfterValidator(_distinct_rungs)] = Field(
        default_factory=list, description="The ways to fetch, as far as they are configured here, in their order."
    )

    @property
    def rungs(self) -> Ladder:
        return ladder_of(self.mode, self.ladder)


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
    """Return the addresses a page leads to on its own site: its redirect by HTML first, then its links."""
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
