"""Prices of requests on each rung: the table of rungs, with the operator's own figures overriding it.

A rung without a price is free and never written to the ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from gossamer.errors import UserError
from gossamer.model.money import MICROS, Price
from gossamer.model.rungs import PRICES_READ, RUNGS, provider_of


def usual_prices() -> dict[str, Price]:
    """Return the prices in the table of rungs, by rung."""
    return {
        rung.name: Price(rung.name, provider_of(rung.name) or rung.name, rung.cost.worst, rung.cost.by_outcome)
        for rung in RUNGS.values()
        if rung.cost
    }


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """Prices of a rung set by the operator; None: as in the table."""

    worst: int | None = None
    usd_per_credit: float | None = None
    usd_per_gigabyte: float | None = None


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices in force."""

    prices: Mapping[str, Price] = field(default_factory=usual_prices)
    read: date = PRICES_READ

    def of(self, rung: str) -> Price | None:
        """Return the price of a rung; None: it is free."""
        return self.prices.get(rung)

    def priced(self, rung: str) -> Price:
        price = self.prices.get(rung)
        if price is None:
            raise UserError(
                "prices.unknown", f"{rung} has no price.", hint=f"There are prices for {', '.join(self.prices)}."
            )
        return price


def price_list(usd_per_credit: float, own: Mapping[str, OwnPrice], read: date | None = None) -> PriceList:
    """Return the default prices with the operator's price of a credit and their prices of single rungs.

    A name missing in the table is the operator's own, such as `residential`, which is paid by traffic.
    """
    prices = {rung: replace(price, micros_per_credit=_micros(usd_per_credit)) for rung, price in usual_prices().items()}
    for rung, said in own.items():
        price = prices.get(rung) or Price(rung, provider_of(rung) or rung, 0, {}, _micros(usd_per_credit))
        if said.worst is not None:
            price = replace(price, worst=said.worst)
        if said.usd_per_credit is not None:
            price = replace(price, micros_per_credit=_micros(said.usd_per_credit))
        if said.usd_per_gigabyte is not None:
            price = replace(price, micros_per_gigabyte=_micros(said.usd_per_gigabyte))
        prices[rung] = price
    return PriceList(prices, read or PRICES_READ)


def _micros(usd: float) -> int:
    return round(usd * MICROS)
