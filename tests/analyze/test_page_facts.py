"""What a page says of itself: everything S-5 asks for, from pages that say it in their own ways."""

from gossamer.analyze.page_facts import page_facts
from gossamer.parse.structured import plain, structured_data
from tests.pages import document

PAGE = """
<html lang="en-GB"><head><title>Floor lamp</title>
<meta name="description" content=" A lamp that stands. "><meta name="keywords" content="lamp, light,">
<meta name="generator" content="WordPress 6.4.1"><meta name="author" content="Ann">
<meta property="og:title" content="OG lamp"><meta property="og:image" content="/lamp.png">
<meta name="twitter:card" content="summary">
<link rel="canonical" href="/lamp"><link rel="shortcut icon" href="/icons/f.ico">
<script type="application/ld+json">{"@graph": [{"@type": ["Product", "Thing"], "offers": {"@type": "Offer"}},
 {"@type": "Organization", "email": "hello@acme.test", "telephone": "+49 30 123456",
  "sameAs": ["https://www.linkedin.com/company/acme"]}]}</script>
<script src="/wp-includes/js/jquery/jquery.min.js"></script>
</head><body><h1>Floor <i>lamp</i></h1><h2>Parts</h2><h2>Parts</h2><h2>Care</h2>
<div itemscope itemtype="https://schema.org/Person"><b itemprop="name">Ann</b></div>
<p>Write to sales@acme.test or logo@2x.png or you@example.com.</p>
<a href="mailto:Info%40Acme.test?subject=x">mail</a><a href="tel:+49 (30) 99-88">call</a>
<a href="https://www.facebook.com/sharer/sharer.php?u=1">share</a><a href="https://www.facebook.com/acme">f</a>
<a href="https://x.com/acme">x</a></body></html>
"""


def test_everything_a_page_states_is_there() -> None:
    facts = page_facts(document(PAGE, server="nginx/1.24", x_powered_by="PHP/8.2"))
    assert facts == {
        "title": "Floor lamp",
        "description": "A lamp that stands.",
        "language": "en-gb",
        "canonical": "https://shop.test/lamp",
        "site_name": "",
        "author": "Ann",
        "date": "",
        "keywords": ["lamp", "light"],
        "robots": "",
        "headings": {"h1": ["Floor lamp"], "h2": ["Parts", "Care"], "h3": []},
        "open_graph": {"title": "OG lamp", "image": "/lamp.png"},
        "twitter_card": {"card": "summary"},
        "favicon": "https://shop.test/icons/f.ico",
        "structured_types": ["Product", "Thing", "Offer", "Organization", "Person"],
        "emails": ["Info@acme.test", "hello@acme.test", "sales@acme.test"],
        "phones": ["+49 (30) 99-88", "+49 30 123456"],
        "social": {
            "facebook": "https://www.facebook.com/acme",
            "twitter": "https://x.com/acme",
            "linkedin": "https://www.linkedin.com/company/acme",
        },
        "technologies": ["jQuery", "nginx", "PHP", "WordPress"],
    }


def test_a_page_that_states_nothing_has_the_same_names() -> None:
    bare = page_facts(document("<p>hello</p>"))
    assert set(bare) == set(page_facts(document(PAGE)))
    assert bare["favicon"] == "https://shop.test/favicon.ico"
    assert [name for name, value in bare.items() if value and name not in ("favicon", "headings")] == []


def test_structured_data_of_all_kinds_is_plain_json() -> None:
    found = structured_data(document(PAGE).tree, "https://shop.test/lamp")
    assert found["microdata"] == [{"type": "https://schema.org/Person", "properties": {"name": ["Ann"]}}]
    assert found["open_graph"] == {"og:title": "OG lamp", "og:image": "https://shop.test/lamp.png"}
    assert set(found) == {"json_ld", "microdata", "open_graph"}


def test_what_no_database_takes_is_not_in_it() -> None:
    page = r'<script type="application/ld+json">{"a\u0000": "x\u0000\ud800", "n": 1e999, "big": 1%s}</script><p>x' % (
        "0" * 400
    )
    found = structured_data(document(page).tree, "https://shop.test/")
    assert found == {"json_ld": [{"a": "x?", "n": None, "big": None}]}


def test_depth_and_length_have_an_end() -> None:
    deep: object = "x"
    for _ in range(100):
        deep = [deep]
    assert "x" not in str(plain(deep))
    assert len(str(plain("y" * 200_000))) == 100_000
