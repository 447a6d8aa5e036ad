"""A file at a place people name is whole or not there, and what was there is treated with care."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.errors import UserError
from gossamer.exports.write import write_file


async def content(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks or (b"a,b\r\n", b"1,2\r\n"):
        yield chunk


async def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise RuntimeError("lost the database")

    with pytest.raises(RuntimeError):
        await write_file(tmp_path / "out.csv", broken())
    assert list(tmp_path.iterdir()) == []


async def test_a_large_file_is_on_its_way_to_the_disk_before_it_is_whole(tmp_path: Path) -> None:
    chunks = [bytes([number]) * 3_000_000 for number in range(10)]
    assert await write_file(tmp_path / "out.csv", content(*chunks)) == 30_000_000
    assert (tmp_path / "out.csv").read_bytes() == b"".join(chunks)


async def test_a_link_is_followed_and_a_file_keeps_its_mode(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.touch(0o600)
    link.symlink_to(target)
    size = await write_file(link, content())
    assert link.is_symlink()
    assert (target.stat().st_size, target.stat().st_mode & 0o777) == (size, 0o600)


async def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = asyncio.create_task(asyncio.to_thread(pipe.read_bytes))
    size = await asyncio.to_thread(asyncio.run, write_file(pipe, content()))
    assert len(await reading) == size
    assert pipe.is_fifo()


async def test_a_name_that_is_too_long_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Cannot write"):
        await write_file(tmp_path / ("x" * 300), content())


async def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no-such-folder") as refused:
        await write_file(tmp_path / "no-such-folder" / "out.csv", content())
    assert refused.value.code == "export.unwritable"
