"""The contract of blobs: whole or not at all, keys that cannot lead astray, links that expire."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta

import pytest

from gossamer.blobs.seam import BadBlobKey, Blobs, NoSuchBlob

LetPass = Callable[[timedelta], Awaitable[None]]
Follow = Callable[[str], Awaitable[bytes | None]]

LARGE = [bytes([number % 251]) * 70_001 for number in range(40)]

BAD_KEYS = (
    "",
    ".",
    "..",
    "/",
    "/etc/passwd",
    "a/",
    "a//b",
    "../a",
    "a/../b",
    "a/./b",
    "a/..",
    ".hidden",
    "a/.hidden",
    "a\\b",
    "a b",
    "a\x00b",
    "a\nb",
    "a\n",
    "a?b",
    "a#b",
    "%2e%2e/a",
    "~/a",
    "C:/a",
    "ä",
    "a" * 201,
    "a/" * 300 + "a",
)


async def read(blobs: Blobs, key: str) -> bytes:
    return b"".join([chunk async for chunk in blobs.open(key)])


class BlobsContract:
    """Fixtures: `blobs`, empty; `follow`, which fetches a link (None if refused); `let_pass`, for links to expire."""

    expires = timedelta(hours=1)  # set it lower where time is real

    async def test_what_was_put_comes_back(self, blobs: Blobs) -> None:
        blob = await blobs.put("exports/1.csv", [b"domain,", b"pages\n", b"", b"a.example,3\n"])
        assert await read(blobs, "exports/1.csv") == b"domain,pages\na.example,3\n"
        assert (blob.key, blob.size) == ("exports/1.csv", 25)
        assert blob.sha256 == hashlib.sha256(b"domain,pages\na.example,3\n").hexdigest()

    async def test_an_empty_file_is_a_file(self, blobs: Blobs) -> None:
        blob = await blobs.put("empty", [])
        assert blob.size == 0
        assert await read(blobs, "empty") == b""

    async def test_a_large_file_from_an_async_source_in_bounded_chunks(self, blobs: Blobs) -> None:
        async def source() -> AsyncIterator[bytes]:
            for chunk in LARGE:
                await asyncio.sleep(0)
                yield chunk

        whole = b"".join(LARGE)
        blob = await blobs.put("large.bin", source())
        assert (blob.size, blob.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())
        chunks = [chunk async for chunk in blobs.open("large.bin")]
        assert b"".join(chunks) == whole
        assert max(map(len, chunks)) < len(whole)

    async def test_putting_again_replaces(self, blobs: Blobs) -> None:
        await blobs.put("a", [b"a longer first version"])
        await blobs.put("a", [b"second"])
        assert await read(blobs, "a") == b"second"

    async def test_a_source_that_fails_leaves_what_was_there(self, blobs: Blobs) -> None:
        def failing() -> Iterator[bytes]:
            yield from LARGE
            raise RuntimeError("the source broke")

        await blobs.put("old", [b"as it was"])
        for key in ("old", "new"):
            with pytest.raises(RuntimeError, match="the source broke"):
                await blobs.put(key, failing())
        assert await read(blobs, "old") == b"as it was"
        with pytest.raises(NoSuchBlob):
            await read(blobs, "new")

    async def test_a_writer_that_is_cancelled_leaves_what_was_there(self, blobs: Blobs) -> None:
        started = asyncio.Event()

        async def endless() -> AsyncIterator[bytes]:
            while True:
                for chunk in LARGE:
                    yield chunk
                started.set()
                await asyncio.sleep(0.001)

        await blobs.put("old", [b"as it was"])
        writing = asyncio.ensure_future(blobs.put("old", endless()))
        await started.wait()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert await read(blobs, "old") == b"as it was"

    async def test_writers_of_one_key_do_not_mix(self, blobs: Blobs) -> None:
        versions = [[bytes([number]) * 60_000] * 10 for number in range(8)]
        await asyncio.gather(*(blobs.put("contested", version) for version in versions))
        assert await read(blobs, "contested") in [b"".join(version) for version in versions]

    async def test_a_reader_sees_one_version_to_its_end(self, blobs: Blobs) -> None:
        await blobs.put("a", LARGE)
        reading = blobs.open("a")
        seen = await anext(reading)
        await blobs.put("a", [b"new"])
        async for chunk in reading:
            seen += chunk
        assert seen == b"".join(LARGE)

    async def test_deleting_may_repeat(self, blobs: Blobs) -> None:
        await blobs.put("x/a", [b"1"])
        await blobs.delete("x/a")
        await blobs.delete("x/a")
        await blobs.delete("never/was")
        with pytest.raises(NoSuchBlob):
            await read(blobs, "x/a")

    @pytest.mark.parametrize("key", BAD_KEYS)
    async def test_bad_keys_are_refused_everywhere(self, blobs: Blobs, key: str) -> None:
        with pytest.raises(BadBlobKey):
            await blobs.put(key, [b"x"])
        with pytest.raises(BadBlobKey):
            await read(blobs, key)
        with pytest.raises(BadBlobKey):
            await blobs.delete(key)
        with pytest.raises(BadBlobKey):
            await blobs.link(key, self.expires)

    async def test_a_link_leads_to_its_file_until_it_expires(
        self, blobs: Blobs, follow: Follow, let_pass: LetPass
    ) -> None:
        await blobs.put("exports/1.csv", [b"one"])
        await blobs.put("exports/2.csv", [b"two"])
        link = await blobs.link("exports/1.csv", self.expires)
        assert await follow(link) == b"one"
        assert await follow(link.replace("1.csv", "2.csv")) is None
        await let_pass(self.expires * 1.1)
        assert await follow(link) is None
