"""What a page states for machines: read in spite of small slips, and said where it cannot be read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turbohtml import parse

from gossamer.parse.structured import structured_data

PRODUCT = {"@type": "Product", "name": "Boat", "price": 5}


def data_of(body: str) -> dict[str, object]:
    return dict(structured_data(parse(body, positions=False, scripting=True), "https://shop.example/boat"))


def json_ld(block: str, kind: str = "application/ld+json") -> str:
    return f'<script type="{kind}">{block}</script>'


@pytest.mark.parametrize(
    "block",
    [
        '{"@type":"Product","name":"Boat","price":5}',
        '{"@type":"Product","name":"Boat","price":5,}',
        '{"@type":"Product","name":"Boat","price":5,,}',
        '{"@type":"Product" /* what it is */,"name":"Boat", // its name\n"price":5}',
        '<!-- {"@type":"Product","name":"Boat","price":5} -->',
        '<!--\n{"@type":"Product","name":"Boat","price":5}\n//-->',
        '//<![CDATA[\n{"@type":"Product","name":"Boat","price":5}\n//]]>',
        '<![CDATA[{"@type":"Product","name":"Boat","price":5}]]>',
        '/* <![CDATA[ */{"@type":"Product","name":"Boat","price":5}/* ]]> */',
        '{"@type":"Product","name":"Boat","price":5};',
        '\ufeff{"@type":"Product","name":"Boat","price":5}',
        "{&quot;@type&quot;:&quot;Product&quot;,&quot;name&quot;:&quot;Boat&quot;,&quot;price&quot;:5}",
        "{&#34;@type&#34;:&#34;Product&#34;,&#34;name&#34;:&#34;Boat&#34;,&#34;price&#34;:5}",
        "{'@type':'Product','name':'Boat','price':5}",
        '{@type:"Product",name:"Boat",price:5}',
        "{“@type”:“Product”,“name”:“Boat”,“price”:5}",
        '{"@type":"Product"\n"name":"Boat"\n"price":5}',
        '{"@type":"Product","name":"Boat","price":+5}',
        'var data = {"@type":"Product","name":"Boat","price":5};',
        'window.data={"@type":"Product","name":"Boat","price":5}',
    ],
)
def test_small_slips_are_forgiven(block: str) -> None:
    assert data_of(json_ld(block)) == {"json_ld": [PRODUCT]}


@pytest.mark.parametrize(
    ("block", "value"),
    [
        ('{"a":"one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}),
        ('{"a":"one\r\ntwo",}', {"a": "one\ntwo"}),
        ('{"a":"a 5" boat","b":1}', {"a": 'a 5" boat', "b": 1}),
        ('{"a":"the "best" boat","b":1}', {"a": 'the "best" boat', "b": 1}),
        (r'{"a":"it\'s \x \u00fc \"so\"\n",}', {"a": 'it\'s x ü "so"\n'}),
        (r'{"a":"boat \ud83d\udea3 \ud83d",}', {"a": "boat 🚣 ?"}),
        (r'{"a":"Tom \x26 Jerry\u{1F6A3}",}', {"a": "Tom & Jerry🚣"}),
        ('{"gtin":0012345678905,"n":0.5,"z":0}', {"gtin": "0012345678905", "n": 0.5, "z": 0}),
        ('{"a":NaN,"b":undefined,"c":True,"d":,"e":.5}', {"a": None, "b": None, "c": True, "d": None, "e": 0.5}),
        ('{"a":"R&amp;D // no /* comment */ <!-- -->",}', {"a": "R&amp;D // no /* comment */ <!-- -->"}),
        ('[{"a":1},{"a":2},]', [{"a": 1}, {"a": 2}]),
    ],
)
def test_values_stay_what_they_are(block: str, value: object) -> None:
    assert data_of(json_ld(block))["json_ld"] == [value]


def test_several_objects_in_a_row_are_all_read() -> None:
    both = [{"a": 1}, {"b": 2}]
    assert data_of(json_ld('{"a":1}{"b":2}'))["json_ld"] == both
    assert data_of(json_ld('{"a":1},\n{"b":2}'))["json_ld"] == both
    assert data_of(json_ld('{"a":1};\n\n{"b":2}'))["json_ld"] == both


def test_what_cannot_be_read_is_said_and_the_rest_is_read() -> None:
    body = (
        json_ld('{"a":1}')
        + json_ld('{"a" 1}')
        + json_ld("Boats")
        + json_ld("  ")
        + json_ld('{"b":2', "APPLICATION/LD+JSON; x=y")
    )
    found = data_of(body)
    assert found["json_ld"] == [{"a": 1}]
    assert found["unreadable"] == [
        "JSON-LD block 2 of 5 could not be read: a text does not end (line 1, character 2)",
        "JSON-LD block 3 of 5 could not be read: a value is expected (line 1, character 1)",
        "JSON-LD block 5 of 5 could not be read: it ends before a } (line 1, character 7)",
    ]


def test_a_page_that_is_in_order_says_nothing_of_it() -> None:
    assert data_of(json_ld("{}") + json_ld('{"script":1}', "application/json")) == {"json_ld": [{}]}


@pytest.mark.parametrize(
    "block",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"a":"' + '"x' * 100_000,
        '{"a":"' + "\\" * 100_000,
        "/*" * 100_000,
        "{a" * 100_000,
        "{" + "," * 100_000,
        '{"a":1}' * 10_000,
        "&quot;" * 50_000,
        '{"a":"' + ('"' + " " * 50) * 10_000,
    ],
    ids=lambda block: block[:6],
)
def test_blocks_made_to_hurt_are_refused(block: str) -> None:
    assert "could not be read" in str(data_of(json_ld(block))["unreadable"])


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="{}[]\",:'\\/*<!->;& \n1a\ufeff"))
def test_no_block_raises(block: str) -> None:
    assert set(data_of(json_ld(block))) <= {"json_ld", "unreadable"}


def test_metas_of_products_are_kept() -> None:
    body = (
        '<meta property="og:title" content="Boat"><meta property="product:price:amount" content="19.90">'
        '<meta property="product:price:currency" content="EUR"><meta name="product:availability" content=" instock ">'
        '<meta property="product:price:amount" content="7"><meta property="product:brand" content="">'
    )
    assert data_of(body)["open_graph"] == {
        "og:title": "Boat",
        "product:price:amount": "19.90",
        "product:price:currency": "EUR",
        "product:availability": "instock",
    }
    assert data_of('<meta property="product:price:amount" content="5">')["open_graph"] == {"product:price:amount": "5"}


OFFER = (
    '<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"{}><meta itemprop="price" content="5"></div>'
)


def test_an_offer_of_nothing_is_kept() -> None:
    offer = {"type": "https://schema.org/Offer", "properties": {"price": ["5"]}}
    assert data_of(f"<div>{OFFER.format('')}</div>")["microdata"] == [offer]
    twice = data_of(OFFER.format("") + "<p>" + OFFER.format(""))["microdata"]
    assert twice == [offer, offer]


def test_an_offer_of_a_product_stands_in_it_alone() -> None:
    product = f'<div itemscope itemtype="https://schema.org/Product">{OFFER.format("")}</div>'
    assert len(data_of(product)["microdata"]) == 1  # type: ignore[arg-type]
    referred = f'<div itemscope itemtype="https://schema.org/Product" itemref="o"></div>{OFFER.format(" id=o")}'
    assert len(data_of(referred)["microdata"]) == 1  # type: ignore[arg-type]
