"""The rungs that are somebody else's machines: their names, and how long and how often each may be tried.

Their time limits are long because they try again by themselves before they answer, and because a call that is given up
is charged all the same.
"""

from collections.abc import Mapping
from datetime import timedelta

from gossamer.model.fetching import HOME_LANE, Rung


def _rung(name: str, seconds: int, retries: int = 3, *, renders: bool = False, paid: bool = True) -> Rung:
    return Rung(name, HOME_LANE, retries, timedelta(seconds=seconds), renders, paid)


PROVIDER_RUNGS: Mapping[str, Rung] = {
    rung.name: rung
    for rung in (
        _rung("scrapingbee-standard", 75),
        _rung("scrapingbee-js", 90, renders=True),
        _rung("scrapingbee-premium", 90),
        _rung("scrapingbee-premium-js", 120, renders=True),
        _rung("scrapingbee-stealth", 170, renders=True),  # takes no time limit of ours: its own is 140 seconds
        _rung("scraperapi", 100),  # tries for 70 seconds, whatever we want
        _rung("scraperapi-js", 100, renders=True),
        _rung("scraperapi-premium", 100),
        _rung("scraperapi-premium-js", 100, renders=True),
        _rung("scraperapi-ultra", 100),
        _rung("scraperapi-ultra-js", 100, renders=True),
        # 60 seconds for the page, the rest for the start of its browser.
        _rung("flaresolverr", 80, retries=1, renders=True, paid=False),
        _rung("firecrawl", 75, renders=True),
    )
}

PROVIDERS = tuple(dict.fromkeys(name.partition("-")[0] for name in PROVIDER_RUNGS))


OWN_SERVERS = frozenset({"flaresolverr"})
"""Free rungs of a server of the operator's own: worth a try before anything paid, and nothing a job has to wait for."""

KEYED_BY_JOB = frozenset({"firecrawl"})
"""Providers to which a job may bring a key of its own."""


def whose_line(name: str) -> str:
    """The job whose own key a provider is asked with, by the name its breaker has; nothing for the operator's."""
    return name.partition(":")[2]


def provider_of(rung: str) -> str:
    """The name of the provider in settings, bills and breakers; nothing for a rung of our own."""
    return rung.partition("-")[0] if rung in PROVIDER_RUNGS else ""
