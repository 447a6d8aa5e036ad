"""Files that only their owner may read and that appear whole or not at all. Everything here blocks."""

import os
import secrets
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from gossamer.blobs.seam import BadBlobKey
from gossamer.errors import UserError

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


UNFINISHED = ".*.part"  # no key can look like it, since none begins with a dot

_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_SECRET_LENGTH = 64
_SENT = 8 * 1024 * 1024  # bytes of a growing file that go to the disk together


class OnItsWay:
    """Writes a growing file to the disk in portions, while its writer continues.

    Otherwise all of it would be written at the end, while a caller waits for it and other writers to this
    disk are blocked.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._written = self._sent = 0

    def add(self, size: int) -> None:
        """So many bytes more were written."""
        self._written += size
        if self._written - self._sent >= _SENT and hasattr(os, "posix_fadvise"):
            self._file.flush()
            # What the system is told not to keep in memory it begins to write, without keeping us waiting.
            with suppress(OSError):  # a wish, not a need
                os.posix_fadvise(self._file.fileno(), self._sent, self._written - self._sent, os.POSIX_FADV_DONTNEED)
            self._sent = self._written


class PartFile:
    """A temporary file, written next to its target.

    The lock is for callers that were cancelled: their last write may still run in its thread when they abandon
    the file.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._path = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
        self._file: BinaryIO | None = None
        self._on_its_way: OnItsWay | None = None
        self._abandoned = False
        self._lock = Lock()

    def write(self, chunk: bytes) -> None:
        with self._lock:
            if not self._abandoned:
                self._opened().write(chunk)
                if self._on_its_way:
                    self._on_its_way.add(len(chunk))

    def finish(self) -> None:
        """Put the file in its place, safe on the disk."""
        with self._lock:
            if self._abandoned:
                return
            file = self._opened()
            file.flush()
            os.fsync(file.fileno())
            file.close()
            with self._obstacles_named():
                self._path.replace(self._target)
            sync_folder(self._target.parent)

    def abandon(self) -> None:
        """Leave nothing behind. A file that is already in its place stays there."""
        with self._lock:
            self._abandoned = True
            if self._file is not None:
                with suppress(OSError):  # a full disk may refuse the last buffered bytes, which are not needed any more
                    self._file.close()
                self._path.unlink(missing_ok=True)

    def _opened(self) -> BinaryIO:
        if self._file is None:
            with self._obstacles_named():
                make_folders(self._target.parent)
            self._file = create_private(self._path)
            self._on_its_way = OnItsWay(self._file)
        return self._file

    @contextmanager
    def _obstacles_named(self) -> Iterator[None]:
        try:
            yield
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise BadBlobKey(f"{self._target.name} is a folder, or a file is where its folder should be") from None


def make_secret(path: Path) -> bytes:
    """Return the secret in this file, created at the first call. Processes that start together agree on one."""
    with suppress(FileNotFoundError):
        return _read_secret(path)
    make_folders(path.parent)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with create_private(draft) as file:
            file.write(secrets.token_hex(_SECRET_LENGTH // 2).encode())
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(draft)  # unlike a rename, this fails if another process was faster
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)
    return _read_secret(path)


def _read_secret(path: Path) -> bytes:
    with open_private(path) as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            os.fchmod(file.fileno(), _PRIVATE_FILE)  # a restored backup may have opened it to others
        secret = file.read().strip()
    if len(secret) != _SECRET_LENGTH:
        raise UserError(
            "blobs.bad_secret",
            f"The secret in {path} is damaged.",
            hint="Delete the file to have a new one made; links given out before will no longer work.",
        )
    return secret


def open_private(path: Path) -> BinaryIO:
    """Open a private file; refuse a symbolic link in its place."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW)

    return open(path, "rb", buffering=CHUNK, opener=opener)


def create_private(path: Path) -> BinaryIO:
    """Create a file that other users cannot read at any moment."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, _PRIVATE_FILE)

    return open(path, "xb", opener=opener)


def make_folders(folder: Path) -> None:
    """Like mkdir -p, but private at every level it makes: `Path.mkdir` gives its mode to the last one only."""
    if folder.is_dir():
        return
    make_folders(folder.parent)
    folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a rename survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
