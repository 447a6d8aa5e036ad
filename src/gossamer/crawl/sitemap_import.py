"""From the files of a sitemap to the pages they list: for doors that want them before there is a job.

Files are read in a child process, `python -m gossamer.crawl.sitemap_import`: one can be made to take very
long, and what takes long must neither keep others waiting nor last for ever.
"""

import asyncio
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

import orjson

from gossamer.crawl.extraction import bare_environment
from gossamer.model.url import domain_of, normalise, site_of_url
from gossamer.parse.sitemap import SitemapReader

_LONGEST = 2_000  # characters of an address
_PIECE = 65_536
_SIZE = 8  # bytes that say how long what follows is


@dataclass(frozen=True, slots=True)
class Room:
    """Remaining capacity for a sitemap: pages to take, files to read and entries to parse."""

    pages: int
    files: int
    entries: int


@dataclass(frozen=True, slots=True)
class Found:
    """Pages and files of its own domain that a file lists; `entries` is the number of entries parsed."""

    pages: list[str]
    files: list[str]
    entries: int


def read_listing(body: bytes, domain: str, room: Room) -> Found:
    """Return the pages and files of this domain in one sitemap, gzipped or not; empty if it is not a sitemap."""
    reader = SitemapReader()
    pages: dict[str, None] = {}
    files: dict[str, None] = {}
    entries = 0
    for start in range(0, len(body) + _PIECE, _PIECE):
        for entry in reader.feed(body[start : start + _PIECE]) if start < len(body) else reader.finish():
            if entries >= room.entries or len(pages) >= room.pages:
                return Found(list(pages), list(files), entries)
            entries += 1
            url = normalise(entry.url) if len(entry.url) <= _LONGEST else None
            if not url or domain_named_by(url) != domain:
                continue
            if not entry.is_index:
                pages[url] = None
            elif len(files) < room.files:
                files[url] = None
    return Found(list(pages), list(files), entries)


def domain_named_by(url: str) -> str:
    return domain_of(site_of_url(normalise(url) or url))


class Listed:
    """The pages of a sitemap and of those it names: each once, of its own domain only, and not too many."""

    def __init__(self, address: str, most_pages: int, most_files: int, most_entries: int) -> None:
        self.domain = domain_named_by(address)
        self._most_pages = most_pages
        self._most_files = most_files
        self._entries = most_entries
        self._files = {address}
        self._pages: dict[str, None] = {}

    @property
    def urls(self) -> list[str]:
        return list(self._pages)[: self._most_pages]

    def is_full(self) -> bool:
        """Return True if enough pages were found, or the limit of entries is reached."""
        return len(self._pages) >= self._most_pages or self._entries <= 0

    @property
    def room(self) -> Room:
        return Room(self._most_pages, self._most_files, self._entries)

    def add(self, found: Found) -> list[str]:
        """Take the pages; the files that are named and were not read yet."""
        self._entries -= found.entries
        self._pages |= dict.fromkeys(found.pages)
        fresh = [url for url in found.files if url not in self._files][: self._most_files - len(self._files)]
        self._files.update(fresh)
        return fresh


class ListingReaders:
    """Child processes that read files of sitemaps. One that takes too long over a file is ended, and another made."""

    def __init__(self, seconds: float = 10.0) -> None:
        """`seconds` are what one file may take."""
        self._seconds = seconds
        self._idle: list[asyncio.subprocess.Process] = []
        self._all: set[asyncio.subprocess.Process] = set()

    async def listed_in(self, body: bytes, domain: str, room: Room) -> Found | None:
        """Return the contents of a sitemap file; None if none could be read in time."""
        child = self._idle.pop() if self._idle else await self._start()
        try:
            async with asyncio.timeout(self._seconds):
                found = await _ask(child, body, domain, room)
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            return None
        else:
            self._idle.append(child)
            return found
        finally:
            if child not in self._idle:
                await self._end(child)

    async def close(self) -> None:
        self._idle.clear()
        for child in list(self._all):
            await self._end(child)

    async def _start(self) -> asyncio.subprocess.Process:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", __name__),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=bare_environment(),
        )
        self._all.add(child)
        await _listen(child)  # it has begun: what that takes is not the file's fault
        return child

    async def _end(self, child: asyncio.subprocess.Process) -> None:
        self._all.discard(child)
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


async def _ask(child: asyncio.subprocess.Process, body: bytes, domain: str, room: Room) -> Found:
    pipe = child.stdin
    assert pipe is not None  # noqa: S101 - it was started with one
    asked = orjson.dumps({"domain": domain, "room": room})
    pipe.write(_sized(asked) + len(body).to_bytes(_SIZE))
    for start in range(0, len(body), _PIECE):
        pipe.write(body[start : start + _PIECE])
        await pipe.drain()
    return Found(**orjson.loads(await _listen(child)))


async def _listen(child: asyncio.subprocess.Process) -> bytes:
    pipe = child.stdout
    assert pipe is not None  # noqa: S101 - it was started with one
    return await pipe.readexactly(int.from_bytes(await pipe.readexactly(_SIZE)))


def _sized(text: bytes) -> bytes:
    return len(text).to_bytes(_SIZE) + text


def _take(pipe: IO[bytes]) -> bytes:
    return pipe.read(int.from_bytes(pipe.read(_SIZE)))


def main() -> None:
    """Read what comes until nothing comes any more, which is when our parent has ended."""
    os.nice(10)
    asking, answering = sys.stdin.buffer, sys.stdout.buffer
    answering.write(_sized(b""))
    answering.flush()
    while asked := _take(asking):
        said = orjson.loads(asked)
        found = read_listing(_take(asking), said["domain"], Room(**said["room"]))
        answering.write(_sized(orjson.dumps(found)))
        answering.flush()


if __name__ == "__main__":
    main()
