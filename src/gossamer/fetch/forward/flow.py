"""Bytes that pass the forward proxy: counted, and given up when none has moved for a while."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from gossamer.fetch.forward.ways import Way

_CHUNK = 65_536


class Flow:
    """One connection's traffic, in both directions."""

    def __init__(self, way: Way, idle: timedelta) -> None:
        self._way = way
        self._idle = idle.total_seconds()
        self._clock = asyncio.get_running_loop().time
        self._moved = self._clock()

    async def pour(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int | None = None) -> None:
        """From one end to the other, until it ends or `size` bytes have passed. Raises NoMore at the way's limit."""
        left = size
        while left is None or left > 0:
            chunk = await reader.read(_CHUNK if left is None else min(_CHUNK, left))
            if not chunk:
                return
            self._moved = self._clock()
            self._way.carry(len(chunk))
            left = None if left is None else left - len(chunk)
            writer.write(chunk)
            await writer.drain()

    async def rest(self) -> None:
        """Until nothing has moved for too long."""
        left = self._idle
        while left > 0:
            await asyncio.sleep(left)
            left = self._moved + self._idle - self._clock()


async def first_of(*ways: Coroutine[Any, Any, None]) -> None:
    """Until one of them has ended; the others are broken off. What it raises is raised."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
