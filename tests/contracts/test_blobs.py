"""The folder of blobs keeps the contract, keeps to itself, and cleans up after those who died."""

import asyncio
import itertools
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.blobs import BadBlobKey, Blobs
from gossamer.blobs.atomic_files import CHUNK, in_chunks, make_secret
from gossamer.blobs.folder import SERVED, FolderBlobs
from gossamer.clock import FrozenClock, SystemClock
from gossamer.errors import UserError
from tests.contracts.blobs import BlobsContract, Follow, LetPass, read

HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "home folder" / "blobs"


@pytest.fixture
def folder(root: Path, clock: FrozenClock) -> FolderBlobs:
    return FolderBlobs(root, b"s" * 64, clock)


class TestFolderBlobs(BlobsContract):
    @pytest.fixture
    def blobs(self, folder: FolderBlobs) -> Blobs:
        return folder

    @pytest.fixture
    def follow(self, folder: FolderBlobs, clock: FrozenClock) -> Follow:
        async def fetch(link: str) -> bytes | None:
            key = folder.verify(link, clock.now())
            return None if key is None else await read(folder, key)

        return fetch

    @pytest.fixture
    def let_pass(self, clock: FrozenClock) -> LetPass:
        async def advance(time: timedelta) -> None:
            clock.advance(time.total_seconds())

        return advance


def modes(root: Path) -> set[tuple[bool, int]]:
    return {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in [root, root.parent, *root.rglob("*")]}


async def test_nobody_else_may_look(folder: FolderBlobs, root: Path) -> None:
    before = os.umask(0)
    try:
        await folder.put("exports/2026/1.csv", [b"x"])
    finally:
        os.umask(before)
    assert modes(root) == {(True, 0o700), (False, 0o600)}


async def test_a_failed_or_cancelled_writer_leaves_no_file_behind(folder: FolderBlobs, root: Path) -> None:
    def failing() -> Iterator[bytes]:
        yield b"x" * CHUNK
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError):
        await folder.put("exports/1", failing())
    for ticks in range(12):
        writing = asyncio.ensure_future(folder.put("exports/1", itertools.repeat(b"x" * CHUNK)))
        for _ in range(ticks):
            await asyncio.sleep(0.0005)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
    assert [path.name for path in root.rglob("*") if path.is_file()] == []


async def test_a_key_cannot_be_a_file_and_a_folder(folder: FolderBlobs, root: Path) -> None:
    await folder.put("a/b", [b"x"])
    await folder.put("c", [b"x"])
    with pytest.raises(BadBlobKey):
        await folder.put("a", [b"y"])
    with pytest.raises(BadBlobKey):
        await folder.put("c/d", [b"y"])
    await folder.delete("a")
    assert sorted(path.name for path in root.rglob("*") if path.is_file()) == ["b", "c"]


