"""Decompress gzip files that arrive in pieces, recognised by their first bytes and not by name or headers.

A stream can end badly in three ways, and none of them raises: it is cut off, it is damaged, or it inflates
beyond its limit. The output up to that point is kept.
"""

import zlib
from collections.abc import Iterator

_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
_PIECE = 65_536
# Packers that work in parallel glue their parts together. A million empty ones take long and hold nothing.
_MOST_MEMBERS = 10_000


class Unpacker:
    """The bytes of a file, whether they were packed or not; up to `layers` of gzip within each other."""

    def __init__(self, most_bytes: int, layers: int = 2) -> None:
        self._most = most_bytes
        self._room = most_bytes
        self._layers = layers
        self._head: bytes | None = b"" if layers else None  # None: looked at already
        self._stream = zlib.decompressobj(_GZIP)
        self._members = 1
        self._behind = b""  # the first bytes after the end of the stream
        self._within: Unpacker | None = None
        self._over = False
        self._cut = False
        self._damaged = False

    @property
    def cut(self) -> bool:
        """True if the limit ended the data."""
        return self._cut or (self._within is not None and self._within.cut)

    @property
    def over(self) -> bool:
        """True if further data will be ignored."""
        return self._over or (self._within is not None and self._within.over)

    @property
    def whole(self) -> bool:
        """True if the data was complete, as far as can be determined."""
        if self._within is None:
            return not self._cut
        return self._stream.eof and not self._damaged and not self._cut and self._within.whole

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Decompress a chunk, in pieces that stay small at any compression ratio."""
        if self._head is not None:
            self._head += chunk
            if len(self._head) < len(_MAGIC):
                return
            chunk, self._head = self._head, None
            if chunk.startswith(_MAGIC):
                self._within = Unpacker(self._most, self._layers - 1)
        if self._within is None:
            yield from self._counted(chunk)
            return
        for piece in self._inflated(chunk):
            yield from self._within.feed(piece)

    def finish(self) -> Iterator[bytes]:
        """Return the remaining bytes, which were too short to identify their format."""
        if self._within is not None:
            yield from self._within.finish()
        elif self._head:
            yield from self._counted(self._head)
            self._head = None

    def _inflated(self, chunk: bytes) -> Iterator[bytes]:
        held = False  # more may come without more being fed
        while (chunk or held) and not self._over:
            if self._stream.eof:
                # Packed files may be glued together; anything else behind the end is padding.
                self._behind += chunk
                if len(self._behind) < len(_MAGIC):
                    return
                chunk, self._behind = self._behind, b""
                self._members += 1
                if not chunk.startswith(_MAGIC) or self._members == _MOST_MEMBERS:
                    self._over = True
                    return
                self._stream = zlib.decompressobj(_GZIP)
            before = self._stream.copy()
            try:
                piece = self._stream.decompress(chunk, _PIECE)
            except zlib.error:
                yield from self._counted(_salvaged(before, chunk))
                self._over = self._damaged = True
                return
            yield from self._counted(piece)
            held = len(piece) == _PIECE
            chunk = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail

    def _counted(self, piece: bytes) -> Iterator[bytes]:
        """Yield the piece, cut to the remaining limit.

        The output of every layer counts, because each takes time to decompress.
        """
        if len(piece) > self._room:
            piece = piece[: self._room]
            self._cut = self._over = True
        self._room -= len(piece)
        if piece:
            yield piece


def _salvaged(stream: "zlib._Decompress", chunk: bytes) -> bytes:
    """Decompress a damaged chunk byte by byte up to the damage: a call that fails returns nothing."""
    out = bytearray()
    try:
        for byte in chunk:
            piece = stream.decompress(bytes((byte,)), 1)
            while piece:
                out += piece
                piece = stream.decompress(stream.unconsumed_tail, 1)
    except zlib.error:
        return bytes(out)
    return bytes(out)
