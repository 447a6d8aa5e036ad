"""What is learned of a domain decides on which rung its next page begins."""

import pytest

from gossamer.judge.rung_stats import begin_with, is_probe, lesson
from gossamer.model.page import Attempt
from gossamer.model.rungs import RUNGS, Experience, Ladder
from gossamer.model.url import url_key

LADDER = Ladder(tuple(RUNGS[name] for name in ("direct", "stealth", "scrapingbee-standard", "scrapingbee-js")))


@pytest.mark.parametrize(
    ("reason", "learned"),
    [("", True), ("FORBIDDEN", False), ("HOLLOW", False), ("TIMEOUT", False), ("NOT_FOUND", None), ("CUT_OFF", None)],
)
def test_a_try_says_something_of_its_rung_or_nothing(reason: str, learned: bool | None) -> None:
    assert lesson(Attempt("direct", 200, reason, 5, 0)) is learned


@pytest.mark.parametrize(
    ("known", "first"),
    [
        ({}, "direct"),
        ({"direct": (4, 0), "stealth": (40, 40)}, "direct"),
        ({"direct": (40, 0), "stealth": (4, 4)}, "direct"),
        ({"direct": (40, 0), "stealth": (40, 40)}, "stealth"),
        ({"direct": (40, 0), "stealth": (40, 36)}, "direct"),
        ({"direct": (40, 20), "stealth": (40, 40)}, "direct"),
        ({"direct": (40, 39), "stealth": (40, 40)}, "direct"),
        ({"direct": (40, 0), "stealth": (40, 0), "scrapingbee-standard": (10, 10)}, "scrapingbee-standard"),
        ({"direct": (40, 0), "stealth": (40, 0), "scrapingbee-standard": (10, 5)}, "direct"),
        (
            {
                "direct": (40, 0),
                "stealth": (40, 0),
                "scrapingbee-standard": (10, 5),
                "scrapingbee-js": (10, 10),
            },
            "scrapingbee-js",
        ),
    ],
)
def test_a_page_begins_at_the_cheapest_rung_that_works(known: dict[str, tuple[int, int]], first: str) -> None:
    assert begin_with(LADDER, {rung: Experience(*seen) for rung, seen in known.items()}).name == first


def test_a_few_pages_see_whether_less_would_do() -> None:
    probes = sum(is_probe(url_key(f"http://a.test/{number}")) for number in range(2_000))
    assert 50 < probes < 200


@pytest.mark.parametrize("reason", ["PROVIDER_AWAY", "PROVIDER_UNREADABLE", "PROVIDER_KEY", "PROVIDER_CREDITS"])
def test_a_providers_own_trouble_says_nothing_about_its_rung_here(reason: str) -> None:
    assert lesson(Attempt("scrapingbee-js", 401, reason, 1, 1)) is None
