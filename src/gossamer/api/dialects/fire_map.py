"""`POST /firecrawl/v2/map`: the addresses of a site, from its sitemap and from one of its pages.

At most two kinds of requests are made for it, as politely as any others: the files of the sitemap, and the page itself.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from gossamer.api.dialects.fire_options import refuse_unavailable
from gossamer.api.parts import Parts
from gossamer.api.scrape import Url, Wanted, read_page
from gossamer.api.sitemap_jobs import pages_of_sitemap
from gossamer.api.tenant import Tenant
from gossamer.intake.addresses import AddressList, read_addresses
from gossamer.model.states import PageState
from gossamer.model.url import domain_of, normalise, origin_of, site_of_url

DOOR = "firecrawl-map"


class MapBody(BaseModel):
    model_config = ConfigDict(
        extra="allow", populate_by_name=True, json_schema_extra={"example": {"url": "https://shop.example/"}}
    )

    url: Url
    search: str = Field("", max_length=200, description="Only addresses and titles with this in them.")
    sitemap: Literal["include", "skip", "only"] = "include"
    include_subdomains: bool = Field(True, alias="includeSubdomains")
    ignore_query: bool = Field(
        True, alias="ignoreQueryParameters", description="One address of those that differ in it."
    )
    limit: int = Field(5_000, ge=1, le=30_000)
    timeout: int = Field(60_000, ge=1_000, le=300_000, description="Milliseconds.")


class MapLink(BaseModel):
    url: str
    title: str | None = None
    description: str | None = None


class MapAnswer(BaseModel):
    success: bool = True
    links: list[MapLink]


async def map_site(body: MapBody, tenant: Tenant, parts: Parts) -> MapAnswer:
    """Return the links known of the site within `timeout`: if the site does not answer, only its address."""
    refuse_unavailable(body.model_extra or {})
    listed = read_addresses([body.url])
    found = _Found(listed.urls[0], body)
    found.take([{"url": listed.urls[0]}])
    until = time.monotonic() + body.timeout / 1_000
    if body.sitemap != "only":
        found.take(await _links(tenant, parts, listed, until))
    if body.sitemap != "skip" and not found.is_full:
        # Its jobs go on where it is not waited for any longer, and what they have read is lost to this answer only.
        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                address = f"{origin_of(listed.urls[0])}/sitemap.xml"
                found.take({"url": url} for url in await pages_of_sitemap(tenant, parts, address, 2 * body.limit))
        except TimeoutError:
            pass
    return MapAnswer(links=found.links)


async def _links(tenant: Tenant, parts: Parts, listed: AddressList, until: float) -> list[Mapping[str, Any]]:
    wanted = Wanted(formats=["links", "metadata"]).request(listed, parts, "", None)
    job, page = await read_page(tenant, parts, wanted, DOOR, until)
    if page is None:
        await tenant.give_up(job)
        return []
    if page.state is not PageState.DONE:
        return []
    facts = page.data.get("metadata") or {}
    itself = {"url": page.data.get("final_url"), "title": facts.get("title"), "description": facts.get("description")}
    return [itself, *({"url": one["url"], "title": one.get("text")} for one in page.data.get("links") or ())]


class _Found:
    """Addresses of the site, each once, in the order they were found."""

    def __init__(self, url: str, body: MapBody) -> None:
        self._site = site_of_url(url)
        self._body = body
        self._links: dict[str, MapLink] = {}

    @property
    def links(self) -> list[MapLink]:
        return list(self._links.values())[: self._body.limit]

    @property
    def is_full(self) -> bool:
        return len(self._links) >= self._body.limit

    def take(self, some: Iterable[Mapping[str, Any]]) -> None:
        for one in some:
            url = normalise(str(one.get("url") or ""))
            if url is None or not self._is_wanted(url, str(one.get("title") or "")):
                continue
            key = url.partition("?")[0] if self._body.ignore_query else url
            known = self._links.get(key)
            if known is None:
                self._links[key] = MapLink(
                    url=key, title=one.get("title") or None, description=one.get("description") or None
                )
            elif known.title is None and one.get("title"):
                known.title, known.description = one["title"], one.get("description") or None

    def _is_wanted(self, url: str, title: str) -> bool:
        if urlsplit(url).scheme not in ("http", "https"):
            return False
        site, search = site_of_url(url), self._body.search.lower()
        mine = site == self._site or (self._body.include_subdomains and domain_of(site) == domain_of(self._site))
        return mine and (search in url.lower() or search in title.lower())
