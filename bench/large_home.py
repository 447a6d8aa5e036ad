"""A home with a large job in it, as if it had been crawled: sites, pages, records, and the counters that fit them."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import orjson

from bench.lists import domains, keywords
from gossamer.clock import SystemClock
from gossamer.db.schema import ready_database
from gossamer.db.transactions import Tx
from gossamer.model.job import Target
from gossamer.model.record import Record, Value
from gossamer.model.states import JobState
from gossamer.model.url import url_key
from gossamer.recipes.prospect import MATCH
from gossamer.store import counters, jobs, records, sites

PAGES_PER_SITE = 25
RECORDS_PER_PAGE = 4
PAGE_BYTES = 42_000

_KEYWORDS = tuple(keywords())
_SENTENCE = (
    "our team helps shops and offices to keep orders, customers and stock in one place without any paper at all "
)
_PROSE = "".join(_SENTENCE[turn % 7 * 9 :] for turn in range(10))

_ADD_PAGE = """
    INSERT INTO pages (job_id, key, site_id, visit_id, url, depth, rank, handed, state, rung, reason, detail,
                       http_status, attempts, found_on, identity, bytes_in, settled_at)
    SELECT :job, :key, :site, id, :url, 1, 0, 0, 'done', 'direct', '', '', 200, '[]', :home, :key, :size, :at
    FROM visits WHERE site_id = :site
"""
_ADD_RECORD = """
    INSERT INTO records (job_id, kind, key, site_id, page_key, data, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
"""


def fill_home(home: Path, rows: int) -> UUID:
    """A running job with so many records, a multiple of a hundred. Its id."""
    path = home / "gossamer.db"
    hosts = list(domains(rows // (PAGES_PER_SITE * RECORDS_PER_PAGE)))
    job_id, ids = asyncio.run(_create(path, hosts))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # Nothing is lost with a file that is thrown away anyway, and a log would be as large as the file.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        # In the order of the keys, as a B-tree likes it: the first bytes are the site's.
        for host in sorted(hosts, key=lambda one: url_key(f"http://{one}/")):
            _add_site(connection, job_id, host, ids[host])
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    asyncio.run(_count(path, job_id, rows))
    return job_id


def fill_open_home(home: Path, count: int) -> UUID:
    """A running job of so many open sites, all begun and with pages to read; one in twenty asks for a delay."""
    path = home / "gossamer.db"
    job_id, _ = asyncio.run(_create(path, list(domains(count))))
    with closing(sqlite3.connect(path)) as connection, connection:
        body = (
            "User-agent: *\nDisallow: /cart\nSitemap: https://shop.example/sitemap.xml\n" + "Disallow: /private\n" * 30
        )
        for delay, rest in (("", ""), ("Crawl-delay: 2\n", " AND rowid % 20 = 0")):
            robots = orjson.dumps({"https://shop.example": {"status": 200, "body": body + delay}})
            connection.execute(f"UPDATE sites SET robots = ? WHERE 1 {rest}", (robots.decode(),))  # noqa: S608 - our own
        connection.execute(
            "UPDATE sites SET pages_done = 5, open_pages = 5, size = 20 + rowid % 100, size_source = 'sitemap'"
        )
        connection.execute("UPDATE jobs SET started_at = created_at - 60000")
        connection.execute("UPDATE counters SET pages_done = ?, pages_open = ? WHERE shard = 0", (5 * count, 5 * count))
        connection.execute(
            "INSERT INTO minutes (job_id, minute, sites, pages, records) "
            "SELECT id, created_at / 60000 * 60000, 0, ?, 0 FROM jobs",
            (5 * count,),
        )
    return job_id


async def _create(path: Path, hosts: list[str]) -> tuple[UUID, dict[str, UUID]]:
    database = await ready_database(f"sqlite:///{path}", SystemClock())

    def create(tx: Tx) -> tuple[UUID, dict[str, UUID]]:
        job = jobs.create(tx, "Bench", "prospect", {"keywords": list(_KEYWORDS)}, len(hosts))
        sites.create_many(tx, job.id, [Target(host, (f"http://{host}/",), host) for host in hosts])
        jobs.move(tx, job.id, JobState.RUNNING)
        return job.id, dict(sites.hosts(tx, job.id, "", len(hosts)))

    try:
        return await database.write(create)
    finally:
        await database.close()


def _add_site(connection: sqlite3.Connection, job_id: UUID, host: str, site_id: UUID) -> None:
    home, at = f"http://{host}/", int(datetime.now(UTC).timestamp() * 1000)
    urls = {url_key(url): url for url in (f"{home}articles/{number}/" for number in range(PAGES_PER_SITE))}
    page = {"job": job_id.bytes, "site": site_id.bytes, "home": home, "size": PAGE_BYTES, "at": at}
    connection.executemany(_ADD_PAGE, [{**page, "key": key, "url": urls[key]} for key in sorted(urls)])
    placed = [
        records.place(record, key, site_id) for key, url in urls.items() for record in _records_of(host, url, key[-1])
    ]
    connection.executemany(
        _ADD_RECORD,
        [
            (job_id.bytes, MATCH.name, one.key, site_id.bytes, one.page_key, orjson.dumps(one.record.data).decode(), at)
            for one in sorted(placed, key=lambda one: one.key)
        ],
    )


# The columns about links, as every row has them.
_UNLINKED: dict[str, Value] = {
    "verdict": "",
    "link_url": "",
    "anchor_text": "",
    "position": "body",
    "page_date": "",
    "outbound_links": 0,
    "outbound_followed": 0,
}


def _records_of(host: str, url: str, offset: int) -> Iterator[Record]:
    for number in range(RECORDS_PER_PAGE):
        keyword = _KEYWORDS[(offset + number * 13) % len(_KEYWORDS)]
        snippet = f"...{_PROSE[offset : offset + 140]} {keyword} {_PROSE[offset + 140 : offset + 280]}..."
        values = (host, url, keyword, 1 + number, snippet, "direct", "2026-01-18T09:30:00Z", 200)
        data: dict[str, Value] = {**dict(zip(MATCH.names[: len(values)], values, strict=True)), **_UNLINKED}
        yield Record(MATCH.name, (url, keyword), data)


async def _count(path: Path, job_id: UUID, rows: int) -> None:
    """All pages are read; the job has still its sites to close."""
    pages = rows // RECORDS_PER_PAGE
    share = counters.CounterChange(pages_done=pages // counters.SHARDS, records=rows // counters.SHARDS)
    rest = counters.CounterChange(
        pages_done=pages % counters.SHARDS, records=rows % counters.SHARDS, bytes_in=pages * PAGE_BYTES
    )

    def count(tx: Tx) -> None:
        for shard in range(counters.SHARDS):
            counters.add(tx, shard, {job_id: share})
        counters.add(tx, 0, {job_id: rest})

    database = await ready_database(f"sqlite:///{path}", SystemClock())
    try:
        await database.write(count)
    finally:
        await database.close()
