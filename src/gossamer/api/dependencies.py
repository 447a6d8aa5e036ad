"""Objects that endpoints share: made once at the start of the server, and passed to each request."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, TypeVar
from weakref import WeakValueDictionary

from fastapi import Depends
from starlette.requests import HTTPConnection

from gossamer.accounts.tokens import Signer
from gossamer.api.development import Development
from gossamer.api.limits import Rates
from gossamer.api.live import Live
from gossamer.api.stale_cache import StaleCache
from gossamer.api.vitals import Vitals
from gossamer.app import App
from gossamer.crawl.express import Express
from gossamer.crawl.sitemap_import import ListingReaders
from gossamer.model.account import credit_prices
from gossamer.model.export import Export
from gossamer.recipes.base import Recipe

T = TypeVar("T")

_LIGHT = 300  # entries of a list that are checked at once: about 15 ms

_LISTINGS = 2  # sitemap files that are parsed at a time


class Turns:
    """Limit concurrent work: a number in total, and one piece per account."""

    def __init__(self, most: int) -> None:
        self._room = asyncio.Semaphore(most)
        self._accounts: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, account: str) -> AsyncIterator[None]:
        mine = self._accounts.setdefault(account, asyncio.Lock())
        async with mine, self._room:
            yield


class Heavy:
    """Runs checks of lists: short lists immediately, long ones in a thread, so that the event loop is not blocked.

    An account has one such piece of work at a time, so that other accounts get their turn in between.
    """

    def __init__(self) -> None:
        self._turns = Turns(1)

    async def run(self, account: str, entries: int, work: Callable[[], T]) -> T:
        if entries <= _LIGHT:
            return work()
        async with self._turns.of(account):
            return await asyncio.to_thread(work)


@dataclass(frozen=True, slots=True)
class Parts:
    app: App
    rates: Rates
    signer: Signer
    live: Live
    express: Express
    stale_cache: StaleCache
    vitals: Vitals
    development: Development | None = None
    heavy: Heavy = field(default_factory=Heavy)
    listings: ListingReaders = field(default_factory=ListingReaders)
    listing_turns: Turns = field(default_factory=lambda: Turns(_LISTINGS))

    @property
    def recipes(self) -> Mapping[str, Recipe]:
        return self.app.recipes

    @property
    def prices(self) -> Mapping[str, int]:
        """Account credits of a page, by what has read it."""
        return credit_prices(self.app.settings.quota_prices)

    def link(self, connection: HTTPConnection, path: str) -> str:
        """Return a link to this server: with the configured address, else the host that a trusted proxy names.

        Without either, it has the address that the request arrived at. Host headers of clients are not trusted.
        """
        said = self.app.settings.api_url
        if said:
            return f"{said}{path}"
        scheme = "https" if connection.url.scheme in ("https", "wss") else "http"
        return f"{scheme}://{connection.scope['state']['host']}{path}"

    async def signed(self, connection: HTTPConnection, export: Export) -> str | None:
        """Return a link to a file for people without a key. It is signed now and never stored."""
        link = await self.app.export_store().signed(export, self.app.clock.now())
        return self.link(connection, link) if link and link.startswith("/") else link


async def parts_of(connection: HTTPConnection) -> Parts:
    parts = connection.app.state.parts
    assert isinstance(parts, Parts)  # noqa: S101 - set before the first request
    return parts


GivenParts = Annotated[Parts, Depends(parts_of)]
