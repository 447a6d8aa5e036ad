"""From a response that has begun to its headers and body, never more of it than asked for.

A plain body of known length is taken whole. Others come in pieces: the client inflates as it streams, in chunks of
4 KB, so the limit holds for what a page becomes and not for what it weighed on the way. A bomb is put down after
`max_bytes`, whatever its ratio.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from wreq import Response as Arrived

from gossamer.fetch.errors import FetchError, spell_size
from gossamer.fetch.inflate import CannotInflate, EndsEarly, Inflater, inflaters_for
from gossamer.fetch.rung import Sink
from gossamer.model.trouble import Reason, Trouble


class BodyLimit(NamedTuple):
    """How much of a body is wanted, and whether more than that is an error or simply left."""

    max_bytes: int
    truncate: bool = False

    def passed(self) -> FetchError:
        return FetchError(Trouble(Reason.TOO_LARGE, f"over {spell_size(self.max_bytes)}"))


def read_headers(arrived: Arrived) -> dict[str, str]:
    """Lower-case names; repeated headers joined. Bytes beyond ASCII are kept one for one, as nobody declares them.

    One that speaks to a robot by name (`X-Robots-Tag: otherbot: noindex`) ends with its line: what other lines say is
    not said to that robot.
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
    """Hand on the pieces of the body, or add them to `parts`; whether that was all of it."""
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
