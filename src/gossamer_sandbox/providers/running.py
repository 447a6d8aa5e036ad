"""An emulated provider on a port of this machine."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gossamer_sandbox.providers.bill import Bill
from gossamer_sandbox.providers.firecrawl import FirecrawlEmulator
from gossamer_sandbox.providers.flaresolverr import FlareSolverrEmulator
from gossamer_sandbox.providers.scraperapi import ScraperApiEmulator
from gossamer_sandbox.providers.scrapingbee import ScrapingBeeEmulator
from gossamer_sandbox.providers.shop import Shop
from gossamer_sandbox.providers.storms import Storms
from gossamer_sandbox.providers.target import Target
from gossamer_sandbox.providers.wire import LOOPBACK, Answer, Request, serve


class Emulator(Protocol):
    """Answers as one provider does."""

    path: str  # below which it answers, as part of the address clients are given
    shop: Shop

    async def answer(self, request: Request) -> Answer: ...


EMULATORS: Mapping[str, Callable[..., Emulator]] = {
    "scrapingbee": ScrapingBeeEmulator,
    "scraperapi": ScraperApiEmulator,
    "flaresolverr": FlareSolverrEmulator,
    "firecrawl": FirecrawlEmulator,
}


@dataclass(frozen=True, slots=True)
class Running:
    """An emulator that can be asked."""

    name: str
    port: int
    emulator: Emulator

    @property
    def url(self) -> str:
        """For the provider's `_URL` setting."""
        return f"http://{LOOPBACK}:{self.port}{self.emulator.path}"

    @property
    def key(self) -> str:
        return self.emulator.shop.key

    @property
    def bill(self) -> Bill:
        return self.emulator.shop.bill

    @property
    def storms(self) -> Storms:
        return self.emulator.shop.storms

    @property
    def most(self) -> int:
        """Calls that were under way at once."""
        return self.emulator.shop.most


@asynccontextmanager
async def emulate(
    name: str,
    connect_to: str,
    *,
    port: int = 0,
    bill: Path | None = None,
    largest: int = 2_000_000,
    options: Mapping[str, Any] | None = None,
    **state: Any,
) -> AsyncIterator[Running]:
    """Run an emulated provider until the block is left.

    `connect_to` gives the location of the hosts it may visit; `state` are fields of its Shop (key, credits,
    at_once, delay), `options` are specific to this emulator.
    """
    shop = Shop(Target(connect_to, largest=largest, agent=f"{name}-emulator"), bill=Bill(bill), **state)
    emulator = EMULATORS[name](shop, **(options or {}))

    async def handle(request: Request) -> Answer:
        return shop.control(request) or await emulator.answer(request)

    try:
        async with serve(handle, port) as bound:
            yield Running(name, bound, emulator)
    finally:
        shop.bill.close()
