"""From a response that has begun to its headers and body, never more of it than asked for.

The client inflates as it streams, in chunks of 4 KB, so the limit holds for what a page becomes and not for what it
weighed on the way: a bomb is put down after `max_bytes`, whatever its ratio.
"""

from collections.abc import Iterable, Mapping

from wreq import Response as Arrived

from gossamer.fetch.errors import FetchError, spell_size
from gossamer.fetch.inflate import CannotInflate, EndsEarly, Inflater, inflaters_for
from gossamer.model.trouble import Reason, Trouble


def read_headers(arrived: Arrived) -> dict[str, str]:
    """Lower-case names; repeated headers joined. Bytes beyond ASCII are kept one for one, as nobody declares them."""
    headers: dict[str, str] = {}
    for name, value in arrived.headers:
        key = str(name, "latin-1").lower()
        text = str(value, "latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


async def read_body(arrived: Arrived, headers: Mapping[str, str], max_bytes: int) -> bytes:
    """The whole body, inflated; FetchError if it is too large, stops early or cannot be inflated."""
    announced = arrived.content_length
    if announced is not None and announced > max_bytes:
        await arrived.close()
        raise _too_large(max_bytes)
    encoding = headers.get("content-encoding", "")
    try:
        layers = inflaters_for(encoding) if encoding else ()
        parts = await _collect(arrived, layers, max_bytes)
        for layer in layers:
            layer.finish()
    except CannotInflate as error:
        raise FetchError(Trouble(Reason.BAD_ENCODING, encoding[:40])) from error
    except EndsEarly as error:
        raise FetchError(Trouble(Reason.CUT_OFF)) from error
    return b"".join(parts)


async def _collect(arrived: Arrived, layers: tuple[Inflater, ...], max_bytes: int) -> list[bytes | memoryview]:
    size = 0
    parts: list[bytes | memoryview] = []
    async with arrived.stream() as stream:
        async for chunk in stream:
            if not isinstance(chunk, memoryview):
                continue  # trailers
            for piece in _inflate(chunk, layers) if layers else (chunk,):
                size += len(piece)
                if size > max_bytes:
                    raise _too_large(max_bytes)
                parts.append(piece)
    return parts


def _inflate(chunk: memoryview, layers: tuple[Inflater, ...]) -> Iterable[bytes]:
    pieces: Iterable[bytes] = (bytes(chunk),)
    for layer in layers:
        pieces = _through(layer, pieces)
    return pieces


def _through(layer: Inflater, pieces: Iterable[bytes]) -> Iterable[bytes]:
    for piece in pieces:
        yield from layer.feed(piece)


def _too_large(max_bytes: int) -> FetchError:
    return FetchError(Trouble(Reason.TOO_LARGE, f"over {spell_size(max_bytes)}"))
