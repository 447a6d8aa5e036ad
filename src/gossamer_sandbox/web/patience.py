"""Clients that were refused already: the only state the sample web keeps between requests.

Some addresses refuse the first request and name a time to come back. The state is shared by the processes of one
server, because a second request may reach another of them.
"""

import mmap
from zlib import crc32

_SLOTS = 1 << 18
_EARLY = 0.05  # seconds: clocks are read in different places, and nobody is to be refused for that


class Patience:
    """Remembers until when an address is closed. Two addresses may share a slot; then the later one opens early."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SLOTS * 8)
        self._until = memoryview(self._memory).cast("d")

    def closed_until(self, address: str, seconds: float, now: float) -> float:
        """When the address will answer; 0 if it answers now. The first call closes it for so many seconds."""
        slot = crc32(address.encode()) % _SLOTS
        until = self._until[slot]
        if until == 0.0:
            until = self._until[slot] = now + seconds
            return until
        return until if now < until - _EARLY else 0.0
