"""What each rung costs: one table, the operator's own figures over ours, with the day they were read.

A rung that is not in it costs nothing and never touches the ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from gossamer.errors import UserError
from gossamer.model.money import MICROS, Price

READ = date(2026, 8, 21)
"""When the providers' own price lists were last read."""

# ScraperAPI adds the class of the domain (30 at most) and 10 for each bot protection it gets past to the price of the
# way, and does not say how: its worst price is the sum with one of those, and it is told to refuse what is dearer. Both
# providers charge a page that is not there, and nothing for their own failures.
_CLASS = 30
_PROTECTION = 10


def _scrapingbee(kind: str, cost: int, *, renders: bool = False) -> Price:
    by_outcome = {"ok": cost, "404": cost, "429": cost, "failed": 0}
    return Price(f"scrapingbee-{kind}", "scrapingbee", cost, by_outcome, renders=renders)


def _scraperapi(name: str, cost: int, *, renders: bool = False) -> Price:
    by_outcome = {"ok": cost, "404": cost, "failed": 0}
    return Price(name, "scraperapi", cost + _CLASS + _PROTECTION, by_outcome, renders=renders)


_KNOWN = (
    _scrapingbee("standard", 1),
    _scrapingbee("js", 5, renders=True),
    _scrapingbee("premium", 10),
    _scrapingbee("premium-js", 25, renders=True),
    _scrapingbee("stealth", 75, renders=True),
    _scraperapi("scraperapi", 1),
    _scraperapi("scraperapi-js", 10, renders=True),
    _scraperapi("scraperapi-premium", 10),
    _scraperapi("scraperapi-premium-js", 25, renders=True),
    _scraperapi("scraperapi-ultra", 30),
    _scraperapi("scraperapi-ultra-js", 75, renders=True),
    # Charged whatever the site answers; a better proxy, which it may choose by itself, costs five.
    Price("firecrawl", "firecrawl", 5, {"ok": 1, "404": 1, "403": 1, "failed": 0}, renders=True),
)
USUAL: Mapping[str, Price] = {price.rung: price for price in _KNOWN}


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """What an operator says about a rung; None: as the table has it."""

    worst: int | None = None
    usd_per_credit: float | None = None
    usd_per_gigabyte: float | None = None


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices in force."""

    prices: Mapping[str, Price] = field(default_factory=lambda: USUAL)
    read: date = READ

    def of(self, rung: str) -> Price | None:
        """None: it costs nothing."""
        return self.prices.get(rung)

    def priced(self, rung: str) -> Price:
        price = self.prices.get(rung)
        if price is None:
            raise UserError(
                "prices.unknown", f"{rung} has no price.", hint=f"There are prices for {', '.join(self.prices)}."
            )
        return price


def price_list(usd_per_credit: float, own: Mapping[str, OwnPrice], read: date | None = None) -> PriceList:
    """The usual table at the operator's price of a credit, with what they say of single rungs.

    A rung the table does not have is theirs alone: `residential`, paid by its traffic, is one.
    """
    prices = {rung: replace(price, micros_per_credit=_micros(usd_per_credit)) for rung, price in USUAL.items()}
    for rung, said in own.items():
        price = prices.get(rung) or Price(rung, rung.partition("-")[0], 0, {}, _micros(usd_per_credit))
        if said.worst is not None:
            price = replace(price, worst=said.worst)
        if said.usd_per_credit is not None:
            price = replace(price, micros_per_credit=_micros(said.usd_per_credit))
        if said.usd_per_gigabyte is not None:
            price = replace(price, micros_per_gigabyte=_micros(said.usd_per_gigabyte))
        prices[rung] = price
    return PriceList(prices, read or READ)


def _micros(usd: float) -> int:
    return round(usd * MICROS)
