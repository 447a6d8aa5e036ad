"""Giving memory back to the system while a worker works.

What a page takes comes and goes in pieces of every size, beside a few that stay. What is free between those the
system's allocator keeps for itself, more of it with every thousand sites, unless it is asked for it.
"""

import asyncio
import ctypes
from collections.abc import Callable

_EVERY = 15.0  # seconds; looking for it takes some milliseconds


async def give_back_memory() -> None:
    """For as long as it is not cancelled."""
    give = _trim()
    while give:
        await asyncio.sleep(_EVERY)
        give()


def _trim() -> Callable[[], object] | None:
    """Only GNU's allocator can be asked, and others have less to give."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    trim.argtypes = [ctypes.c_size_t]
    return lambda: trim(0)
