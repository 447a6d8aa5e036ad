"""Memory of a worker: kept from one page to the next, returned to the system now and then.

The memory of a page is allocated and freed in pieces of every size, between a few that stay. By default the
system's allocator returns the last of it after nearly every page and requests it again for the next: a few
per cent of all work. Free memory between the pieces that stay is kept, and grows with every thousand sites,
unless it is released explicitly.
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
    """Keep memory freed by one page for the next. Works only with GNU's allocator.

    Call this before any other thread exists. Each thread would have an arena of its own, and free memory at its
    end is kept for good: only the first thread's is returned with the rest. One thread does most of the work
    anyway.
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
    """Return free memory to the system now and then, until cancelled."""
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
