"""Prices of requests and spending limits of this installation."""

from collections.abc import Mapping

from gossamer.billing.prices import OwnPrice, PriceList, price_list
from gossamer.model.money import MICROS, Cap, Scope
from gossamer.settings import Settings


def prices_of(settings: Settings) -> PriceList:
    own = {
        rung: OwnPrice(
            int(said["worst"]) if "worst" in said else None, said.get("usd_per_credit"), said.get("usd_per_gigabyte")
        )
        for rung, said in settings.prices.items()
    }
    return price_list(settings.credit_usd, own, settings.prices_read)


def caps_of(settings: Settings) -> Mapping[Scope, Cap]:
    """Return the caps of a day, of an account's month, and of a job without a limit of its own."""
    return {
        Scope.SYSTEM: Cap(settings.daily_credits, _micros(settings.daily_usd)),
        Scope.ACCOUNT: Cap(settings.account_credits, _micros(settings.account_usd)),
        Scope.JOB: Cap(settings.max_credits),
    }


def _micros(usd: float | None) -> int | None:
    return None if usd is None else round(usd * MICROS)
