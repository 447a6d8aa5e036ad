"""Second stop of a fetched page: from a Response to a Document, or to the reason why it cannot be read."""

import json
import re
from typing import Any

import orjson
from turbohtml import Document as Tree
from turbohtml import escape, parse

from gossamer.model.document import Document
from gossamer.model.fetching import Response
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import normalise
from gossamer.parse.decode import decode, decode_and_tell
from gossamer.parse.kind import Kind, kind_of
from gossamer.parse.links import find_links, is_plain
from gossamer.parse.metadata import (
    base_of,
    canonical_of,
    header_forbids_following,
    language_of,
    read_meta_tags,
    title_of,
)
from gossamer.parse.parts import find_landmarks
from gossamer.parse.text import find_marked, visible_text

# Media types that are read as characters.
_READABLE = re.compile(r"^text/|[/+](?:json|xml|yaml|javascript|csv)\b")


def parse_document(response: Response) -> Document | Trouble:
    """The page as a visitor would see it, with its links. Never raises, whatever the bytes."""
    body = response.body
    content_type = response.content_type
    kind = kind_of(content_type, body)
    if isinstance(kind, str):
        return Trouble(Reason.NOT_HTML, detail=kind, http_status=response.status)
    source, codec = decode_and_tell(body, response.header("content-type"))
    if not source or source.isspace():
        return Trouble(Reason.EMPTY, http_status=response.status)
    tree = _tree_of(source, kind)
    url = response.url if is_plain(response.url) else normalise(response.url) or ""
    base = base_of(tree, url)
    meta = read_meta_tags(tree, url, base)
    links = find_links(tree, base, codec)
    title = title_of(tree)
    canonical = canonical_of(tree, source, base, response.header("link"), codec)
    marked = find_marked(tree)
    landmarks = find_landmarks(tree, marked)
    # Last of all: it throws the parser's index of tags away.
    text = visible_text(tree, source, marked)
    return Document(
        requested=response.requested,
        url=response.url,
        status=response.status,
        rung=response.rung,
        fetched_at=response.fetched_at,
        content_type=content_type,
        title=title,
        text=text,
        links=links,
        canonical=canonical,
        language=language_of(tree, meta.language, response.header("content-language")),
        nofollow=meta.nofollow or header_forbids_following(response.header("x-robots-tag")),
        refresh=meta.refresh,
        size=len(body),
        headers=response.headers,
        tree=tree,
        landmarks=landmarks,
        screenshot=response.screenshot,
        body=body,
    )


def bare_document(response: Response) -> Document:
    """What is no web page, as far as one can say something of it: its body, and text where it is text."""
    tree = parse("", positions=False)
    return Document(
        requested=response.requested,
        url=response.url,
        status=response.status,
        rung=response.rung,
        fetched_at=response.fetched_at,
        content_type=response.content_type,
        title="",
        text=decode(response.body, response.header("content-type")) if is_text(response.content_type) else "",
        links=(),
        canonical=None,
        language="",
        nofollow=False,
        refresh=None,
        size=len(response.body),
        headers=response.headers,
        tree=tree,
        landmarks=find_landmarks(tree, []),
        body=response.body,
    )


def json_document(response: Response) -> Document | Trouble:
    """An answer that is data. It has no text, no links and no tree."""
    try:
        data = _read_json(response)
    except ValueError:
        return Trouble(Reason.NOT_JSON, response.content_type or "without a type", response.status)
    return Document(
        requested=response.requested,
        url=response.url,
        status=response.status,
        rung=response.rung,
        fetched_at=response.fetched_at,
        content_type=response.content_type,
        title="",
        text="",
        links=(),
        canonical=None,
        language="",
        nofollow=False,
        refresh=None,
        size=len(response.body),
        headers=response.headers,
        tree=None,
        landmarks=None,
        body=response.body,
        data=data,
    )


def _read_json(response: Response) -> Any:
    body = response.body
    if b"\\u0000" not in body:
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            pass  # not UTF-8, perhaps, or half a character
    return _storable(json.loads(decode(body, response.header("content-type"))))


def _storable(value: Any) -> Any:
    """Without the characters that databases do not keep."""
    match value:
        case str():
            return value.replace("\0", "").encode("utf-8", "ignore").decode()
        case list():
            return [_storable(one) for one in value]
        case dict():
            return {_storable(name): _storable(one) for name, one in value.items()}
    return value


def is_text(content_type: str) -> bool:
    """Whether a body of this media type is made of characters."""
    return _READABLE.search(content_type) is not None


def _tree_of(source: str, kind: Kind) -> Tree:
    if kind is Kind.TEXT:
        source = f"<pre>{escape(source)}"
    # As browsers do: what stands in <noscript> is not part of the page.
    return parse(source, positions=False, scripting=True)
