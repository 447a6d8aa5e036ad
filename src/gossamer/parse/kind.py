"""Before a page is read: whether the bytes are a web page at all, by what the server says and by how they begin."""

import re
from collections.abc import Mapping
from enum import Enum


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
    """Whether a body may be a page's, once only the headers are there (lower-case names).

    Only what plainly is something else is left with the server. Types that servers give to what they do not know are
    doubted, and read. The body of an error says whose error it is, so it is wanted whatever it calls itself.
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
