"""Locks that allow one request at a time per domain, in addition to the Gate, which spaces their starts."""

import asyncio
from weakref import WeakValueDictionary


class Turnstile:
    """One request at a time per domain in this process.

    The Gate spaces the moments at which requests begin; if a first one is slow to connect, a second could catch up
    with it. Waiting for the one before keeps the gap that the site sees.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, domain: str) -> asyncio.Lock:
        lock = self._locks.get(domain)
        if lock is None:
            lock = self._locks[domain] = asyncio.Lock()
        return lock
