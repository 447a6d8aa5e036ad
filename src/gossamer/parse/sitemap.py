"""What a site lists of itself: sitemaps, indexes of them and feeds, read as they arrive.

A file goes through three stations, each of which keeps only what it cannot decide yet, so that memory stays flat:

    bytes as sent    -> plain bytes    parse/unpack.py
    plain bytes      -> characters     here, by byte-order mark, declaration and looks
    characters       -> entries        parse/listing.py for markup; here for lists of one address per line

Sitemaps are often broken. Whatever can be read for certain is read; an address that was cut off is not, since half an
address is another address. The same bytes give the same entries however they were cut into chunks.
"""

import codecs
import re
from collections.abc import Sequence

from gossamer.parse.entry import LONGEST_ADDRESS, Entry
from gossamer.parse.listing import Kind, Listing
from gossamer.parse.unpack import Unpacker

__all__ = ["MOST_BYTES", "MOST_ENTRIES", "Entry", "Kind", "SitemapReader"]

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
# A byte that is no UTF-8 is taken for the Western character it mostly is.
_WESTERN = {0xDC00 + byte: bytes((byte,)).decode("cp1252", "replace") for byte in range(0x80, 0x100)}


class SitemapReader:
    """Reads one file. Feed it what arrives, then finish; neither ever raises."""

    def __init__(self) -> None:
        self._unpacker = Unpacker(MOST_BYTES)
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._listing: Listing | _Lines = Listing()
        self._left = MOST_ENTRIES
        self._full = False

    @property
    def kind(self) -> Kind:
        """What the file is; UNKNOWN until enough of it was seen, never after `finish`."""
        return self._listing.kind

    @property
    def cut(self) -> bool:
        """Whether the file went on beyond what the protocol allows."""
        return self._full or self._unpacker.cut or self._listing.cut

    @property
    def over(self) -> bool:
        """Whether nothing more can come of it, so that the rest need not be fetched."""
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
        """The rest."""
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
        """Decide by the first bytes, no more and no fewer than those, how to read them all."""
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
    """Whether no byte was left undecoded; asking the encoder is the quickest way to know."""
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
