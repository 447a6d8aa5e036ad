"""Headers and body of a response that has begun: decompressed, and limited in size.

The client decompresses gzip, br and zstd if they are written in lower case, and removes the header. `GZIP`,
`x-gzip`, lists, and the raw deflate streams that some servers send as deflate arrive unchanged, so they are
decompressed here. Pieces are small whatever the ratio: the caller counts them against its limit.

A plain body of known length is read at once. Others come in pieces: the client inflates as it streams, in
chunks of 4 KB, so the limit applies to the decompressed size, not to the transferred size. A decompression
bomb is abandoned after `max_bytes`, whatever its ratio.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from wreq import Response as Arrived

from gossamer.fetch.errors import FetchError, spell_size
from gossamer.fetch.rung import Sink
from gossamer.model.trouble import Reason, Trouble

_PIECE = 65_536
_GZIP = 16 + zlib.MAX_WBITS
_ZLIB = zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS

_OURS = frozenset({"gzip", "deflate"})
_NOT_OURS = frozenset({"br", "zstd", "compress"})


class CannotInflate(Exception):
    """The bytes do not match the header, or use an encoding that is not supported."""


class EndsEarly(Exception):
    """The compressed stream stops before its end."""


class Inflater:
    """One layer of compression, fed chunk by chunk."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._stream = zlib.decompressobj(_GZIP if coding == "gzip" else _ZLIB)
        self._started = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Decompress a chunk, in pieces of up to 64 KB. Bytes after the end of the stream are ignored."""
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
        """Check the end of the body: an empty one is accepted, a truncated one raises."""
        if self._started and not self._stream.eof:
            raise EndsEarly(self._coding)


def inflaters_for(content_encoding: str) -> tuple[Inflater, ...]:
    """Return the layers to undo, outermost first. Values that name no compression (`utf-8`, `none`) are ignored."""
    codings = [coding.strip().lower().removeprefix("x-") for coding in content_encoding.split(",")]
    for coding in codings:
        if coding in _NOT_OURS:
            raise CannotInflate(coding)
    return tuple(Inflater(coding) for coding in reversed(codings) if coding in _OURS)


def _has_zlib_header(chunk: bytes) -> bool:
    # RFC 1950: method 8 in the low bits, and the first two bytes as a number divisible by 31. One byte alone must do
    # with the first half of the test.
    return chunk[0] & 0x0F == 8 and (len(chunk) < 2 or int.from_bytes(chunk[:2], "big") % 31 == 0)


class BodyLimit(NamedTuple):
    """Size limit of a body; a larger one is an error, or is cut if `truncate` is set."""

    max_bytes: int
    truncate: bool = False

    def passed(self) -> FetchError:
        return FetchError(Trouble(Reason.TOO_LARGE, f"over {spell_size(self.max_bytes)}"))


def read_headers(arrived: Arrived) -> dict[str, str]:
    """Return headers with lower-case names; repeated ones are joined.

    Non-ASCII bytes are kept one for one, because their encoding is never declared. A header addressed to
    one robot (`X-Robots-Tag: otherbot: noindex`) ends with its line: other lines do not apply to that
    robot.
    """
    pieces = [piece for pair in arrived.headers for piece in pair]
    # All in one go, which takes half as long: no header has a line end in it.
    texts = b"\n".join(pieces).decode("latin-1").split("\n") if pieces else []
    if len(texts) != len(pieces):
        texts = [str(piece, "latin-1") for piece in pieces]
    names, values = texts[::2], texts[1::2]  # the names in lower case already
    headers = dict(zip(names, values, strict=True))
    if len(headers) < len(names):
        headers = {}
        for name, value in zip(names, values, strict=True):
            before = headers.get(name)
            seam = "\n" if name == "x-robots-tag" and before is not None and ":" in before else ", "
            headers[name] = value if before is None else f"{before}{seam}{value}"
    return headers


async def read_body(arrived: Arrived, headers: Mapping[str, str], limit: BodyLimit, sink: Sink | None = None) -> bytes:
    """The body, inflated; FetchError if it is too large, stops early or cannot be inflated.

    With a `sink` it goes there piece by piece, and nothing is left to return.
    """
    announced = arrived.content_length
    if announced is not None and announced > limit.max_bytes and not limit.truncate:
        await arrived.close()
        raise limit.passed()
    encoding = headers.get("content-encoding", "")
    if announced is not None and announced <= limit.max_bytes and not encoding and sink is None:
        # A length that is still known was not compressed, so no more than that can come: one hop between the client's
        # thread and ours instead of one per piece.
        return bytes(await arrived.bytes())
    try:
        layers = inflaters_for(encoding) if encoding else ()
        parts: list[bytes | memoryview] = []
        whole = await _collect(arrived, layers, limit, parts, sink)
        for layer in layers if whole else ():
            layer.finish()
    except CannotInflate as error:
        raise FetchError(Trouble(Reason.BAD_ENCODING, encoding[:40])) from error
    except EndsEarly as error:
        raise FetchError(Trouble(Reason.CUT_OFF)) from error
    return b"".join(parts)


async def _collect(
    arrived: Arrived, layers: tuple[Inflater, ...], limit: BodyLimit, parts: list[bytes | memoryview], sink: Sink | None
) -> bool:
    """Pass the pieces of the body on, or add them to `parts`; True if that was all of it."""
    room = limit.max_bytes
    async with arrived.stream() as stream:
        async for chunk in stream:
            if not isinstance(chunk, memoryview):
                continue  # trailers
            for piece in _inflate(chunk, layers) if layers else (chunk,):
                cut = len(piece) > room
                if cut and not limit.truncate:
                    raise limit.passed()
                wanted = piece[:room] if cut else piece
                room -= len(wanted)
                if sink is None:
                    parts.append(wanted)
                elif await sink(wanted):
                    return False
                if cut:
                    return False
    return True


def _inflate(chunk: memoryview, layers: tuple[Inflater, ...]) -> Iterable[bytes]:
    pieces: Iterable[bytes] = (bytes(chunk),)
    for layer in layers:
        pieces = _through(layer, pieces)
    return pieces


def _through(layer: Inflater, pieces: Iterable[bytes]) -> Iterable[bytes]:
    for piece in pieces:
        yield from layer.feed(piece)
