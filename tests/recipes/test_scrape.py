"""The scrape recipe alone: one record per address, and no bytes over which it stumbles."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gossamer.errors import UserError
from gossamer.model.document import Document
from gossamer.model.page import Page
from gossamer.model.scrape import FORMATS
from gossamer.model.trouble import Reason
from gossamer.parse import bare_document, parse_document
from gossamer.recipes.scrape import PAGE, SCRAPE
from gossamer.recipes.scrape.harvest import BoundScrape
from gossamer.recipes.scrape.params import ScrapeParams
from tests.pages import document, response

URL = "https://shop.test/lamp"
RULES = {
    "title": "h1",
    "links": {"css": "a", "list": True, "fields": {"to": {"css": ":scope", "type": "url"}, "text": "b"}},
    "price": {"xpath": "//*[contains(@class, 'price')]", "type": "price"},
    "when": {"css": "time", "type": "date"},
    "number": {"css": "td", "type": "number", "list": True},
}
ALL = [name for name in FORMATS if name != "screenshot"]
PIECES = (
    *(b"<a href='", b"'>", b"<h1>", b"</h1>", b"<b>", b"<svg>", b"&#0;", b"\x00", b"\xff\xfe", b"mailto:", b"http://["),
    *(b"<script type='application/ld+json'>", b'{"a":[', b"]}", b"</script>", b"<base href='", b"<time datetime="),
    *(b"<div itemscope itemprop=a itemref=x id=x>", b"<meta property='og:title' content='", b"<table><td class=price>"),
)
MARKUP = st.lists(st.sampled_from(PIECES) | st.binary(max_size=12), max_size=40).map(b"".join)


def bound(**params: object) -> BoundScrape:
    return BoundScrape(ScrapeParams.model_validate(params))


def test_a_record_has_what_was_asked_for_and_no_more() -> None:
    doc = document("<html lang=en><title>Lamp</title><main><h1>Lamp</h1><p>It stands.</p></main>")
    (record,) = bound(formats=["text", "links"]).harvest(Page.at(URL), doc).records
    assert (record.kind, record.identity) == (PAGE.name, (URL,))
    assert record.data == {
        "url": URL,
        "final_url": URL,
        "http_status": 200,
        "crawl_method": "direct",
        "timestamp": "2026-11-16T12:00:00Z",
        "content_type": "text/html",
        "bytes": 76,
        "title": "Lamp",
        "language": "en",
        "text": "Lamp\nIt stands.",
        "links": [],
    }


def test_every_column_of_its_table_is_one_a_record_may_have() -> None:
    doc = document("<h1>Lamp</h1><a href=/x>x</a>")
    (record,) = bound(formats=ALL, extract={"title": "h1"}).harvest(Page.at(URL), doc).records
    assert set(record.data) == set(PAGE.names)


def test_nothing_is_followed() -> None:
    harvest = bound().harvest(Page.at(URL), document("<a href=/next>next</a><p>x"))
    assert (harvest.follows, harvest.links) == ((), ())
    assert list(bound().seeds()) == []


def test_a_required_field_must_be_there() -> None:
    scrape = bound(formats=["extract"], extract={"price": {"css": ".price", "required": True}})
    lacking = scrape.accept(Page.at(URL), document("<p>x"))
    assert lacking
    assert (lacking.reason, lacking.detail) == (Reason.FIELD_MISSING, "price")
    assert scrape.accept(Page.at(URL), document("<p class=price>9")) is None


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"formats": ["pdf"]}, 'there is no format "pdf"'),
        ({"formats": ["extract"]}, "the format extract needs rules"),
        ({"extract": {"a": "h1["}}, 'the rule "a" has an invalid CSS selector'),
        ({"urls": []}, "unknown field"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(params: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said.replace("[", r"\[")):
        ScrapeParams.model_validate(params)


@settings(max_examples=60, deadline=None)
@given(MARKUP, st.sampled_from(["text/html", "application/json", "text/plain", "image/png", ""]))
def test_whatever_the_bytes_a_page_gives_plain_json_or_is_refused(body: bytes, content_type: str) -> None:
    scrape = bound(formats=ALL, extract=RULES)
    answer = response(body, content_type=content_type)
    read = parse_document(answer)
    doc = read if isinstance(read, Document) else bare_document(answer)
    scrape.accept(Page.at(URL), doc)
    harvest = scrape.harvest(Page.at(URL), doc)
    text = orjson.dumps(dict(harvest.records[0].data)).decode()
    assert "\\u0000" not in text
    assert orjson.loads(text)["url"] == URL


def test_a_field_that_is_nearly_one_is_told_on_the_command_line_too() -> None:
    with pytest.raises(UserError, match="unknown field `format`; did you mean `formats`\\?"):
        SCRAPE.read({"format": ["text"]})
    with pytest.raises(UserError, match="unknown field `max_page`; did you mean `max_pages`\\?"):
        SCRAPE.read({"walk": {"max_page": 3}})
    with pytest.raises(UserError, match="--walk: it has to be 1 or more"):
        SCRAPE.read({"walk": {"max_pages": 0}})
