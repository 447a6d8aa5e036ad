"""What a file of a million matches costs, on both databases, beside the barest loop that gives the same table."""

import asyncio
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import insert, update

from bench.figure import Figure
from bench.lists import domains, keywords
from bench.running import GOSSAMER, environment, run
from gossamer.clock import SystemClock
from gossamer.db import tables as t
from gossamer.db.database import open_database
from gossamer.db.schema import upgrade
from gossamer.db.transactions import Tx
from gossamer.model.job import Target
from gossamer.model.record import Record, Value
from gossamer.model.states import JobState
from gossamer.model.url import url_key
from gossamer.store import jobs, records, sites
from tests.chaos.postgres import postgres_server

ROWS, PER_SITE = 1_000_000, 50
TIMES = 1.5  # of the barest loop
LARGEST = 150.0  # MB
XLSX_ROWS, XLSX = 100_000, 5.0  # seconds
FEW_ROWS, AT_ONCE = 10_000, 1.0  # seconds

_AT_A_TIME = 5_000
_SNIPPET = "...in one place and without any paper, which is what most people look for when they hear of it "


@dataclass(frozen=True, slots=True)
class Made:
    """A file, what it cost and how large the process was."""

    seconds: float
    cpu: float
    bytes: int
    memory: int


def measure(folder: Path, quick: bool) -> list[Figure]:
    many, some, few = (20_000, 2_000, 1_000) if quick else (ROWS, XLSX_ROWS, FEW_ROWS)
    url = f"sqlite:///{folder}/many.db"
    figures = _of_database("sqlite", url, asyncio.run(_fill(url, many)), folder, many)
    figures += _with_client("sqlite", url, folder, many)
    (folder / "many.db").unlink()
    with postgres_server() as server:
        url = server.create("bench")
        figures += _of_database("postgres", url, asyncio.run(_fill(url, many)), folder, many)
        figures += _with_client("postgres", url, folder, many)
    return [*figures, *_workbook(folder, some), _command(folder / "home", few)]


def _of_database(name: str, url: str, job: UUID, folder: Path, rows: int) -> list[Figure]:
    bare = {form: _fastest(url, job, "bare", form, folder) for form in ("csv", "json")}
    ours = {form: _fastest(url, job, "results", form, folder) for form in ("csv", "json")}
    others = {form: _made(url, job, "results", form, folder) for form in ("jsonl", "parquet")}
    figures = []
    for form, made in ours.items():
        against = f"against {bare[form].seconds:.1f} s of the barest loop"
        ratio = made.seconds / bare[form].seconds
        figures += [
            Figure(f"{name}_{form}", f"{rows:,} matches as {form.upper()}, {name}", made.seconds, "s", note=against),
            Figure(f"{name}_{form}_times", "that against the barest loop", ratio, "times", TIMES),
        ]
    for form, made in others.items():
        figures.append(Figure(f"{name}_{form}", f"{rows:,} matches as {form.upper()}, {name}", made.seconds, "s"))
    largest = max(made.memory for made in (*ours.values(), *others.values())) / 1e6
    return [*figures, Figure(f"{name}_memory", f"largest memory for any of them, {name}", largest, "MB", LARGEST)]


def _with_client(name: str, url: str, folder: Path, rows: int) -> list[Figure]:
    """The same job, as if it had been given a client's domain: its files have four columns more."""
    job = asyncio.run(_give_client(url))
    figures, largest = [], 0
    for form in ("csv", "json"):
        bare, ours = (_fastest(url, job, what, form, folder) for what in ("bare-client", "results"))
        largest = max(largest, ours.memory)
        ratio, against = ours.seconds / bare.seconds, f"against {bare.seconds:.1f} s of the barest loop"
        label = f"{rows:,} matches with a client's domain as {form.upper()}, {name}"
        figures += [
            Figure(f"{name}_client_{form}", label, ours.seconds, "s", note=against),
            Figure(f"{name}_client_{form}_times", "that against the barest loop", ratio, "times", TIMES),
        ]
    return [
        *figures,
        Figure(f"{name}_client_memory", f"largest memory for these, {name}", largest / 1e6, "MB", LARGEST),
    ]


async def _give_client(url: str) -> UUID:
    database = open_database(url, SystemClock())

    def give(tx: Tx) -> UUID:
        job_id: UUID = tx.run(t.jobs.select()).one().id
        tx.run(update(t.jobs).values(params={"keywords": keywords(), "client_domains": ["client.example"]}))
        return job_id

    try:
        return await database.write(give)
    finally:
        await database.close()


def _workbook(folder: Path, rows: int) -> list[Figure]:
    url = f"sqlite:///{folder}/some.db"
    job = asyncio.run(_fill(url, rows))
    made = _made(url, job, "pages", "xlsx", folder)
    return [
        Figure("xlsx", f"{rows:,} lines as a plain workbook", made.seconds, "s", XLSX),
        Figure("xlsx_memory", "its memory", made.memory / 1e6, "MB", LARGEST),
    ]


