"""The query of an address as browsers send it: in the encoding of the page that names it, which is not always UTF-8.

A server that writes its pages in windows-1251 expects `?q=` in windows-1251. Path and host are UTF-8 everywhere.
"""

import codecs
import re
from functools import lru_cache
from urllib.parse import quote

from turbohtml import parse

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
# What the bytes of an encoded character may stay as. Characters the encoding lacks come as references (`&#1078;`),
# whose signs would mean something else in a query.
_SAFE = "".join(map(chr, range(0x21, 0x7F))).translate(str.maketrans("", "", "\"#'<>%&;"))
# Names of the standard that Python knows as something else, or not at all.
_ENCODERS = {
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "iso-8859-8-i": "iso8859-8",
    "macintosh": "mac-roman",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}


def with_query_in(codec: str, href: str) -> str:
    """An address with its query in the encoding of `codec`, as far as it is not plain ASCII; else as it was."""
    if href.isascii():
        return href
    address, hash_sign, fragment = href.partition("#")
    path, mark, query = address.partition("?")
    encoder = "" if query.isascii() else _encoder_for(codec)
    if not encoder:
        return href
    spelled = _BEYOND_ASCII.sub(lambda run: quote(run[0].encode(encoder, "xmlcharrefreplace"), _SAFE), query)
    return f"{path}{mark}{spelled}{hash_sign}{fragment}"


@lru_cache(maxsize=64)
def _encoder_for(codec: str) -> str:
    """What Python writes the encoding of a decoder in; nothing for UTF-8, and UTF-16, which is sent as UTF-8 too."""
    try:
        name = (parse(b"x", encoding=codec.removeprefix("whatwg-")).encoding or "").lower()
        return "" if name.startswith("utf-") else codecs.lookup(_ENCODERS.get(name, name)).name
    except LookupError:
        return ""
