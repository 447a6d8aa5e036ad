"""Memory of a worker: kept from one page to the next, given back to the system now and then.

What a page takes comes and goes in pieces of every size, beside a few that stay. Left to itself the system's allocator
gives the last of it back after nearly every page, only to ask for it again for the next: a few per cent of all work.
What is free between the pieces that stay it keeps for itself, more of it with every thousand sites, unless it is asked.
"""

import asyncio
import ctypes
import os
from collections.abc import Callable

_EVERY = 15.0  # seconds; looking for it takes some milliseconds
# Bytes that may be free at the end: more than most pages take. With more of it the memory of long jobs grows.
_KEPT = 8 * 1024 * 1024
_LARGE = 4 * 1024 * 1024  # what is larger than this goes back as soon as it is free
# What these are called in GNU's malloc.h, and by whom an operator says otherwise.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_TOLD = ("GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_ARENA_MAX")


def keep_memory() -> None:
    """From now on what one page has given up is there for the next. Only GNU's allocator can be told.

    Before there is any other thread. Each would have a share of its own, and what is free at the end of that is kept
    for good: only the first thread's is given back with the rest. Most of the work is that of one thread anyway.
    """
    if any(name in os.environ for name in _TOLD):
        return
    try:
        tell = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    tell.argtypes = [ctypes.c_int, ctypes.c_int]
    tell(_ARENA_MAX, 1)
    tell(_TRIM_THRESHOLD, _KEPT)
    tell(_MMAP_THRESHOLD, _LARGE)


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