async def test_a_symbolic_link_in_the_folder_is_not_followed(folder: FolderBlobs, root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not yours")
    await folder.put("a", [b"x"])
    (root / "b").symlink_to(secret)
    with pytest.raises(OSError, match="symbolic link"):
        await read(folder, "b")
    await folder.put("b", [b"mine"])
    assert secret.read_text() == "not yours"


async def test_a_link_is_bound_to_everything_in_it(folder: FolderBlobs, root: Path, clock: FrozenClock) -> None:
    link = await folder.link("exports/1.csv", HOUR)
    assert link.startswith(f"{SERVED}exports/1.csv?")
    assert folder.verify(link, clock.now()) == "exports/1.csv"
    expires = link.partition("expires=")[2].partition("&")[0]
    forged = [
        link.replace(f"expires={expires}", f"expires={int(expires) + 1}"),
        link.replace(f"expires={expires}", f"expires=0{expires}"),
        link[:-1] + ("0" if link[-1] != "0" else "1"),
        link + "&x=1",
        link + "\n",
        link.replace("exports", "exports/../exports"),
        link.replace("exports/1.csv", "exports/%31.csv"),
        link.replace("exports/1.csv", "../etc/1.csv"),
        link.replace(SERVED, "/v1/other/"),
        f"http://example.com{link}",
        link.replace("1.csv", "\ud800.csv"),
        "",
        f"{SERVED}?expires=1&signature=" + "0" * 64,
    ]
    assert [folder.verify(other, clock.now()) for other in forged] == [None] * len(forged)
    assert FolderBlobs(root, b"t" * 64, clock).verify(link, clock.now()) is None
    assert FolderBlobs(root, b"s" * 64, clock).verify(link, clock.now()) == "exports/1.csv"


@given(link=st.text() | st.from_regex(r"/v1/files/[^\n]*\?expires=[0-9]+&signature=[0-9a-f]{64}"))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_passes_for_a_link(folder: FolderBlobs, clock: FrozenClock, link: str) -> None:
    assert folder.verify(link, clock.now()) is None


async def test_only_old_leftovers_are_removed(root: Path) -> None:
    folder = FolderBlobs(root, b"s" * 64, SystemClock())
    await folder.put("exports/1.part", [b"kept"])
    old, young = root / "exports" / ".2.abc.part", root / "exports" / ".3.abc.part"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    os.utime(root / "exports" / "1.part", (time.time() - 7200,) * 2)
    assert await folder.remove_unfinished(HOUR) == 1
    assert sorted(path.name for path in (root / "exports").iterdir()) == [".3.abc.part", "1.part"]


KILLED = """
import asyncio, sys
from pathlib import Path
from gossamer.blobs.folder import SERVED, FolderBlobs
from gossamer.clock import SystemClock

def endless():
    while True:
        yield b"n" * 100_000
        print("writing", flush=True)

asyncio.run(FolderBlobs(Path(sys.argv[1]), b"s" * 64, SystemClock()).put("a", endless()))
"""


async def test_a_killed_writer_leaves_the_old_file(root: Path) -> None:
    folder = FolderBlobs(root, b"s" * 64, SystemClock())
    await folder.put("a", [b"as it was"])
    with subprocess.Popen([sys.executable, "-c", KILLED, str(root)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        for _ in range(20):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    assert await read(folder, "a") == b"as it was"
    assert len(list(root.rglob(".*.part"))) == 1
    assert await folder.remove_unfinished(timedelta(seconds=-5)) == 1


def test_processes_that_start_together_agree_on_the_secret(tmp_path: Path) -> None:
    path = tmp_path / "home" / "secret"
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        secrets = set(pool.map(make_secret, [path] * 16))
    assert secrets == {path.read_bytes()}
    assert len(path.read_bytes()) == 64
    assert modes(path.parent) >= {(True, 0o700), (False, 0o600)}
    assert [entry.name for entry in path.parent.iterdir()] == ["secret"]


def test_a_secret_that_others_could_read_is_closed_again(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    secret = make_secret(path)
    path.chmod(0o644)
    assert make_secret(path) == secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", [b"", b"short"])
def test_a_damaged_secret_is_not_used(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "secret"
    path.write_bytes(damage)
    with pytest.raises(UserError, match=r"damaged\..*Delete"):
        make_secret(path)


@given(sizes=st.lists(st.sampled_from([0, 1, 7, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5]), max_size=8))
@settings(max_examples=30, deadline=None)
def test_pieces_are_of_one_size_and_nothing_is_lost(sizes: list[int]) -> None:
    given_chunks = [bytes([number]) * size for number, size in enumerate(sizes)]

    async def pieces() -> list[bytes]:
        return [piece async for piece in in_chunks(given_chunks)]

    found = asyncio.run(pieces())
    assert b"".join(found) == b"".join(given_chunks)
    assert all(len(piece) == CHUNK for piece in found[:-1])
    assert all(piece for piece in found)


async def test_a_single_bytes_object_is_one_chunk(folder: FolderBlobs) -> None:
    await folder.put("a", b"not numbers")  # type: ignore[arg-type]
    assert await read(folder, "a") == b"not numbers"


async def test_writing_does_not_stop_the_loop(folder: FolderBlobs) -> None:
    """While megabytes are written, other tasks get their turn between the pieces."""
    turns = 0

    async def source() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * CHUNK

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(other())
    await folder.put("a", source())
    counting.cancel()
    assert turns >= 20
