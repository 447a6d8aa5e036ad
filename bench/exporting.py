"""One export in a process of its own, ours or the barest loop that gives the same table: `python -m bench.exporting`.

Prints seconds, bytes and the largest memory of the process as JSON. The barest loops give the same rows in the same
shape, but sort nothing, defuse nothing, hold one long read open and do not wait until the file is safe on the disk.
"""

import asyncio
import csv
import io
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from bench.figure import BenchFailed
from bench.running import largest_memory
from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.exports.formats import FORMATS
from gossamer.exports.make import Order, expected, make_file
from gossamer.exports.write import write_file
from gossamer.recipes.prospect.tables import RESULTS, TABLES
from gossamer.store import jobs

# What one gets without asking; with a client's domain, the columns that are about it follow.
NAMES = {
    what: [column.name for column in RESULTS.usual(params)]
    for what, params in {"bare": {}, "bare-client": {"client_domains": ["client.example"]}}.items()
}


def main() -> None:
    url, job_id, what, form, out = sys.argv[1:]
    began = time.perf_counter()
    if what in NAMES:
        _bare(url, UUID(job_id), form, Path(out), NAMES[what])
    else:
        asyncio.run(_ours(url, UUID(job_id), what, form, Path(out)))
    seconds, cpu = time.perf_counter() - began, time.process_time()
    print(
        orjson.dumps(
            {"seconds": seconds, "cpu": cpu, "bytes": Path(out).stat().st_size, "memory": largest_memory()}
        ).decode()
    )


async def _ours(url: str, job_id: UUID, table: str, form: str, out: Path) -> None:
    database = open_database(url, SystemClock(), cache_kb=2_000)  # as the exporter has it
    job = await database.read(jobs.get, job_id)
    assert job
    order = Order(job, {one.name: one for one in TABLES}[table], FORMATS[form])
    total = await expected(database, order)
    await write_file(out, make_file(database, order, lambda _: None, lines_expected=total, folder=out.parent))
    await database.close()


def _bare(url: str, job_id: UUID, form: str, out: Path, names: Sequence[str]) -> None:
    if url.startswith("sqlite") or form == "json":
        rows = _sqlite(url, job_id) if url.startswith("sqlite") else _postgres(url, job_id)
        with out.open("wb") as file:
            _write_csv(file, rows, names) if form == "csv" else _write_json(file, rows, names)
    else:
        asyncio.run(_copy(url, job_id, out, names))


def _sqlite(url: str, job_id: UUID) -> Iterator[Any]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    yield from connection.execute("SELECT data FROM records WHERE job_id = ? AND kind = 'match'", (job_id.bytes,))


def _postgres(url: str, job_id: UUID) -> Iterator[Any]:
    """Read in one go, a thousand rows at a time, and given on as they come."""
    import asyncpg

    loop = asyncio.new_event_loop()
    connection = loop.run_until_complete(asyncpg.connect(url))  # type: ignore[no-untyped-call]
    # Rows of a domain lie together by their keys, and nearly so in the table: the index is the shortest way.
    loop.run_until_complete(connection.execute("SET enable_sort = off"))
    transaction = connection.transaction()
    loop.run_until_complete(transaction.start())
    query = "SELECT data FROM records WHERE job_id = $1 AND kind = 'match' ORDER BY key"
    cursor = loop.run_until_complete(connection.cursor(query, job_id))
    while some := loop.run_until_complete(cursor.fetch(1_000)):
        yield from some
    loop.run_until_complete(connection.close())
    loop.close()


def _write_csv(file: Any, rows: Iterator[Any], names: Sequence[str]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    writer.writerow(names)
    for (data,) in rows:
        row = orjson.loads(data)
        writer.writerow([row.get(name, "") for name in names])
    text.flush()
    text.detach()


def _write_json(file: Any, rows: Iterator[Any], wanted: Sequence[str]) -> None:
    """Keyed by domain and keyword, as ours is. The rows of a domain lie together, so that is all there is to do."""
    names = [(RESULTS.renamed.get(name, name), name) for name in wanted if name not in RESULTS.nested]
    seen: set[str] = set()
    domain, by_keyword = "", dict[str, list[dict[str, Any]]]()
    file.write(b'{"results":{')
    for (data,) in rows:
        row = orjson.loads(data)
        if row["domain"] != domain:
            if domain:
                file.write(b"%s:%s,\n" % (orjson.dumps(domain), orjson.dumps(by_keyword)))
            domain, by_keyword = row["domain"], {}
            if domain in seen:
                raise BenchFailed(f"the rows of {domain} do not lie together")
            seen.add(domain)
        by_keyword.setdefault(row["keyword"], []).append({name: row.get(column, "") for name, column in names})
    file.write(b"%s:%s}}\n" % (orjson.dumps(domain), orjson.dumps(by_keyword)))


async def _copy(url: str, job_id: UUID, out: Path, names: Sequence[str]) -> None:
    import asyncpg

    typed = ", ".join(
        f'"{column.name}" {"int" if column.kind == "number" else "text"}' for column in RESULTS.choose(names)
    )
    table = f"records r, json_to_record(r.data) AS d({typed})"
    query = f"SELECT d.* FROM {table} WHERE r.job_id = $1 AND r.kind = 'match'"  # noqa: S608
    connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    await connection.copy_from_query(query, job_id, output=out, format="csv", header=True)
    await connection.close()


if __name__ == "__main__":
    main()
