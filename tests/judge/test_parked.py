"""Domains for sale that say so in their titles, and shops that sell other things."""

import pytest

from gossamer.model.trouble import Reason, Trouble
from tests.judge.pages import ARTICLE, LONG_ARTICLE, PROSE, flaw, html

HOME = "https://shop.example/"
LINKS = "".join(f"<a href=/p{n}>Question {n}</a> " for n in range(30))


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("shop.example is for sale | HugeDomains", f"<h1>shop.example is for sale</h1><p>{PROSE * 4}</p>"),
        ("Shop.Example is for sale", f"{ARTICLE}{LINKS}"),
        ("The domain www.shop.example is for sale!", ARTICLE),
        ("shop.example domain name is for sale. Inquire now.", ARTICLE),
        ("shop.example - This website is for sale! - shop Resources", ARTICLE),
        ("shop.example may be for sale", ARTICLE),
        ("shop.example steht zum Verkauf", ARTICLE),
    ],
)
def test_a_title_that_offers_its_own_domain_is_believed_on_longer_pages(title: str, body: str) -> None:
    assert flaw(html(title, body), url=HOME) == Trouble(Reason.PARKED, http_status=200)


def test_a_domain_that_is_offered_at_the_brokers_is_parked() -> None:
    body = html("shop.example is for sale | Harbour Domains", ARTICLE)
    offer = "https://harbour-domains.example/offers?d=shop.example"
    assert flaw(body, url=offer, requested=HOME) == Trouble(Reason.PARKED, http_status=200)
    assert flaw(body, url=offer) is None


@pytest.mark.parametrize(
    "title",
    [
        "boats.example is for sale | Domain shop",
        "myshop.example is for sale",
        "shop.example.org is for sale",
        "This boat is for sale - shop.example",
        "shop.example: this boat is for sale",
        "shop.example - everything is for sale",
        "Everything at shop.example is for sale this weekend",
        "The domain is for sale? Ask shop.example",
    ],
)
def test_a_shop_that_sells_other_things_is_a_page(title: str) -> None:
    assert flaw(html(title, f"<h1>{title}</h1>{ARTICLE}"), url=HOME) is None


def test_whoever_has_much_to_say_about_it_is_a_page() -> None:
    assert flaw(html("shop.example is for sale", LONG_ARTICLE), url=HOME) is None
