"""Answers as a server would give them, and the documents they become."""

from datetime import UTC, datetime

from gossamer.model.document import Document, Response
from gossamer.parse import parse_document

URL = "https://shop.example/guides/start.html"
AT = datetime(2026, 3, 4, 5, 6, 7, 890_000, tzinfo=UTC)


def answer(
    body: str | bytes = b"",
    *,
    status: int = 200,
    content_type: str = "text/html; charset=utf-8",
    url: str = URL,
    requested: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """A response; header names are given in lower case, as the fetchers do."""
    sent = {"content-type": content_type} if content_type else {}
    return Response(
        requested=requested or url,
        url=url,
        status=status,
        headers={**sent, **(headers or {})},
        body=body.encode() if isinstance(body, str) else body,
        rung="direct",
        fetched_at=AT,
    )


def read(
    body: str | bytes,
    *,
    status: int = 200,
    content_type: str = "text/html; charset=utf-8",
    url: str = URL,
    requested: str | None = None,
    headers: dict[str, str] | None = None,
) -> Document:
    """The document of an answer that can be read."""
    doc = parse_document(
        answer(body, status=status, content_type=content_type, url=url, requested=requested, headers=headers)
    )
    assert isinstance(doc, Document), doc
    return doc


def text_of(body: str) -> str:
    return read(f"<!DOCTYPE html><html><head><title>t</title></head><body>{body}</body></html>").text
