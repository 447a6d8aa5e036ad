"""The day a page gives for itself, and nothing that has to be guessed."""

import pytest

from gossamer.analyze.backlinks import count_outbound
from gossamer.analyze.dates import page_date
from tests.parse.answers import read  # a page read on 2026-03-04


@pytest.mark.parametrize(
    ("head", "day"),
    [
        ('<meta property="article:modified_time" content="2025-11-30T23:59:00+02:00">', "2025-11-30"),
        ('<meta property="article:published_time" content="2024-02-29">', "2024-02-29"),
        ('<meta name="DCTERMS.modified" content=" 2025-01-02 ">', "2025-01-02"),
        ('<script type="application/ld+json">{"datePublished": "2025-07-01T10:00:00Z"}</script>', "2025-07-01"),
        ('<script type="application/ld+json">{"dateModified":"2025-07-09"}</script>', "2025-07-09"),
        # The latest of several.
        (
            '<meta property="article:published_time" content="2024-01-01">'
            '<script type="application/ld+json">{"dateModified":"2025-06-07","datePublished":"2024-01-01"}</script>',
            "2025-06-07",
        ),
        # Not dates of the page, not readable, not believable.
        ('<meta name="description" content="2025-01-01">', ""),
        ('<meta name="date" content="03/04/2025">', ""),
        ('<meta name="date" content="2025-02-30">', ""),
        ('<meta name="date" content="2026-03-06">', ""),
        ('<meta name="date" content="1970-01-01">', ""),
        ('<meta name="date" content="20250-01-01">', ""),
        ('<script>var a = {"dateModified": "2025-07-09"}</script><script type="application/ld+json">{}</script>', ""),
        ('<time datetime="2025-07-09">July</time>', ""),
        ("", ""),
    ],
)
def test_a_page_is_dated_by_what_it_states_itself(head: str, day: str) -> None:
    assert page_date(read(f"<head>{head}<title>x</title></head><p>CRM</p>")) == day


def test_links_to_other_domains_are_counted_and_those_to_follow_apart() -> None:
    links = (
        '<a href="/here">1</a><a href="https://blog.shop.example/">2</a><a href="https://a.test/">3</a>'
        '<a rel="nofollow" href="https://b.test/">4</a><a href="mailto:x@c.test">5</a>'
    )
    found = count_outbound(read(links))
    assert (found.links, found.followed) == (2, 1)
    closed = count_outbound(read(f'<meta name="robots" content="nofollow">{links}'))
    assert (closed.links, closed.followed) == (2, 0)
