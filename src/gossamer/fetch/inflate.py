"""Decompression the client leaves to us: spellings it does not know, and `deflate` in both of its readings.

It undoes gzip, br and zstd written in lower case and takes the header away. `GZIP`, `x-gzip`, lists, and the raw
deflate streams that some servers send under the name of zlib's come through as they are, so they are undone here.
Pieces are small whatever the ratio: the caller counts them against its limit.
"""

import zlib
from collections.abc import Iterator

_PIECE = 65_536
_GZIP = 16 + zlib.MAX_WBITS
_ZLIB = zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS

_OURS = frozenset({"gzip", "deflate"})
_NOT_OURS = frozenset({"br", "zstd", "compress"})


class CannotInflate(Exception):
    """The bytes are not what the header says, or say something nobody here can read."""


class EndsEarly(Exception):
    """The compressed stream stops before its end."""


class Inflater:
    """One layer, fed chunk by chunk."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._stream = zlib.decompressobj(_GZIP if coding == "gzip" else _ZLIB)
        self._started = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk holds, in pieces of at most 64 KB. Bytes after the end of the stream are ignored."""
        if not self._started and chunk:
            self._started = True
            if self._coding == "deflate" and not _has_zlib_header(chunk):
                self._stream = zlib.decompressobj(_RAW)
        rest = chunk
        while rest and not self._stream.eof:
            try:
                piece = self._stream.decompress(rest, _PIECE)
            except zlib.error as error:
                raise CannotInflate(str(error)) from error
            rest = self._stream.unconsumed_tail
            if piece:
                yield piece

    def finish(self) -> None:
        """An empty body is nobody's fault; one that stops in the middle is."""
        if self._started and not self._stream.eof:
            raise EndsEarly(self._coding)


def inflaters_for(content_encoding: str) -> tuple[Inflater, ...]:
    """The layers to undo, outermost first. A value that names no compression (`utf-8`, `none`) undoes nothing."""
    codings = [coding.strip().lower().removeprefix("x-") for coding in content_encoding.split(",")]
    for coding in codings:
        if coding in _NOT_OURS:
            raise CannotInflate(coding)
    return tuple(Inflater(coding) for coding in reversed(codings) if coding in _OURS)


def _has_zlib_header(chunk: bytes) -> bool:
    # RFC 1950: method 8 in the low bits, and the first two bytes as a number divisible by 31. One byte alone must do
    # with the first half of the test.
    return chunk[0] & 0x0F == 8 and (len(chunk) < 2 or int.from_bytes(chunk[:2], "big") % 31 == 0)
