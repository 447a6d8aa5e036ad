"""From a response to a document, or to the reason why it is none."""

import pytest

from gossamer.model.document import Document
from gossamer.model.trouble import Reason, Trouble
from gossamer.parse import parse_document
from tests.parse.answers import AT, answer, read

HTML = "<!DOCTYPE html><html><head><title>T</title></head><body>text</body></html>"


def test_a_document_remembers_where_it_came_from() -> None:
    response = answer(HTML, requested="https://shop.example/old", headers={"x-thing": "1"})
    doc = parse_document(response)
    assert isinstance(doc, Document)
    assert (doc.requested, doc.url, doc.status, doc.rung) == (response.requested, response.url, 200, "direct")
    assert (doc.fetched_at, doc.content_type, doc.size) == (AT, "text/html", len(HTML))
    assert doc.headers["x-thing"] == "1"
    assert doc.body == response.body
    assert (doc.title, doc.text) == ("T", "text")
    assert doc.tree.find("title").text == "T"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", HTML),
        ("TEXT/HTML;charset=utf-8", HTML),
        ("application/xhtml+xml", f'<?xml version="1.0"?>{HTML}'),
        ("", HTML),
        ("", "<p>text"),
        ("", "<!-- hello -->\n<div>text</div>"),
        ("text/plain", HTML),
        ("application/octet-stream", HTML),
        ("application/xml", '<?xml version="1.0"?>\n<!-- x --><html xmlns="http://www.w3.org/1999/xhtml">text</html>'),
        ("", "\ufeff" + HTML),
    ],
)
def test_html_is_known_by_header_or_by_its_looks(content_type: str, body: str) -> None:
    assert read(body, content_type=content_type).text == "text"


def test_html_in_utf16_is_known_by_its_looks() -> None:
    assert read(HTML.encode("utf-16"), content_type="").text == "text"


@pytest.mark.parametrize("content_type", ["text/plain", ""])
def test_plain_text_is_read_as_it_stands(content_type: str) -> None:
    doc = read("Our <b>CRM</b> &amp; more\n\n  a < b", content_type=content_type)
    assert doc.text == "Our <b>CRM</b> &amp; more a < b"
    assert doc.links == ()


@pytest.mark.parametrize(
    ("content_type", "body", "detail"),
    [
        ("application/pdf", b"%PDF-1.7", "application/pdf"),
        ("text/html", b"%PDF-1.7 ...", "application/pdf"),
        ("text/html", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("image/jpeg", b"whatever", "image/jpeg"),
        ("application/json", b'{"html": "<html>"}', "application/json"),
        ("application/rss+xml", b"<?xml version='1.0'?><rss><channel><title>x", "application/rss+xml"),
        ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'><title>x</title></svg>", "image/svg+xml"),
        ("text/css", b"body{}", "text/css"),
        ("", b"\x00\x01\x02\x03 binary", "binary data"),
        ("text/plain", b"MZ\x90\x00\x03\x00", "binary data"),
        ("video/mp4", b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
    ],
)
def test_what_is_no_page_says_what_it_is(content_type: str, body: bytes, detail: str) -> None:
    assert parse_document(answer(body, content_type=content_type)) == Trouble(Reason.NOT_HTML, detail, 200)


@pytest.mark.parametrize("body", [b"", b" \r\n\t ", b"\xef\xbb\xbf", b"\0\0"])
def test_no_body_is_an_empty_page(body: bytes) -> None:
    assert parse_document(answer(body)) == Trouble(Reason.EMPTY, http_status=200)


def test_an_address_that_is_none_gives_no_links() -> None:
    assert read('<a href="/x">x</a>', url="about:blank").links == ()
