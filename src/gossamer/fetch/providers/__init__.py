"""Pages fetched by providers: a session with one is a Fetcher like any other."""

from gossamer.fetch.guard import Guard
from gossamer.fetch.providers.base import ProviderAccount
from gossamer.fetch.providers.installed import OwnKey, ProviderAccess, Providers
from gossamer.fetch.providers.provider_client import Unread
from gossamer.fetch.rung import Fetcher

__all__ = ["OwnKey", "ProviderAccess", "ProviderAccount", "Providers", "Unread", "open_provider"]


def open_provider(rung: str, providers: Providers, guard: Guard, *, session: int | None = None) -> Fetcher:
    """Open a visit's session on a rung of `model/rungs.py`. Raises UserError if the provider is not set up here."""
    return providers.session(rung, guard, session)
