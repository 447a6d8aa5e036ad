"""Pages listed in a sitemap, for API requests that need them before a job exists.

Files are parsed in child processes, `python -m gossamer.crawl.sitemap_import`, with a time limit: a file can be made
to take very long.
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
_SIZE = 8  # bytes of the length before each message


@dataclass(frozen=True, slots=True)
class SitemapLimits:
    """Remaining capacity for a sitemap: pages to take, files to read and entries to parse."""

    pages: int
    files: int
    entries: int


@dataclass(frozen=True, slots=True)
class SitemapContents:
    """Pages and files of its own domain that a file lists; `entries` is the number of entries parsed."""

    pages: list[str]
    files: list[str]
    entries: int


def read_listing(body: bytes, domain: str, room: SitemapLimits) -> SitemapContents:
    """Return the pages and files of this domain in one sitemap, gzipped or not; empty if it is not a sitemap."""
    reader = SitemapReader()
    pages: dict[str, None] = {}
    files: dict[str, None] = {}
    entries = 0
    for start in range(0, len(body) + _PIECE, _PIECE):
        for entry in reader.feed(body[start : start + _PIECE]) if start < len(body) else reader.finish():
            if entries >= room.entries or len(pages) >= room.pages:
                return SitemapContents(list(pages), list(files), entries)
            entries += 1
            url = normalise(entry.url) if len(entry.url) <= _LONGEST else None
            if not url or domain_named_by(url) != domain:
                continue
            if not entry.is_index:
                pages[url] = None
            elif len(files) < room.files:
                files[url] = None
    return SitemapContents(list(pages), list(files), entries)


def domain_named_by(url: str) -> str:
    return domain_of(site_of_url(normalise(url) or url))


class SitemapPages:
    """Distinct pages of a sitemap and of the sitemaps it names, of its own domain only, up to a limit."""

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
    def room(self) -> SitemapLimits:
        return SitemapLimits(self._most_pages, self._most_files, self._entries)

    def add(self, found: SitemapContents) -> list[str]:
        """Add the contents of a file; return the files it names that were not read yet."""
        self._entries -= found.entries
        self._pages |= dict.fromkeys(found.pages)
        fresh = [url for url in found.files if url not in self._files][: self._most_files - len(self._files)]
        self._files.update(fresh)
        return fresh


class ListingReaders:
    """Child processes that parse sitemap files. One that takes too long is killed and replaced."""

    def __init__(self, seconds: float = 10.0) -> None:
        """`seconds` is the time limit for one file."""
        self._seconds = seconds
        self._idle: list[asyncio.subprocess.Process] = []
        self._all: set[asyncio.subprocess.Process] = set()

    async def listed_in(self, body: bytes, domain: str, room: SitemapLimits) -> SitemapContents | None:
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
        await _listen(child)  # wait until it has started, so that the start does not count for the file
        return child

    async def _end(self, child: asyncio.subprocess.Process) -> None:
        self._all.discard(child)
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


async def _ask(child: asyncio.subprocess.Process, body: bytes, domain: str, room: SitemapLimits) -> SitemapContents:
    pipe = child.stdin
    assert pipe is not None  # noqa: S101 - it was started with one
    question = orjson.dumps({"domain": domain, "room": room})
    pipe.write(_sized(question) + len(body).to_bytes(_SIZE))
    for start in range(0, len(body), _PIECE):
        pipe.write(body[start : start + _PIECE])
        await pipe.drain()
    return SitemapContents(**orjson.loads(await _listen(child)))


async def _listen(child: asyncio.subprocess.Process) -> bytes:
    pipe = child.stdout
    assert pipe is not None  # noqa: S101 - it was started with one
    return await pipe.readexactly(int.from_bytes(await pipe.readexactly(_SIZE)))


def _sized(text: bytes) -> bytes:
    return len(text).to_bytes(_SIZE) + text


def _take(pipe: IO[bytes]) -> bytes:
    return pipe.read(int.from_bytes(pipe.read(_SIZE)))


def main() -> None:
    """Answer requests until the input ends, which is when the parent has ended."""
    os.nice(10)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sink.write(_sized(b""))
    sink.flush()
    while question := _take(source):
        fields = orjson.loads(question)
        found = read_listing(_take(source), fields["domain"], SitemapLimits(**fields["room"]))
        sink.write(_sized(orjson.dumps(found)))
        sink.flush()


if __name__ == "__main__":
    main()
