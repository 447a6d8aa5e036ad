"""A file at a place people name: streamed, and whole or not there at all."""

import os
import shlex
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from gossamer.blobs.atomic_files import OnItsWay
from gossamer.errors import UserError


async def write_file(path: Path, chunks: AsyncIterator[bytes]) -> int:
    """Write to a temporary file next to the target and rename it: a reader never sees half a file.

    Returns the size in bytes. A link is followed. A target that is not a plain file (a pipe, a device) is
    written to directly, never replaced.
    """
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():
            with path.open("wb") as place:
                return await write_stream(place, chunks)
        return await _write_whole(path, chunks)
    except OSError as error:
        # Not by asking the path itself: a name that is too long cannot even be asked for.
        if isinstance(error, FileNotFoundError) and not path.parent.exists():
            raise UserError(
                "export.unwritable",
                f"The folder {path.parent} does not exist.",
                hint=f"Make it with 'mkdir -p {shlex.quote(str(path.parent))}', or choose another place.",
            ) from error
        if isinstance(error, IsADirectoryError):
            raise UserError(
                "export.unwritable", f"{path} is a folder.", hint="Give the name of a file in it, such as results.csv."
            ) from error
        raise UserError(
            "export.unwritable",
            f"Cannot write {path}: {error.strerror or error}.",
            hint="Choose another place with --output.",
        ) from error


async def _write_whole(path: Path, chunks: AsyncIterator[bytes]) -> int:
    partial = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            if path.exists():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            size = await write_stream(file, chunks, is_file=True)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink()
    return size


async def write_stream(file: BinaryIO, chunks: AsyncIterator[bytes], *, is_file: bool = False) -> int:
    """Write all chunks; how many bytes that was."""
    size, on_its_way = 0, OnItsWay(file) if is_file else None
    async for chunk in chunks:
        file.write(chunk)
        size += len(chunk)
        if on_its_way:
            on_its_way.add(len(chunk))
    return size
