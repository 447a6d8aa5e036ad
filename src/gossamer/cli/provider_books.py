"""What providers' own books say: how many credits are left there."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from gossamer.ledger.methods import provider_name

if TYPE_CHECKING:
    from gossamer.fetch.providers import Account

_RENEWING = {provider_name("scrapingbee")}  # the date of others is another one: of the beginning, or not described
_SAID = {
    "HTTP 401": "It does not accept the key (HTTP 401)",
    "HTTP 403": "It does not accept the key (HTTP 403)",
    "HTTP 429": "It was asked too often, try again in a minute (HTTP 429)",
}

Told = Mapping[str, "Account | str"]
"""By provider: its books, or why they cannot be read."""


def lines(told: Told) -> list[str]:
    """`Left at ScrapingBee: 982 of 1,000 credits, until 2026-12-01.`"""
    return [_line(provider_name(name), one) for name, one in told.items()]


def _line(name: str, one: "Account | str") -> str:
    if isinstance(one, str):
        return f"Left at {name}: not known ({_SAID.get(one, one)})."
    if one.remaining is None:
        return f"Left at {name}: not known (it does not say)."
    of = f" of {one.limit:,}" if one.limit is not None else ""
    renews = _day(one.renews) if name in _RENEWING else ""
    return f"Left at {name}: {one.remaining:,}{of} credits{f', until {renews}' if renews else ''}."


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return ""


def as_json(told: Told) -> dict[str, Any]:
    return {
        name: {"error": one}
        if isinstance(one, str)
        else {
            "remaining": one.remaining,
            "used": one.used,
            "limit": one.limit,
            "at_once": one.at_once,
            "running": one.running,
            "error": None,
        }
        for name, one in told.items()
    }
