"""Files of sitemaps, read in a child process: what they list, and what becomes of one that takes too long."""

import asyncio
import time
from collections.abc import AsyncIterator
from gzip import compress

import pytest

from gossamer.crawl.sitemap_import import ListingReaders, SitemapContents, SitemapLimits, SitemapPages, read_listing

ROOM = SitemapLimits(pages=50_000, files=500, entries=500_000)


def sitemap(*urls: str) -> bytes:
    return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>".encode()


def index(*urls: str) -> bytes:
    inner = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{inner}</sitemapindex>".encode()


@pytest.fixture
async def readers() -> AsyncIterator[ListingReaders]:
    made = ListingReaders()
    yield made
    await made.close()


async def test_a_file_says_what_it_lists_of_its_own_domain(readers: ListingReaders) -> None:
    body = sitemap("http://shop.test/a", "http://www.shop.test/b", "http://elsewhere.test/c", "http://shop.test/a")
    expected = SitemapContents(["http://shop.test/a", "http://www.shop.test/b"], [], 4)
    for one in (body, compress(body)):
        assert await readers.listed_in(one, "shop.test", ROOM) == expected
    files = index("http://shop.test/1.xml", "http://elsewhere.test/2.xml")
    assert await readers.listed_in(files, "shop.test", ROOM) == SitemapContents([], ["http://shop.test/1.xml"], 2)
    assert await readers.listed_in(b"<html>no sitemap</html>", "shop.test", ROOM) == SitemapContents([], [], 0)
    assert await readers.listed_in(b"", "shop.test", ROOM) == SitemapContents([], [], 0)


def test_no_more_is_looked_at_than_there_is_room_for() -> None:
    foreign = sitemap(*(f"http://elsewhere.test/{number}" for number in range(3_000)), "http://shop.test/last")
    assert read_listing(foreign, "shop.test", SitemapLimits(10, 10, 1_000)) == SitemapContents([], [], 1_000)
    many = sitemap(*(f"http://shop.test/{number}" for number in range(3_000)))
    assert len(read_listing(many, "shop.test", SitemapLimits(10, 10, 1_000)).pages) == 10
    names = index(*(f"http://shop.test/{number}.xml" for number in range(3_000)))
    assert len(read_listing(names, "shop.test", SitemapLimits(10, 10, 5_000)).files) == 10


def test_what_is_looked_at_is_counted_over_all_files() -> None:
    listed = SitemapPages("http://shop.test/sitemap.xml", most_pages=5, most_files=3, most_entries=100)
    fresh = listed.add(SitemapContents([], [f"http://shop.test/{number}.xml" for number in range(9)], 60))
    assert fresh == ["http://shop.test/0.xml", "http://shop.test/1.xml"]  # the third is the one it began with
    assert listed.room == SitemapLimits(5, 3, 40)
    assert not listed.is_full()
    listed.add(SitemapContents([], [], 40))
    assert listed.is_full()
    assert listed.urls == []


async def test_a_file_that_takes_too_long_is_given_up_and_the_next_is_read() -> None:
    readers = ListingReaders(seconds=0.2)
    try:
        endless = index(*(f"http://elsewhere.test/{'x' * 300}/{number}?{'&amp;' * 100}" for number in range(50_000)))
        began = time.monotonic()
        assert await readers.listed_in(endless, "shop.test", ROOM) is None
        assert time.monotonic() - began < 30
    finally:
        await readers.close()
    patient = ListingReaders()
    try:
        assert await patient.listed_in(sitemap("http://shop.test/a"), "shop.test", ROOM)
    finally:
        await patient.close()


async def test_the_loop_goes_on_while_a_large_file_is_read(readers: ListingReaders) -> None:
    """In the loop itself this file would take it for as long as it takes to read."""
    body = sitemap(*(f"http://elsewhere.test/{number}" for number in range(49_000)))
    await readers.listed_in(b"", "shop.test", ROOM)  # the child is there
    began = time.monotonic()
    reading = asyncio.create_task(readers.listed_in(body, "shop.test", ROOM))
    gaps, before = [], time.monotonic()
    while not reading.done():
        await asyncio.sleep(0)
        gaps.append(time.monotonic() - before)
        before = time.monotonic()
    took = time.monotonic() - began
    assert (await reading) == SitemapContents([], [], 49_000)
    assert max(gaps) < max(1.0, took / 2), "the loop stood still"
    assert len(gaps) > 20
