"""First step of reading a page: from bytes to characters.

A byte-order mark is believed first, then the charset in the header, then the one the page names itself, then what the
bytes look like. A declaration that the bytes plainly contradict is not believed: the next in this order is asked.
"""

import codecs
import re
from functools import lru_cache

from turbohtml.detect import detect

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

# Pages name their charset near the top; the standard looks at 1,024 bytes, real pages are sometimes later.
_HEAD = 4_096
_META_CHARSET = re.compile(
    rb"<(?:meta|\?xml)\b[^>]{0,500}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE
)
_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_SAMPLE = 16_384

# The standard reads all of these as windows-1252. They are what servers announce by default, whatever the page is.
_WESTERN = frozenset({"windows-1252", "iso-8859-1", "latin1", "us-ascii", "ascii", "iso-8859-15", "cp1252", "latin-1"})
_UTF8 = frozenset({"utf-8", "utf8"})
_UTF16 = frozenset({"utf-16", "utf-16le", "utf-16be"})
# Legacy bytes are almost never valid UTF-8 by accident; with this many continuation bytes, never.
_ENOUGH_CONTINUATIONS = 6


def decode(body: bytes, content_type: str = "") -> str:
    """The characters of a page, without NUL. Never raises.

    No lone surrogates either: every decoder used here writes U+FFFD in their place.
    """
    return decode_and_tell(body, content_type)[0]


def decode_and_tell(body: bytes, content_type: str = "") -> tuple[str, str]:
    """The same, and the decoder that has done it; no name where the page was in UTF-8, as nearly all are."""
    text, codec = _decode(body, content_type)
    # Asked of the bytes first, where looking for a NUL is much cheaper.
    return (text.replace("\0", "") if b"\0" in body else text), codec


def _decode(body: bytes, content_type: str) -> tuple[str, str]:
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace"), ""
    declared = _HEADER_CHARSET.search(content_type)
    label = declared[1].lower() if declared else ""
    utf8 = _as_utf8(body)
    if utf8 is not None and (label in _UTF8 or (len(utf8) == len(body) and not _shifts(label, body))):
        return utf8, ""
    label = label if _codec_for(label) else _named_by_page(body)
    if utf8 is not None and _means_utf8(label, continuations=len(body) - len(utf8)):
        return utf8, ""
    return _by_label(body, label) or _by_page(body, label) or _by_looks(body)


def _as_utf8(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _shifts(label: str, body: bytes) -> bool:
    """Return True if bytes that look like ASCII may be UTF-16, or an encoding that uses escape sequences."""
    return label in _UTF16 or b"\x1b" in body


def _named_by_page(body: bytes) -> str:
    found = _META_CHARSET.search(body, 0, _HEAD)
    label = found[1].decode("ascii", "replace").lower() if found else ""
    # If the name could be read in single bytes, the page is not UTF-16, whatever the name says.
    if label in _UTF16:
        return "utf-8"
    return label if _codec_for(label) else ""


def _means_utf8(label: str, *, continuations: int) -> bool:
    if not label or label in _UTF8 or label in _WESTERN:
        return True
    return continuations >= _ENOUGH_CONTINUATIONS and label not in _UTF16


def _by_label(body: bytes, label: str) -> tuple[str, str] | None:
    """Decode with the declared encoding; None if it is unknown, or if the bytes contradict it."""
    codec = _codec_for(label)
    if codec is None:
        return None
    text = body.decode(codec, "replace")
    return (text, codec) if _is_plausible(text, body, label) else None


def _by_page(body: bytes, disproved: str) -> tuple[str, str] | None:
    """Decode with the encoding the page declares; None if it is the one already disproved, or does not fit."""
    label = _named_by_page(body)
    return None if label == disproved else _by_label(body, label)


def _is_plausible(text: str, body: bytes, label: str) -> bool:
    if label in _UTF16 and b"\0" not in body[:_HEAD]:
        return False
    broken = text.count("\ufffd")
    if not broken:
        return True
    # A few broken characters are a few broken characters; when a quarter of all that is not ASCII is broken, it is
    # the declaration that is wrong.
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return broken * 4 <= beyond_ascii


def _by_looks(body: bytes) -> tuple[str, str]:
    """Detection, on a piece round the first telling byte, with the page's own (disproved) claim taken out."""
    found = _NOT_ASCII.search(body)
    start = max(0, found.start() - 256) if found else 0
    sample = _META_CHARSET.sub(b"", body[start : start + _SAMPLE])
    codec = detect(sample).codec or "utf-8"
    return body.decode(codec, "replace"), codec


@lru_cache(maxsize=512)
def _codec_for(label: str) -> str | None:
    """The decoder browsers use for a label (`latin1` is windows-1252 to them), or None for a name they do not know."""
    name = f"whatwg-{label}"
    try:
        codecs.lookup(name)
    except LookupError:
        return None
    # Browsers refuse these encodings outright: the standard maps them to a single replacement character.
    return None if b"ab".decode(name, "replace") == "\ufffd" and label not in _UTF16 else name
