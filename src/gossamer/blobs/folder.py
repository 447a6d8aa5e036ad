"""Files in a folder of the home: private, renamed into place when complete, fetched by links that expire."""

import asyncio
import hashlib
import hmac
import math
import os
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from gossamer.blobs.atomic_files import CHUNK, UNFINISHED, PartFile, in_chunks, make_folders, open_private, sync_folder
from gossamer.blobs.seam import BadBlobKey, Blob, NoSuchBlob, checked_key
from gossamer.clock import Clock

SERVED = "/v1/files/"  # where a server of the home serves them to holders of a link
_LINK = re.compile(SERVED + r"(?P<key>[^?#]*)\?expires=(?P<expires>[0-9]{1,12})&signature=[0-9a-f]{64}")


class FolderBlobs:
    """Files under `root`. Several processes may share it, if they share the secret."""

    def __init__(self, root: Path, secret: bytes, clock: Clock) -> None:
        self._root = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would follow links the operator chose
        self._secret = secret
        self._clock = clock

    async def put(self, key: str, chunks: AsyncIterator[bytes] | Iterable[bytes]) -> Blob:
        part = PartFile(self._path(key))
        digest = hashlib.sha256()
        size = 0

        def add(chunk: bytes) -> None:
            part.write(chunk)
            digest.update(chunk)

        try:
            async for chunk in in_chunks(chunks):
                await asyncio.to_thread(add, chunk)
                size += len(chunk)
            await asyncio.to_thread(part.finish)
        except BaseException:
            # Also when cancelled, and then the clean-up itself shall not be.
            await asyncio.shield(asyncio.to_thread(part.abandon))
            raise
        return Blob(key, size, digest.hexdigest())

    async def open(self, key: str) -> AsyncIterator[bytes]:
        path = self._path(key)
        try:
            file = await asyncio.to_thread(open_private, path)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise NoSuchBlob(f"There is no file {key}.") from None
        try:
            while chunk := await asyncio.to_thread(file.read, CHUNK):
                yield chunk
        finally:
            # Buffered files lock themselves, so a read still under way in its thread ends before this closes.
            await asyncio.shield(asyncio.to_thread(file.close))

    async def delete(self, key: str) -> None:
        await asyncio.to_thread(_delete, self._path(key))

    async def link(self, key: str, expires: timedelta) -> str:
        """Return a signed link without the server's address, which only the server or its operator has."""
        return self._signed(checked_key(key), int((self._clock.now() + expires).timestamp()))

    def workroom(self) -> Path:
        """Return a folder for incomplete files. The remains of a crashed process are removed with the other files."""
        make_folders(self._root)
        return self._root

    def path(self, key: str) -> Path:
        """Return the path of the file, for users of this machine, who may read it anyway."""
        return self._path(key)

    def verify(self, link: str, now: datetime) -> str | None:
        """Return the key that one of our links leads to; None if the link is not ours, was changed or has expired."""
        parts = _LINK.fullmatch(link)
        if parts is None:
            return None
        try:
            key = checked_key(parts["key"])
        except BadBlobKey:
            return None
        expected = self._signed(key, int(parts["expires"]))
        genuine = hmac.compare_digest(link.encode("utf-8", "backslashreplace"), expected.encode())
        return key if genuine and now.timestamp() < int(parts["expires"]) else None

    async def remove_unfinished(self, older_than: timedelta) -> int:
        """Remove old incomplete files of crashed writers; returns how many. Younger ones may still be in use."""
        before = (self._clock.now() - older_than).timestamp()
        return await asyncio.to_thread(_remove_unfinished, self._root, before)

    async def remove_old(self, older_than: timedelta, under: str = "") -> int:
        """Remove files that are older, and folders that are then empty; returns how many files."""
        before = (self._clock.now() - older_than).timestamp()
        return await asyncio.to_thread(_remove_old, self._path(under) if under else self._root, before)

    async def remove_under(self, under: str) -> int:
        """Remove all files whose keys begin with these segments; returns how many."""
        return await asyncio.to_thread(_remove_old, self._path(under), math.inf)

    def _path(self, key: str) -> Path:
        return self._root / checked_key(key)

    def _signed(self, key: str, expires: int) -> str:
        signature = hmac.new(self._secret, f"{key}\n{expires}".encode(), hashlib.sha256).hexdigest()
        return f"{SERVED}{key}?expires={expires}&signature={signature}"


def _delete(path: Path) -> None:
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        path.unlink()
        sync_folder(path.parent)


def _remove_unfinished(root: Path, before: float) -> int:
    removed = 0
    for path in root.rglob(UNFINISHED):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    return removed


def _remove_old(root: Path, before: float) -> int:
    removed = 0
    # Deepest first, so that a folder is looked at after what was in it.
    for path in sorted(root.rglob("*"), reverse=True):
        with suppress(OSError):  # not empty, or another process was faster
            if path.is_dir():
                if path.stat().st_mtime < before:
                    path.rmdir()
            elif path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    return removed
