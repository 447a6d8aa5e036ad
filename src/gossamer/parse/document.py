"""From a Response to a Document, or to the reason why it cannot be read."""

import json
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

import orjson
from turbohtml import Document as Tree
from turbohtml import escape, parse

from gossamer.model.document import Document, Response
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import normalise
from gossamer.parse.decode import decode, decode_and_tell
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


class Kind(Enum):
    HTML = "html"
    TEXT = "text"


_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})

_MAGIC = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n", "image/png"),
    (b"GIF8", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"RIFF", "audio, video or image"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x7fELF", "a program"),
    (b"{\\rtf", "application/rtf"),
    (b"7z\xbc\xaf", "application/x-7z-compressed"),
)
_FIRST_BYTES = frozenset(magic[0] for magic, _ in _MAGIC)

_LOOKS_HTML = re.compile(
    rb"\s*(?:(?><!--.*?-->|<\?xml.*?\?>)\s*+)*+"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|link|div|p|h1|table|a|br|b|iframe|font)(?:[\s>/]|$)",
    re.IGNORECASE | re.DOTALL,
)
_IS_HTML = re.compile(
    rb"\s*(?:(?><!--.*?-->|<\?xml.*?\?>)\s*+)*+<(?:!doctype\s+html|html)(?:[\s>/]|$)", re.IGNORECASE | re.DOTALL
)
_PREFIX = 2_048
_CONTROL_BYTES = bytes({*range(0x20)} - {0x09, 0x0A, 0x0C, 0x0D, 0x1B})

_FOREIGN_FAMILIES = ("image/", "audio/", "video/", "font/", "model/")
_FOREIGN = re.compile(
    r"application/(?:pdf|zip|gzip|rtf|msword|wasm|postscript|java-archive|epub\+zip|font-\w+"
    r"|x-(?:gzip|tar|bzip2?|xz|7z-compressed|rar(?:-compressed)?|compressed|zip-compressed|iso9660-image|msdownload"
    r"|msdos-program|apple-diskimage|debian-package|rpm|redhat-package-manager|shockwave-flash|bittorrent|font-[\w-]+)"
    r"|vnd\.(?:ms-[\w.-]+|rar|android\.package-archive|adobe\.[\w.-]+"
    r"|openxmlformats-officedocument\.[\w.-]+|oasis\.opendocument\.[\w.-]+))"
)
_ANYTHING = frozenset(
    {"application/octet-stream", "binary/octet-stream", "application/force-download", "application/x-download"}
)


def wants_body(status: int, headers: Mapping[str, str]) -> bool:
    """Return True if a body may be a page, judging by the headers alone (lower-case names).

    Only bodies that are clearly something else are not downloaded. Types that servers assign to unknown
    files are not trusted, and those bodies are read. The body of an error response is always read,
    whatever its type, because it shows the origin of the error.
    """
    stated = headers.get("content-type", "")
    if stated.startswith("text/html") or not 200 <= status < 300:
        return True
    content_type = stated.partition(";")[0].strip().lower()
    if content_type in _ANYTHING:
        return not headers.get("content-disposition", "").lstrip().lower().startswith("attachment")
    return not content_type.startswith(_FOREIGN_FAMILIES) and _FOREIGN.fullmatch(content_type) is None


def kind_of(content_type: str, body: bytes) -> Kind | str:
    """HTML or plain text, else the name of what it is instead. `content_type` is the bare media type."""
    foreign = _magic_of(body)
    if foreign:
        return foreign
    if content_type in _PAGE_TYPES:
        return Kind.HTML
    prefix = _without_utf16(body[:_PREFIX])
    # Servers that do not know a file's name ending often send pages as plain text or as a download: what begins with
    # a doctype is believed against them. With no word from the server, any usual first tag will do.
    if (_IS_HTML if content_type else _LOOKS_HTML).match(prefix):
        return Kind.HTML
    if content_type in ("", "text/plain"):
        return "binary data" if _is_binary(prefix) else Kind.TEXT
    return content_type


def _magic_of(body: bytes) -> str:
    if body[:1] and body[0] in _FIRST_BYTES:
        for magic, name in _MAGIC:
            if body.startswith(magic):
                return name
    return "video/mp4" if body[4:8] == b"ftyp" else ""


def _without_utf16(prefix: bytes) -> bytes:
    """A prefix in UTF-16 or with a byte-order mark, as the single bytes the patterns here know."""
    if prefix.startswith((b"\xff\xfe", b"\xfe\xff")):
        return prefix[2:].replace(b"\0", b"")
    return prefix.removeprefix(b"\xef\xbb\xbf")


def _is_binary(prefix: bytes) -> bool:
    return len(prefix.translate(None, _CONTROL_BYTES)) != len(prefix)


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
    """Return a document for a response that is not a web page: its body, and its text if it is text."""
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
    """Return the value without characters that databases cannot store."""
    match value:
        case str():
            return value.replace("\0", "").encode("utf-8", "ignore").decode()
        case list():
            return [_storable(one) for one in value]
        case dict():
            return {_storable(name): _storable(one) for name, one in value.items()}
    return value


def is_text(content_type: str) -> bool:
    """Return True if a body of this media type consists of text."""
    return _READABLE.search(content_type) is not None


def _tree_of(source: str, kind: Kind) -> Tree:
    if kind is Kind.TEXT:
        source = f"<pre>{escape(source)}"
    # As browsers do: what stands in <noscript> is not part of the page.
    return parse(source, positions=False, scripting=True)
