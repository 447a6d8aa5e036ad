"""A Postgres that has been at work for months: a large job in each of them, put there by the server itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg

from bench.lists import domains
from gossamer.clock import SystemClock
from gossamer.db.database import PostgresDatabase
from gossamer.db.schema import upgrade
from gossamer.db.transactions import Tx
from gossamer.model.ids import new_id
from gossamer.model.job import Target
from gossamer.model.states import JobState
from gossamer.model.url import url_key
from gossamer.store import jobs, sites

PAGES, RECORDS, EVENTS = 10, 16, 3  # rows of each site
SHARDS = 16

_HOSTS = """
    CREATE TABLE hosts AS
    SELECT p.host, p.prefix, s.id AS site, v.id AS visit
    FROM prefixes p JOIN sites s USING (host) JOIN visits v ON v.site_id = s.id ORDER BY p.prefix
"""
_JOB = """
    INSERT INTO jobs SELECT $1, 'Of another month', recipe, params, 'completed', '', sites_total, $2, $2, $2
    FROM jobs WHERE id = $3
"""
_SITES = """
    INSERT INTO sites (id, job_id, host, domain, given, entries, listed, whole, state, reason, detail, open_pages,
                       pages_done, size, retries, robots, notes)
    SELECT gen_random_uuid(), $1, host, domain, given, entries, listed, whole, 'done', '', '', 0, 10, 10, 0, '{}', ''
    FROM sites WHERE job_id = $2
"""
_VISITS = """
    INSERT INTO visits (id, job_id, site_id, lane, domain, shard, state, due_at, deaths, open_pages, walked_ms,
                        last_error)
    SELECT gen_random_uuid(), $1, id, 'http', domain, 0, 'done', $2, 0, 0, 900, '' FROM sites WHERE job_id = $1
"""
# In the order of their keys, as a B-tree likes it.
_PAGES = """
    INSERT INTO pages (job_id, key, site_id, visit_id, url, depth, rank, handed, state, rung, reason, detail,
                       http_status, attempts, found_on, identity, bytes_in, settled_at)
    SELECT $1, k.key, h.site, h.visit, 'http://' || h.host || '/articles/' || n || '/', 1, n, 0, 'done', 'direct', '',
           '', 200, '[]', 'http://' || h.host || '/', k.key, 42000, $2
    FROM hosts h, generate_series(1, $3::int) n,
         LATERAL (SELECT h.prefix || decode(lpad(to_hex(n), 16, '0'), 'hex') AS key) k
"""
_RECORDS = """
    INSERT INTO records (job_id, kind, key, site_id, page_key, data, created_at)
    SELECT $1, 'match', h.prefix || decode(lpad(to_hex(n), 24, '0'), 'hex'), h.site,
           h.prefix || decode(lpad(to_hex(n % 10 + 1), 16, '0'), 'hex'),
           json_build_object('domain', h.host, 'url', 'http://' || h.host || '/articles/' || n || '/',
                             'keyword', 'CRM ' || n, 'frequency', 3, 'snippet', repeat('without any paper ', 7)), $2
    FROM hosts h, generate_series(1, $3::int) n
"""
_EVENTS = """
    INSERT INTO events (job_id, id, site_id, visit_id, at, kind, who, why)
    SELECT $1, gen_random_uuid(), h.site, h.visit, $2, 'visit.done', 'box/0-1', ''
    FROM hosts h, generate_series(1, $3::int) n
"""
_COUNT = """
    UPDATE counters SET pages_done = $2::bigint, records = $3, bytes_in = $2::bigint * 42000, last_at = now()
    WHERE job_id = $1
"""


@dataclass(frozen=True, slots=True)
class Past:
    """What lies in a database: the job of this month, and rows of partitioned tables in all months together."""

    job_id: UUID
    records: int  # of that job
    rows: int
    size: int  # bytes of the whole database


async def fill(url: str, months: int, hosts: int) -> Past:
    """A completed job of so many hosts in this month and in each of the months before it."""
    database = PostgresDatabase(url, SystemClock())
    try:
        await database.write(upgrade)
        job_id = await database.write(_create, list(domains(hosts)))
    finally:
        await database.close()
    connection: Any = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    try:
        prefixes = [(host, url_key(f"http://{host}/")[:4]) for host in domains(hosts)]
        await connection.execute("CREATE TABLE prefixes (host text, prefix bytea)")
        await connection.copy_records_to_table("prefixes", records=prefixes)
        await connection.execute(_HOSTS)
        rows = 0
        for ids in [(job_id, datetime.now(UTC)), *_before(months - 1)]:
            rows += await _add_month(connection, *ids, job_id)
        await connection.execute(_COUNT, job_id, hosts * PAGES // SHARDS, hosts * RECORDS // SHARDS)
        await connection.execute("DROP TABLE prefixes, hosts")
        # As it would long since have done by itself, and not while others are timed.
        await connection.execute("VACUUM (ANALYZE)")
        await connection.execute("CHECKPOINT")
        size = await connection.fetchval("SELECT pg_database_size(current_database())")
    finally:
        await connection.close()
    return Past(job_id, hosts * RECORDS, rows, size)


def _create(tx: Tx, hosts: Sequence[str]) -> UUID:
    job = jobs.create(tx, "Of this month", "prospect", {"keywords": ["CRM"]}, len(hosts))
    sites.create_many(tx, job.id, [Target(host, (f"http://{host}/",), host) for host in hosts])
    jobs.move(tx, job.id, JobState.RUNNING)
    jobs.move(tx, job.id, JobState.COMPLETED)
    return job.id


def _before(months: int) -> list[tuple[UUID, datetime]]:
    """A job in the middle of each month before this one."""
    now = datetime.now(UTC)
    numbers = (now.year * 12 + now.month - 1 - back for back in range(1, months + 1))
    times = [datetime(number // 12, number % 12 + 1, 15, tzinfo=UTC) for number in numbers]
    return [(new_id(at), at) for at in times]


async def _add_month(connection: Any, job_id: UUID, at: datetime, this_months: UUID) -> int:
    if job_id != this_months:
        for table in ("pages", "records", "events"):
            await connection.execute("SELECT gossamer_add_partition($1, date_trunc('month', $2, 'UTC'))", table, at)
        await connection.execute(_JOB, job_id, at, this_months)
        await connection.execute(_SITES, job_id, this_months)
        await connection.execute(_VISITS, job_id, at)
    added = 0
    for sql, each in ((_PAGES, PAGES), (_RECORDS, RECORDS), (_EVENTS, EVENTS)):
        added += int((await connection.execute(sql, job_id, at, each)).split()[-1])
    return added