def _command(home: Path, rows: int) -> Figure:
    """The whole command, from the shell's prompt to the shell's prompt."""
    home.mkdir()
    job = asyncio.run(_fill(f"sqlite:///{home}/gossamer.db", rows, pages=False))
    command = [*GOSSAMER, "job", "export", str(job), "--format", "csv", "--wait"]
    walls = [run(command, environment(home)).wall for _ in range(3)]
    return Figure("command", f"'job export --wait' of {rows:,} matches as CSV", min(walls), "s", AT_ONCE)


def _fastest(url: str, job: UUID, what: str, form: str, folder: Path) -> Made:
    """Of two: the machine has other things to do, too."""
    return min((_made(url, job, what, form, folder) for _ in range(2)), key=lambda made: made.seconds)


def _made(url: str, job: UUID, what: str, form: str, folder: Path) -> Made:
    out = folder / f"out.{form}"
    told = run([sys.executable, "-m", "bench.exporting", url, str(job), what, form, str(out)]).out
    out.unlink()
    return Made(**orjson.loads(told))


async def _fill(url: str, rows: int, *, pages: bool = True) -> UUID:
    """A completed job of so many matches, and of as many pages if wanted."""
    database = open_database(url, SystemClock())
    try:
        await database.write(upgrade)
        hosts = list(domains(max(1, rows // PER_SITE)))
        job_id = await database.write(_create, hosts)
        known = {place.host: place.id for place in await database.read(_places, job_id)}
        made = _records(known, rows)
        while some := list(islice(made, _AT_A_TIME)):
            await database.write(_add, job_id, some, pages=pages and rows <= XLSX_ROWS)
        await database.write(_complete, job_id, rows)
    finally:
        await database.close()
    return job_id


def _create(tx: Tx, hosts: list[str]) -> UUID:
    job = jobs.create(tx, "Bench", "prospect", {"keywords": keywords()}, len(hosts))
    sites.create_many(tx, job.id, [Target(host, (f"http://{host}/",), host) for host in hosts])
    jobs.move(tx, job.id, JobState.RUNNING)
    return job.id


def _places(tx: Tx, job_id: UUID) -> list[Any]:
    return list(tx.run(t.sites.select().where(t.sites.c.job_id == job_id)))


def _records(known: dict[str, UUID], rows: int) -> Iterator[tuple[str, UUID, records.NewRecord]]:
    chance = random.Random(1)
    words = keywords()
    hosts = list(known)
    for number in range(rows):
        host = hosts[number // PER_SITE % len(hosts)]
        url = f"http://{host}/articles/{number % PER_SITE // 2}/what-people-say-of-it.html"
        keyword = words[number % len(words)]
        data: dict[str, Value] = {
            "domain": host,
            "url": url,
            "keyword": keyword,
            "frequency": chance.randrange(1, 9),
            "context_snippet": f"{_SNIPPET * 2}{keyword} {_SNIPPET}",
            "crawl_method": "direct",
            "timestamp": "2026-11-16T01:42:18Z",
            "http_status": 200,
            "verdict": chance.choice(["unlinked", "linked", "nofollow"]),
            "link_url": "",
            "anchor_text": "",
            "position": "body",
            "page_date": "",
            "outbound_links": 0,
            "outbound_followed": 0,
        }
        record = Record("match", (url, keyword, str(number)), data)
        yield url, known[host], records.place(record, url_key(url), known[host])


def _add(tx: Tx, job_id: UUID, some: list[tuple[str, UUID, records.NewRecord]], *, pages: bool) -> None:
    rows = [
        {
            "job_id": job_id,
            "kind": one.record.kind,
            "key": one.key,
            "site_id": site,
            "page_key": one.page_key,
            "data": one.record.data,
            "created_at": tx.now,
        }
        for _, site, one in some
    ]
    tx.run_many(insert(t.records), rows)
    if pages:
        tx.run_many(insert(t.pages), [_page(tx, job_id, site, one.key[:12], url) for url, site, one in some])


def _page(tx: Tx, job_id: UUID, site: UUID, key: bytes, url: str) -> dict[str, Any]:
    at = int(tx.now.timestamp() * 1000)
    empty = {"depth": 1, "rank": 0, "handed": 0, "rung": "direct", "reason": "", "detail": ""}
    return {
        **empty,
        "job_id": job_id,
        "key": key,
        "site_id": site,
        "visit_id": site,
        "url": url,
        "state": "done",
        "http_status": 200,
        "attempts": [["direct", 200, "", 180, at, [at]]],
        "found_on": url.partition("/articles/")[0],
        "bytes_in": 42_000,
        "settled_at": tx.now,
    }


def _complete(tx: Tx, job_id: UUID, rows: int) -> None:
    tx.run(update(t.counters).where(t.counters.c.job_id == job_id, t.counters.c.shard == 0).values(records=rows))
    jobs.move(tx, job_id, JobState.COMPLETED)
