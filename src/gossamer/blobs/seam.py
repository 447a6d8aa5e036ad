"""At the end of the path: files people fetch (exports, screenshots), written whole or not at all."""

import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from gossamer.errors import GossamerError

MAX_KEY = 500

# Keys are made by the program. A narrow alphabet is the same on every disk and in every object store, needs no quoting
# in links and leaves no way out of a folder: no segment begins with a dot.
_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.+=@-]{0,199}(?:/[A-Za-z0-9_-][A-Za-z0-9_.+=@-]{0,199})*")


class NoSuchBlob(GossamerError):
    """Nothing is stored under this key."""


class BadBlobKey(GossamerError, ValueError):
    """A key that is not letters, digits and ``_ - . + = @`` in segments divided by ``/``."""


class BlobsAway(GossamerError):
    """The storage does not answer, or does not let us in. It may be otherwise later."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A stored file."""

    key: str
    size: int
    sha256: str


class Blobs(Protocol):
    """Files by key. A reader sees an old or a new file, never a part of one.

    Bad keys raise `BadBlobKey`. So may a key that is a path prefix of another (`a` and `a/b`), since a folder
    cannot hold both.
    """

    async def put(self, key: str, chunks: AsyncIterator[bytes] | Iterable[bytes]) -> Blob:
        """Store everything the chunks hold, replacing what the key held before.

        Atomic: if the chunks or the writing fail, or the writer dies or is cancelled, the key holds what it held (or
        all of the new, if that came too late). What `put` has returned survives a crash of the machine. May repeat.
        """
        ...

    def open(self, key: str) -> AsyncIterator[bytes]:
        """The file in chunks of bounded size; `NoSuchBlob` at the first one if there is none.

        A file that is replaced or deleted meanwhile is read to its end as it was.
        """
        ...

    async def delete(self, key: str) -> None:
        """Remove it. Nothing happens if there is none. May repeat."""
        ...

    async def link(self, key: str, expires: timedelta) -> str:
        """An address that fetches the file until `expires` from now. Does not look whether there is one."""
        ...


def checked_key(key: str) -> str:
    """The key itself, or `BadBlobKey`."""
    if len(key) > MAX_KEY or not _KEY.fullmatch(key):
        raise BadBlobKey(f"Not a key for a file: {key[:80]!r}")
    return key
