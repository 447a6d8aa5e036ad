"""Sitemaps, indexes of them and feeds, read as they arrive, however broken their markup is.

This reads tags, not XML: nothing is declared, expanded or loaded, so there is no entity to explode and no file to be
tricked into, and one wrong tag costs one entry instead of all that follow. What counts is an entry (`url`, `sitemap`,
`item`, `entry`) and the fields that stand directly in it; a field ends at the next tag, whatever tag that is.

A file goes through three stations, each of which keeps only what it cannot decide yet, so that memory stays flat:

    bytes as sent    -> plain bytes    parse/unpack.py
    plain bytes      -> characters     here, by byte-order mark, declaration and looks
    characters       -> entries        `SitemapReader`: markup, or lists of one address per line

Sitemaps are often broken. Whatever can be read for certain is read; an address that was cut off is not, since half an
address is another address. The same bytes give the same entries however they were cut into chunks.
"""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from html import unescape
from html.entities import html5

from gossamer.parse.unpack import Unpacker

LONGEST_ADDRESS = 4_096
_LONGEST_TEXT = 65_536
_DEEPEST = 64
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ATTRIBUTE = re.compile(r"""(?<![\w:-])(href|rel|ispermalink)\s*=\s*("[^"]*"|'[^']*')""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One listed address, as written: neither joined nor normalised."""

    url: str
    priority: float | None = None
    is_index: bool = False  # it names another sitemap, not a page


class Draft:
    """An entry being read: its tags and texts come one after the other, and may be wrong."""

    def __init__(self, prefix: str, name: str, fields: frozenset[str]) -> None:
        self.prefix = prefix
        self.name = name
        self.field = ""  # the one whose text is being read
        self._fields = fields
        self._open: list[tuple[str, str]] = []  # elements that are no fields: what stands in them is not ours
        self._said: list[str] = []
        self._length = 0
        self._values: dict[str, str] = {}

    def start(self, prefix: str, name: str, tag: str) -> None:
        empty = tag.endswith("/")
        if not self._open and name in self._fields and prefix == self.prefix:
            attributes = _attributes_of(tag) if " " in tag or "\n" in tag or "\t" in tag else {}
            href = attributes.get("href", "").strip()
            if href:
                if attributes.get("rel", "alternate").strip().lower() == "alternate":
                    self._values.setdefault(name, href)
            elif not empty and attributes.get("ispermalink", "").strip().lower() != "false":
                self.field = name
        elif not empty and "href" not in tag and len(self._open) < _DEEPEST:
            # A link has nothing inside, whether it is closed or not.
            self._open.append((prefix, name))

    def end(self, prefix: str, name: str) -> None:
        """Close the element and any left open in it. An end tag without a start tag is ignored."""
        if (prefix, name) in self._open:
            while self._open.pop() != (prefix, name):
                pass

    def say(self, text: str) -> None:
        if self.field:
            self._said.append(text)
            self._length += len(text)
            if self._length > _LONGEST_TEXT:
                self.forget_field()

    def forget_field(self) -> None:
        self.field, self._said, self._length = "", [], 0

    def end_field(self) -> None:
        if self.field:
            value = decoded("".join(self._said)).strip()
            if value and len(value) <= LONGEST_ADDRESS:
                self._values.setdefault(self.field, value)
            self.forget_field()

    def done(self) -> Entry | None:
        """The entry, if it names an address. A text that no tag has ended may be half of one, and is left out."""
        values = self._values
        url = values.get("loc") or values.get("link") or values.get("guid", "")
        return Entry(url, number_of(values.get("priority")), self.name == "sitemap") if url else None


@lru_cache(maxsize=256)
def name_of(tag: str) -> tuple[str, str]:
    """Split a tag name into prefix and local name, in lower case."""
    name = (tag.split(None, 1) or [""])[0].partition("/")[0].lower()
    prefix, _, local = name.rpartition(":")
    return prefix, local


def _attributes_of(tag: str) -> dict[str, str]:
    return {name.lower(): decoded(value[1:-1]) for name, value in _ATTRIBUTE.findall(tag)}


def decoded(text: str) -> str:
    """Character references resolved if they are whole: `&copy=1` in an address is a parameter, not a sign."""
    if "\0" in text:
        text = text.replace("\0", "")
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    written = reference[0]
    return unescape(written).replace("\0", "") if written[1] == "#" else html5.get(written[1:], written)


def number_of(text: str | None) -> float | None:
    """Return a priority; None if the text is not a valid one."""
    try:
        value = float((text or "").replace(",", "."))
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


class Kind(Enum):
    UNKNOWN = "unknown"
    URLSET = "urlset"
    INDEX = "index"
    TEXT = "text"
    FEED = "feed"
    NOT_A_SITEMAP = "not a sitemap"


# The first of these says what the file is. Pages have other things before it, and so do sitemaps behind a warning.
_ROOTS = {
    **dict.fromkeys(("urlset", "url"), Kind.URLSET),
    **dict.fromkeys(("sitemapindex", "sitemap"), Kind.INDEX),
    **dict.fromkeys(("rss", "rdf", "feed"), Kind.FEED),
    **dict.fromkeys(("html", "head", "body"), Kind.NOT_A_SITEMAP),
}
_SITEMAP_FIELDS = {"url": frozenset({"loc", "priority"}), "sitemap": frozenset({"loc"})}
_FEED_FIELDS = {"item": frozenset({"link", "guid"}), "entry": frozenset({"link"})}
_FIELDS = {Kind.URLSET: _SITEMAP_FIELDS, Kind.INDEX: _SITEMAP_FIELDS, Kind.FEED: _FEED_FIELDS}
# Whose end is also the end of an entry that was not closed.
_AROUND = frozenset({"urlset", "sitemapindex", "rss", "rdf", "channel", "feed"})
_FARTHEST_ROOT = 65_536

# From one `<` to the next; what is longer holds no address.
_LONGEST_TOKEN = 65_536
_LONGEST_NAME = 80
# Tags cost time, also those that say nothing: so many are read in any case, and so many more for each entry found.
_FREE_TAGS = 500_000
_TAGS_PER_ENTRY = 50
_TAG_START = re.compile(r"<[/!?A-Za-z_]")
_HTML_DOCTYPE = re.compile(r"!doctype\s+html\b", re.IGNORECASE)
# An entry as most are written, whole and without surprises: read at one go, and ten times as fast. It says exactly what
# the tags say one by one. The elements with a prefix are pictures, films and translations, in and out of their blocks.
_BESIDE = (
    r"(?:<lastmod>[^<]*+</lastmod>|<changefreq>[^<]*+</changefreq>|<(?:xhtml|image|video|mobile|news):\w+(?:\s[^<>]*)?/>"
    r"|<(?P<block{0}>(?:image|video|news):\w+)>\s*+(?:<(?P<leaf{0}>(?:image|video|news):\w+)>[^<]*+</(?P=leaf{0})>\s*+)*+"
    r"</(?P=block{0})>)\s*+"
)
_PLAIN_ENTRY = re.compile(
    r"<(?P<name>url|sitemap)>\s*+<loc>(?P<loc>[^<]{1,4096}+)</loc>\s*+"
    rf"(?:{_BESIDE.format(1)})*+(?:<priority>(?P<priority>[^<]{{0,99}}+)</priority>\s*+(?:{_BESIDE.format(2)})*+)?+"
    r"</(?P=name)>[^<]*+"
)


class SitemapMarkup:
    """Reads XML markup and returns its entries. `kind` is known once a root element was read."""

    def __init__(self) -> None:
        self.kind = Kind.UNKNOWN
        self._rest = ""
        self._until = ""  # how the comment or CDATA section ends that we are in
        self._passed = 0  # characters before the root
        self._tags_left = _FREE_TAGS
        self._fields: dict[str, frozenset[str]] = {}
        self._entry: Draft | None = None
        self._found: list[Entry] = []

    @property
    def cut(self) -> bool:
        """True if reading was stopped because there was too much markup around too few entries."""
        return self._tags_left < 0

    def feed(self, text: str) -> Sequence[Entry]:
        """The entries that `text` completed."""
        text, at = self._rest + text, 0
        while at < len(text) and self.kind is not Kind.NOT_A_SITEMAP and not self.cut:
            end = self._pass_over(text, at) if self._until else self._step(text, at)
            if end == at:
                break  # what this is, the next piece will tell
            at = end
        self._rest = text[at : at + _LONGEST_TOKEN + 1]
        return self._taken()

    def _pass_over(self, text: str, at: int) -> int:
        """On to the end of a comment or CDATA section. The text of the latter is text like any other."""
        end = text.find(self._until, at)
        inside = max(at, len(text) - 2) if end < 0 else end
        if self._until == "]]>" and self._entry is not None:
            self._entry.say(text[at:inside])
        if end < 0:
            return inside
        self._until = ""
        return end + 3

    def _step(self, text: str, at: int) -> int:
        """Parse the token at `at`; return the position after it, or `at` if the token is incomplete."""
        self._tags_left -= 1
        if text.startswith("<!--", at):
            self._until = "-->"
            return at + 4
        if text.startswith("<![CDATA[", at):
            self._until = "]]>"
            return at + 9
        plain = _PLAIN_ENTRY.match(text, at) if self._entry is None and self._fields is _SITEMAP_FIELDS else None
        if plain is not None:
            name, address, priority = plain.group("name", "loc", "priority")
            self._tags_left -= plain[0].count("<") - 1
            if address := decoded(address).strip():
                self._add(Entry(address, number_of(priority), name == "sitemap"))
            return plain.end()
        end = text.find("<", at + 1)
        if end < 0:
            self._tags_left += 1
            return at
        self._take(text[at:end])
        return end

    def finish(self) -> Sequence[Entry]:
        """The entry that was begun, if its address was not cut off."""
        if not self._until and not self.cut and self.kind is not Kind.NOT_A_SITEMAP:
            closing = self._rest.startswith("</") and ">" not in self._rest
            self._take(self._rest + ">" if closing else self._rest)
        self._rest = ""
        if self.kind is Kind.UNKNOWN:
            self.kind = Kind.NOT_A_SITEMAP
        self._end_entry()
        return self._taken()

    def _taken(self) -> Sequence[Entry]:
        found, self._found = self._found, []
        return found

    def _take(self, token: str) -> None:
        """A tag with the text behind it, or text alone."""
        too_long = len(token) > _LONGEST_TOKEN
        token = token[:_LONGEST_TOKEN]
        close = token.find(">")
        if close > 0 and _TAG_START.match(token):
            self._meet(token[1:close])
            text = token[close + 1 :]
        else:
            text = token  # an unescaped `<` in a text, or what stands between a CDATA section and the next tag
        if self._entry is not None and self._entry.field:
            self._entry.say(text)
            if too_long:
                self._entry.forget_field()
        self._passed += len(token)
        if self.kind is Kind.UNKNOWN and self._passed > _FARTHEST_ROOT:
            self.kind = Kind.NOT_A_SITEMAP

    def _meet(self, tag: str) -> None:
        if self._entry is not None:
            self._entry.end_field()
        if tag[0] in "!?":
            if self.kind is Kind.UNKNOWN and _HTML_DOCTYPE.match(tag):
                self.kind = Kind.NOT_A_SITEMAP
        elif tag[0] == "/":
            self._end(*name_of(tag[1:_LONGEST_NAME]))
        else:
            self._start(*name_of(tag[:_LONGEST_NAME]), tag)

    def _start(self, prefix: str, name: str, tag: str) -> None:
        if self.kind is Kind.UNKNOWN and name in _ROOTS:
            self.kind = _ROOTS[name]
            self._fields = _FIELDS.get(self.kind, {})
        entry = self._entry
        if name in self._fields and (entry is None or entry.prefix == prefix):
            self._end_entry()
            self._entry = Draft(prefix, name, self._fields[name])
        elif entry is not None:
            entry.start(prefix, name, tag)

    def _end(self, prefix: str, name: str) -> None:
        entry = self._entry
        if entry is None:
            return
        if (prefix, name) == (entry.prefix, entry.name) or name in _AROUND:
            self._end_entry()
        else:
            entry.end(prefix, name)

    def _end_entry(self) -> None:
        if self._entry is not None and (done := self._entry.done()):
            self._add(done)
        self._entry = None

    def _add(self, entry: Entry) -> None:
        self._found.append(entry)
        self._tags_left += _TAGS_PER_ENTRY


# What the protocol allows in one file.
MOST_ENTRIES = 50_000
MOST_BYTES = 52_428_800

# Enough to find a declaration and the first address; nothing is decided before so much has come, or all there is.
_HEAD = 4_096
_TEXT_START = re.compile(r"[\s\ufeff]*+(?:#[^\n\r<]*+[\s]++)*+https?://", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_LINE_END = re.compile(r"[\r\n]")

_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w.:-]{2,40})""", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Encodings that are neither UTF-8 nor Western, in the names sites give them. Others are not looked up: Python knows
# "encodings" that are no character sets at all.
_LEGACY = frozenset(
    {*(f"windows-125{n}" for n in (0, 1, 3, 4, 5, 6, 7, 8)), *(f"iso-8859-{n}" for n in (2, 4, 5, 6, 7, 8, 9, 13))}
    | {"koi8-r", "koi8-u", "shift_jis", "euc-jp", "gb2312", "gbk", "gb18030", "big5", "euc-kr"}
)
# A byte that is not UTF-8 is read as the Western character that it mostly is.
_WESTERN = {0xDC00 + byte: bytes((byte,)).decode("cp1252", "replace") for byte in range(0x80, 0x100)}


class SitemapReader:
    """Reads one file. Feed it what arrives, then finish; neither ever raises."""

    def __init__(self) -> None:
        self._unpacker = Unpacker(MOST_BYTES)
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._listing: SitemapMarkup | _Lines = SitemapMarkup()
        self._left = MOST_ENTRIES
        self._full = False

    @property
    def kind(self) -> Kind:
        """The kind of file; UNKNOWN until enough of it was read, never after `finish`."""
        return self._listing.kind

    @property
    def cut(self) -> bool:
        """True if the file is larger than the protocol allows."""
        return self._full or self._unpacker.cut or self._listing.cut

    @property
    def over(self) -> bool:
        """True if no more entries can follow, so that the rest need not be fetched."""
        return self.cut or self._unpacker.over or self.kind is Kind.NOT_A_SITEMAP

    def feed(self, chunk: bytes) -> Sequence[Entry]:
        """The entries this chunk completed."""
        found: list[Entry] = []
        for piece in self._unpacker.feed(chunk) if not self.over else ():
            found += self._read(piece)
            if self.over:
                break
        return found

    def finish(self) -> Sequence[Entry]:
        """Return the remaining entries."""
        found = [entry for piece in self._unpacker.finish() for entry in self._read(piece)]
        if self._decoder is None:
            found += self._begin()
        if not self._full:
            # The last line of a list often lacks its end. Where the file itself does, the line may be half of one.
            end = "\n" if self._unpacker.whole else ""
            found += self._admit(self._listing.feed(self._characters(b"", final=True) + end))
            found += self._admit(self._listing.finish())
        return found

    def _read(self, piece: bytes) -> Sequence[Entry]:
        if self._decoder is not None:
            return self._admit(self._listing.feed(self._characters(piece)))
        self._head += piece
        return self._begin() if len(self._head) >= _HEAD else ()

    def _begin(self) -> Sequence[Entry]:
        """Choose decoder and parser by exactly the first `_HEAD` bytes, so that chunk sizes do not matter."""
        head, rest, self._head = self._head[:_HEAD], self._head[_HEAD:], b""
        mark, codec = _encoding_of(head)
        errors = "surrogateescape" if codec == "utf-8" else "replace"
        self._decoder = codecs.getincrementaldecoder(codec)(errors)
        text = self._characters(head[mark:])
        if _TEXT_START.match(text):
            self._listing = _Lines()
        return self._admit(self._listing.feed(text + self._characters(rest)))

    def _characters(self, piece: bytes, *, final: bool = False) -> str:
        text = self._decoder.decode(piece, final) if self._decoder is not None else ""
        return text if text.isascii() or _is_clean(text) else text.translate(_WESTERN)

    def _admit(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        if len(entries) > self._left:
            self._full = True
            entries = entries[: self._left]
        self._left -= len(entries)
        return entries


class _Lines:
    """A list in plain text: one address per line, other lines passed over."""

    kind = Kind.TEXT
    cut = False

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> Sequence[Entry]:
        *lines, rest = _LINE_END.split(self._rest + text)
        # A line that is too long stays so, however much of it is forgotten.
        self._rest = rest[: LONGEST_ADDRESS + 1]
        return [Entry(line) for line in map(_tidy, lines) if line]

    def finish(self) -> Sequence[Entry]:
        return ()


def _tidy(line: str) -> str:
    tidy = line.replace("\0", "").strip(" \t\ufeff") if len(line) <= LONGEST_ADDRESS else ""
    return tidy if _ADDRESS.match(tidy) else ""


def _is_clean(text: str) -> bool:
    """Return True if all bytes were decoded; encoding the text is the quickest way to check."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encoding_of(head: bytes) -> tuple[int, str]:
    """The length of the byte-order mark and the codec. What the bytes show counts for more than what they say."""
    for mark, codec in _BOMS:
        if head.startswith(mark):
            return len(mark), codec
    if head[:4:2] == b"\0\0":
        return 0, "utf-16-be"
    if head[1:4:2] == b"\0\0":
        return 0, "utf-16-le"
    declared = _DECLARED.search(head)
    label = declared[1].decode().lower() if declared else ""
    return 0, label if label in _LEGACY and not _shows_utf8(head) else "utf-8"


def _shows_utf8(head: bytes) -> bool:
    try:
        # The last character may be cut.
        return not head.isascii() and bool(codecs.getincrementaldecoder("utf-8")().decode(head))
    except UnicodeDecodeError:
        return False
