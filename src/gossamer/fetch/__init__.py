"""Getting bytes safely: one attempt on one rung, from an address to a Response or a FetchError."""

from gossamer.fetch.errors import FetchError, ProviderBusy, ProviderTrouble, ProviderUnusable, ProxyAway
from gossamer.fetch.rung import Accept, Before, Fetcher, Sink

__all__ = [
    "Accept",
    "Before",
    "FetchError",
    "Fetcher",
    "ProviderBusy",
    "ProviderTrouble",
    "ProviderUnusable",
    "ProxyAway",
    "Sink",
]
