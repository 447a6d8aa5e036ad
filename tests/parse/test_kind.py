"""What is left with the server because its headers already say that it is no page."""

import pytest

from gossamer.model.trouble import Reason, Trouble
from gossamer.parse import parse_document
from gossamer.parse.document import wants_body
from tests.parse.answers import answer

FOREIGN = [
    "image/png",
    "image/svg+xml",
    "IMAGE/JPEG",
    "audio/mpeg",
    "video/mp4; codecs=avc1",
    "font/woff2",
    "application/pdf",
    " application/pdf ;charset=binary",
    "application/zip",
    "application/x-zip-compressed",
    "application/x-7z-compressed",
    "application/x-rar-compressed",
    "application/x-tar",
    "application/msword",
    "application/vnd.ms-excel",
    "application/vnd.ms-fontobject",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.android.package-archive",
    "application/x-font-ttf",
    "application/x-msdownload",
]

PERHAPS = [
    "",
    "text/html; charset=utf-8",
    "TEXT/HTML",
    "text/plain",
    "text/css",
    "text/x-unknown",
    "application/xhtml+xml",
    "application/xml",
    "application/rss+xml",
    "application/json",
    "application/ld+json",
    "application/octet-stream",
    "application/vnd.wap.xhtml+xml",
    "application/pdfx",
    "unknown",
    "*/*",
    "html",
]


@pytest.mark.parametrize("content_type", FOREIGN)
def test_what_plainly_is_no_page_is_left_with_the_server(content_type: str) -> None:
    assert not wants_body(200, {"content-type": content_type})


@pytest.mark.parametrize("content_type", PERHAPS)
def test_what_may_be_a_page_is_read(content_type: str) -> None:
    assert wants_body(200, {"content-type": content_type})


def test_an_answer_without_a_type_is_read() -> None:
    assert wants_body(200, {})


@pytest.mark.parametrize("status", [301, 304, 403, 404, 429, 503])
def test_the_body_of_an_error_is_wanted_whatever_it_is(status: int) -> None:
    assert wants_body(status, {"content-type": "image/png"})


@pytest.mark.parametrize("content_type", ["application/octet-stream", "application/force-download"])
@pytest.mark.parametrize(
    ("disposition", "wanted"),
    [("attachment", False), ('Attachment; filename="a.bin"', False), ("inline", True), ("", True)],
)
def test_unknown_bytes_are_refused_only_as_a_download(content_type: str, disposition: str, wanted: bool) -> None:
    headers = {"content-type": content_type, "content-disposition": disposition}
    assert wants_body(200, headers) is wanted


def test_a_page_sent_as_a_download_is_still_read() -> None:
    assert wants_body(200, {"content-type": "text/html", "content-disposition": "attachment"})


def test_a_body_left_with_the_server_is_called_by_its_type() -> None:
    found = parse_document(answer(b"", content_type="application/pdf"))
    assert found == Trouble(Reason.NOT_HTML, "application/pdf", http_status=200)
