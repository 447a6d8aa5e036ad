"""Libraries that write whole files by themselves: in a thread that asks the event loop for the next lines."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import IO, TypeVar

from gossamer.recipes.base import Line, Lines

T = TypeVar("T")

CHUNK = 256 * 1024


class _Stopped(Exception):
    """The file is not needed any more."""


async def write_in_thread(write: Callable[[Iterator[list[Line]]], T], lines: Lines) -> T:
    """Call `write` in a thread with the batches. On cancellation, wait for it to stop at its next batch."""
    loop = asyncio.get_running_loop()
    stopped = False

    async def following() -> list[Line] | None:
        return await anext(lines, None)

    def batches() -> Iterator[list[Line]]:
        while not stopped:
            some = asyncio.run_coroutine_threadsafe(following(), loop).result()
            if some is None:
                return
            yield some
        raise _Stopped

    writing = asyncio.ensure_future(asyncio.to_thread(write, batches()))
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        stopped = True
        with suppress(Exception):
            await writing
        raise


async def chunks_of(file: IO[bytes]) -> AsyncIterator[bytes]:
    """Yield the written bytes from the beginning."""
    file.seek(0)
    while chunk := await asyncio.to_thread(file.read, CHUNK):
        yield chunk
