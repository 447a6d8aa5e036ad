"""On the way into a file: from chunks of any size to pieces worth one write each."""

from collections.abc import AsyncIterator, Iterable

CHUNK = 256 * 1024


async def in_chunks(chunks: AsyncIterator[bytes] | Iterable[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in pieces of `CHUNK`, only the last one shorter.

    A writer of rows yields hundreds of bytes at a time, and a hop to a thread for each would cost more than the
    writing; a screenshot arrives in one piece of megabytes, which would occupy a thread for long.
    """
    gathered = bytearray()
    async for chunk in _each(chunks):
        gathered += chunk
        while len(gathered) >= CHUNK:
            with memoryview(gathered) as view:
                piece = bytes(view[:CHUNK])
            yield piece
            del gathered[:CHUNK]
    if gathered:
        yield bytes(gathered)


async def _each(chunks: AsyncIterator[bytes] | Iterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(chunks, (bytes, bytearray, memoryview)):
        yield bytes(chunks)  # these are iterables too, but of numbers
    elif isinstance(chunks, AsyncIterator):
        async for chunk in chunks:
            yield chunk
    else:
        for chunk in chunks:
            yield chunk
