"""Getting pages through somebody else's machines: a provider's session is a Fetcher like any other."""

from gossamer.fetch.guard import Guard
from gossamer.fetch.providers.desk import Access, OwnKey, ProviderDesk
from gossamer.fetch.providers.line import Unread
from gossamer.fetch.providers.seam import Account
from gossamer.fetch.rung import Fetcher

__all__ = ["Access", "Account", "OwnKey", "ProviderDesk", "Unread", "open_provider"]


def open_provider(rung: str, desk: ProviderDesk, guard: Guard, *, session: int | None = None) -> Fetcher:
    """One visit's way out on a rung of `model/rungs.py`. Raises UserError where the provider is not set up here."""
    return desk.session(rung, guard, session)
