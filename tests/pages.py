"""Documents for tests that begin with a page."""

from datetime import UTC, datetime

from gossamer.model.document import Document, Response
from gossamer.parse import parse_document

AT = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def response(body: bytes | str, url: str = "https://shop.test/lamp", **headers: str) -> Response:
    sent = body.encode() if isinstance(body, str) else body
    said = {
        "content-type": "text/html; charset=utf-8",
        **{name.replace("_", "-"): text for name, text in headers.items()},
    }
    return Response(url, url, 200, said, sent, "direct", AT)


def document(body: bytes | str, url: str = "https://shop.test/lamp", **headers: str) -> Document:
    read = parse_document(response(body, url, **headers))
    assert isinstance(read, Document)
    return read
