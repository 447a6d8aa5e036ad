"""A provider's session against its emulator: real HTTP on both sides, and sites behind it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from gossamer.clock import SystemClock
from gossamer.fetch import Fetcher, FetchError
from gossamer.fetch.deny_list import NOTHING, DenyList
from gossamer.fetch.forward_proxy import ForwardProxy
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.providers import ProviderAccess, Providers, open_provider
from gossamer.fetch.resolve import Resolver
from gossamer.gate import Breakers, Places
from gossamer.gate.local import MemoryPlaces
from gossamer.model.document import Response
from gossamer.model.rungs import RUNGS as TABLE
from gossamer.model.rungs import provider_of
from gossamer_sandbox.providers import Running, emulate
from tests.fetch.loopback import NameServer, Site
from tests.sandbox.providers.recorded import HOST, fill

PROVIDER_RUNGS = {name: rung for name, rung in TABLE.items() if rung.provider}
# The cheapest rung of each provider.
RUNGS = ("scrapingbee-standard", "scraperapi", "flaresolverr", "firecrawl")
PATIENCE = timedelta(seconds=40)


@dataclass(frozen=True)
class Way:
    """An emulated provider and a session to it."""

    running: Running
    desk: Providers
    session: Fetcher
    guard: Guard
    forward: ForwardProxy | None

    async def get(self, url: str = f"http://{HOST}/", max_bytes: int = 1_000_000, **options: Any) -> Response:
        asked: dict[str, Any] = {"timeout": PATIENCE, "max_bytes": max_bytes, **options}
        return await self.session.fetch(url, **asked)

    async def error(self, url: str = f"http://{HOST}/", max_bytes: int = 1_000_000, **options: Any) -> FetchError:
        with pytest.raises(FetchError) as caught:
            await self.get(url, max_bytes, **options)
        return caught.value


OpenWay = Callable[..., Awaitable[Way]]


@pytest.fixture
async def target() -> AsyncIterator[Site]:
    async with Site() as site:
        fill(site)
        yield site


@pytest.fixture
async def open_way(target: Site, resolver: Resolver, name_server: NameServer) -> AsyncIterator[OpenWay]:
    """Opens a session on a rung to a new emulator; everything is closed at the end."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:

        async def open_(
            rung: str,
            *,
            connect_to: str = "",
            key: str = "",
            url: str = "",
            places: Places | None = None,
            breakers: Breakers | None = None,
            never_send: DenyList = NOTHING,
            patience: timedelta = timedelta(seconds=20),
            proxy: str = "",
            session: int | None = None,
            worst: dict[str, int] | None = None,
            **state: Any,
        ) -> Way:
            name = provider_of(rung)
            rules = connect_to or f"*.test=127.0.0.1:{target.port}"
            running = await stack.enter_async_context(emulate(name, rules, **state))
            guard = Guard(resolver, rules=parse_connect_to(rules))
            browses = name == "flaresolverr"
            forward = await stack.enter_async_context(ForwardProxy(guard)) if browses else None
            desk = Providers(
                {name: ProviderAccess(key or running.key, url or running.url, worst=worst or {})},
                clock,
                places or MemoryPlaces(clock),
                holder="test",
                breakers=breakers,
                never_send=never_send,
                patience=patience,
                proxy=proxy,
                forward=forward,
            )
            opened = open_provider(rung, desk, guard, session=session)
            stack.push_async_callback(opened.close)
            return Way(running, desk, opened, guard, forward)

        yield open_
