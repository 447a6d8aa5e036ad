"""Prices, sums of money, and rungs as people read them."""

import pytest

from gossamer.billing.bill import breakdown
from gossamer.billing.prices import OwnPrice, PriceList, price_list, usual_prices
from gossamer.errors import UserError
from gossamer.model.money import Amount, Cap, Price, dollars, shown
from gossamer.model.rungs import kind_of, label_of


@pytest.mark.parametrize(
    ("rung", "usual", "worst"),
    [
        ("scrapingbee-standard", 1, 1),
        ("scrapingbee-js", 5, 5),
        ("scrapingbee-premium", 10, 10),
        ("scrapingbee-premium-js", 25, 25),
        ("scrapingbee-stealth", 75, 75),
        ("scraperapi", 1, 41),
        ("scraperapi-js", 10, 50),
        ("firecrawl", 1, 5),
    ],
)
def test_the_table_says_what_the_providers_say(rung: str, usual: int, worst: int) -> None:
    price = usual_prices()[rung]
    assert (price.usual, price.worst, price.by_outcome["failed"]) == (usual, worst, 0)


def test_a_rung_without_a_price_is_free_and_not_for_the_ledger() -> None:
    assert PriceList().of("direct") is None
    with pytest.raises(UserError, match="direct has no price"):
        PriceList().priced("direct")


def test_own_prices_stand_over_the_table() -> None:
    found = price_list(0.01, {"scrapingbee-js": OwnPrice(6), "mine": OwnPrice(3, 0.5)})
    assert (found.priced("scrapingbee-js").worst, found.priced("scrapingbee-js").usual) == (6, 5)
    assert found.priced("mine").amount(2) == Amount(2, 1_000_000)
    assert found.priced("scrapingbee-stealth").amount(75) == Amount(75, 750_000)


def test_traffic_is_paid_by_the_byte_and_rounded_up() -> None:
    price = Price("residential", "proxies", 0, micros_per_gigabyte=8_000_000)
    assert price.amount(0, 1) == Amount(0, 1, 1)
    assert price.amount(0, 1_000_000_000) == Amount(0, 8_000_000, 1_000_000_000)


def test_a_cap_knows_what_is_above_it_and_how_much_is_used() -> None:
    cap = Cap(100, micros=2_000_000)
    assert cap.crossed(Amount(100, 2_000_000, 10**12)) == ""
    assert cap.crossed(Amount(101)) == "credits"
    assert cap.crossed(Amount(0, 2_000_001)) == "micros"
    assert [cap.level(Amount(used)) for used in (0, 49, 50, 79, 80, 99, 100, 150)] == [0, 0, 50, 50, 80, 80, 100, 100]
    assert cap.level(Amount(10, 1_700_000)) == 80
    assert Cap().level(Amount(10**9)) == Cap(0).level(Amount()) == 0


def test_sums_as_people_read_them() -> None:
    assert [dollars(micros) for micros in (0, 48_320_000, 10_000, 327, 1_234_567_890)] == [
        "$0.00",
        "$48.32",
        "$0.01",
        "$0.000327",
        "$1,234.57",
    ]
    assert [shown("credits", 1), shown("credits", 5_000), shown("micros", 50_000_000), shown("traffic", 10**8)] == [
        "1 credit",
        "5,000 credits",
        "$50.00",
        "100 MB of traffic",
    ]


def test_methods_as_people_read_them() -> None:
    assert [label_of(rung) for rung in ("direct", "browser", "scrapingbee-js", "scrapingbee-premium-js")] == [
        "Direct (free)",
        "Browser (free)",
        "ScrapingBee (JS rendering)",
        "ScrapingBee (premium, JS rendering)",
    ]
    assert [label_of(rung) for rung in ("scraperapi", "firecrawl", "residential")] == [
        "ScraperAPI (standard)",
        "Firecrawl",
        "Residential",
    ]
    assert [kind_of(rung) for rung in ("direct", "scrapingbee-standard", "scrapingbee-js", "browser", "firecrawl")] == [
        "direct",
        "provider",
        "rendered",
        "rendered",
        "rendered",
    ]
    assert breakdown({"direct": 3_891, "scrapingbee-standard": 1_924, "scrapingbee-js": 432}) == (
        "Breakdown: Direct (free): 3,891 domains | ScrapingBee (standard): 1,924 domains"
        " | ScrapingBee (JS rendering): 432 domains"
    )
