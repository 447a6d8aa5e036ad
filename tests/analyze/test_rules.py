"""Extraction rules: what they find, and that a wrong one is named before anything is fetched."""

from typing import Any

import pytest

from gossamer.analyze.rules import BadRule, RuleStopped, extract, missing, read_rules
from tests.pages import document

SHOP = """
<html><head><base href="/shop/"><meta itemprop="brand" content="Acme"></head><body>
<h1> Floor
 <b>lamp</b></h1>
<p class="price"></p><p class="price">EUR 1.234,50</p>
<a class="more" href="details?id=7#top">More</a>
<time datetime="2026-03-04T10:00:00+02:00">4 March</time>
<span class="stock">In stock</span><span class="rating">4.5 of 5</span>
<ul><li class="tag">warm</li><li class="tag"> </li><li class="tag">tall</li></ul>
<div class="variant"><b>S</b><i>10.00 $</i></div>
<div class="variant"><b>M</b></div>
<div class="variant"><i>30.00 $</i></div>
<div class="seller"><span>Ann</span><img src="ann.png" alt="Ann herself"></div>
</body></html>
"""


def found(rules: dict[str, Any], page: str = SHOP) -> dict[str, Any]:
    return dict(extract(read_rules(rules), document(page)))


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("h1", "Floor lamp"),
        ("h2", None),
        ("//h1", "Floor lamp"),
        ("//h1/b/text()", "lamp"),
        ("a.more@href", "details?id=7#top"),
        ("(//li)[3]", "tall"),
        ({"css": "a.more", "type": "url"}, "https://shop.test/shop/details?id=7"),
        ({"css": "img", "attribute": "alt"}, "Ann herself"),
        ({"css": "img", "type": "url"}, "https://shop.test/shop/ann.png"),
        ({"css": "[itemprop=brand]"}, "Acme"),
        ({"css": ".price", "type": "price"}, {"amount": 1234.5, "currency": "EUR"}),
        ({"css": ".rating", "type": "number"}, 4.5),
        ({"css": ".stock", "type": "boolean"}, True),
        ({"css": "time", "type": "date"}, "2026-03-04T08:00:00Z"),
        ({"css": "h1", "type": "html"}, "<h1> Floor\n <b>lamp</b></h1>"),
        ({"css": ".tag", "list": True}, ["warm", "tall"]),
        ({"css": ".nothing", "list": True}, []),
        ("//li[contains(., 'a') and not(position() = 3)]", "warm"),
        ({"xpath": "count(//li)", "type": "number"}, 3),
        ({"xpath": "boolean(//h1)", "type": "boolean"}, True),
        ({"xpath": "//img/@src", "type": "url"}, "https://shop.test/shop/ann.png"),
    ],
)
def test_a_rule_finds_what_it_says(rule: Any, value: Any) -> None:
    assert found({"field": rule}) == {"field": value}


def test_rules_stand_inside_rules_and_are_about_each_element_found() -> None:
    rules = {
        "variants": {
            "css": ".variant",
            "list": True,
            "fields": {"size": {"css": "b", "required": True}, "price": {"xpath": "./i", "type": "price"}},
        },
        "seller": {"css": ".seller", "fields": {"name": "span", "text": {"css": ":scope"}, "class": "@class"}},
        "nobody": {"css": ".nobody", "fields": {"name": "span"}},
    }
    # An object without a field it must have is left out.
    assert found(rules) == {
        "variants": [{"size": "S", "price": {"amount": 10.0, "currency": "$"}}, {"size": "M", "price": None}],
        "seller": {"name": "Ann", "text": "Ann", "class": "seller"},
        "nobody": None,
    }


def test_the_first_required_field_that_is_missing_is_named() -> None:
    rules = read_rules({"title": "h1", "sku": {"css": ".sku", "required": True}})
    assert missing(rules, extract(rules, document(SHOP))) == "sku"
    assert missing(rules, {"title": None, "sku": "7"}) == ""


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({}, "there are no rules"),
        ({"a": "h1["}, 'the rule "a" has an invalid CSS selector "h1[": expected an identifier at position 3'),
        ({"a": "//h1["}, 'the rule "a" has an invalid XPath expression "//h1["'),
        ({"a": "//h1[nonsense()]"}, 'the rule "a" has an invalid XPath expression'),
        ({"a": "//h1[$x]"}, "an unbound variable"),
        ({"a": {"css": "a", "fields": {"b": {"css": "b:nonsense"}}}}, 'the rule "a.b" has an invalid CSS selector'),
        ({"a": {"css": "a", "type": "colour"}}, 'the rule "a" has the type "colour", there are text, number'),
        ({"a": {"css": "a", "sort": True}}, 'the rule "a" has "sort", which means nothing'),
        ({"a": {"css": "a", "xpath": "//a"}}, 'the rule "a" has both "css" and "xpath"'),
        ({"a": {"type": "text"}}, 'the rule "a" needs "css" or "xpath"'),
        ({"a": {"css": "a", "list": "yes"}}, 'the rule "a" has a "list" that is neither true nor false'),
        ({"a": {"css": ""}}, 'the rule "a" has an empty "css"'),
        ({"a": ""}, 'the rule "a" has an empty "css"'),
        ({"a": 7}, 'the rule "a" must be a selector'),
        ({"a": {"css": "a", "fields": {}}}, 'the rule "a" has no rules in "fields"'),
        ({"a": {"css": "a", "fields": {"b": "b"}, "type": "url"}}, 'the rule "a" has "fields", so it is an object'),
        ({"a": {"css": "a", "format": "%d"}}, 'the rule "a" has "format", which only dates have'),
        ({"a\n": "h1"}, "has a name that no field can have"),
        ({"a": {"css": "a" * 3_000}}, 'has a "css" that is no text of at most 2,000 characters'),
        ({str(number): "h1" for number in range(501)}, 'the rule "500" is one more than the 500 rules a job takes'),
    ],
)
def test_a_wrong_rule_is_named(rules: Any, said: str) -> None:
    with pytest.raises(BadRule) as refused:
        read_rules(rules)
    assert said in str(refused.value)


def test_rules_cannot_stand_inside_each_other_without_end() -> None:
    rules: Any = {"css": "p"}
    for _ in range(8):
        rules = {"css": "div", "fields": {"a": rules}}
    with pytest.raises(BadRule, match="stands more than 6 deep"):
        read_rules({"a": rules})


def test_lists_inside_lists_do_not_multiply_beyond_what_a_page_may_give() -> None:
    page = "<p>word</p>" * 4_000
    rules = {"outer": {"css": "p", "list": True, "fields": {"inner": {"xpath": "//p", "list": True}}}}
    with pytest.raises(RuleStopped, match=r'rule "outer\.inner": more than 50,000 values on one page'):
        found(rules, page)


def test_values_of_a_page_have_a_size_that_they_may_have_together() -> None:
    page = "<div>" * 200 + "<p>" + "word " * 20_000
    with pytest.raises(RuleStopped, match='rule "all": more than 8 MB of text on one page'):
        found({"all": {"css": "div", "list": True}}, page)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("//p" + "[//*" * 300 + "]" * 300, "has conditions more than 4 deep inside each other"),
        ({"css": "time", "type": "date", "format": "%d %d"}, "as the format of a date, which is none"),
    ],
)
def test_rules_that_take_for_ever_or_cannot_be_read_are_refused(rule: Any, why: str) -> None:
    with pytest.raises(BadRule, match=why):
        read_rules({"field": rule})
