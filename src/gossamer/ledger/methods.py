"""Rungs as people read them: what they are called, and what kind of request they make."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from gossamer.ledger.prices import USUAL
from gossamer.model.fetching import DIRECT

Kind: TypeAlias = Literal["direct", "provider", "rendered"]

_OWN_BROWSERS = frozenset({"browser", "stealth", "flaresolverr"})
_PROVIDERS = {"scrapingbee": "ScrapingBee", "scraperapi": "ScraperAPI", "firecrawl": "Firecrawl"}
_WAYS = {"js": "JS rendering"}


def kind_of(rung: str) -> Kind:
    """A provider's request that runs the page's JavaScript is `rendered`, and so is one of a browser of our own."""
    price = USUAL.get(rung)
    if rung in _OWN_BROWSERS or (price and price.renders):
        return "rendered"
    return "direct" if rung == DIRECT.name else "provider"


def provider_name(provider: str) -> str:
    """`ScrapingBee`."""
    return _PROVIDERS.get(provider, "FlareSolverr" if provider == "flaresolverr" else provider.capitalize())


def method_name(rung: str) -> str:
    """`Direct (free)`, `ScrapingBee (standard)`, `ScrapingBee (JS rendering)`."""
    provider, *ways = rung.split("-")
    if provider not in _PROVIDERS:
        return f"{rung.capitalize()} (free)" if rung == DIRECT.name or rung in _OWN_BROWSERS else rung.capitalize()
    if not ways:
        return provider_name(provider) if provider == "firecrawl" else f"{provider_name(provider)} (standard)"
    return f"{provider_name(provider)} ({', '.join(_WAYS.get(way, way) for way in ways)})"


def breakdown(domains: Mapping[str, int]) -> str:
    """`Breakdown: Direct (free): 3,891 domains | ScrapingBee (standard): 1,924 domains`."""
    parts = (f"{method_name(rung)}: {count:,} domain{'' if count == 1 else 's'}" for rung, count in domains.items())
    return f"Breakdown: {' | '.join(parts)}"


def by_dearness(rungs: Iterable[str]) -> list[str]:
    """The cheapest first; of those we know no price of, by name."""
    return sorted(rungs, key=lambda rung: (USUAL[rung].usual if rung in USUAL else 0, rung))
