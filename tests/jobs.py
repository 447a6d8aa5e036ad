"""Small jobs for tests that start from rows."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import select

from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.model.job import Job, Target
from gossamer.model.page import Page, Visit
from gossamer.model.record import Record, Value
from gossamer.model.states import JobState, PageState
from gossamer.settle.commit import Committed, commit
from gossamer.settle.step import PageStep, Step
from gossamer.store import jobs, sites, visits
from tests.conftest import AnyDatabase

LEASE = timedelta(seconds=60)


def make_job(tx: Tx, *hosts: str, start: bool = True, keywords: Sequence[str] = ("CRM",)) -> Job:
    job = jobs.create(tx, "test", "prospect", {"keywords": [*keywords]}, len(hosts))
    sites.create_many(tx, job.id, [Target(host, (f"http://{host}/",), host) for host in hosts])
    if start:
        jobs.move(tx, job.id, JobState.RUNNING)
    found = jobs.get(tx, job.id)
    assert found
    return found


def claim_all(
    tx: Tx, worker: str = "home/0-1", lease: timedelta = LEASE, *, shard: int = 0, shards: int = 1, lane: str = "http"
) -> list[Visit]:
    waiting = [one.id for row in visits.ready(tx, lane, shard, shards, 1000).values() for one in row]
    return visits.claim(tx, tokens(waiting), worker, lease)


def matches_of(tx: Tx, job_id: UUID, site_id: UUID) -> list[dict[str, Any]]:
    """The data of one site's records, in no particular order."""
    mine = (tables.records.c.job_id == job_id) & (tables.records.c.site_id == site_id)
    return list(tx.run(select(tables.records.c.data).where(mine)).scalars())


def tokens(ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """One for each, as whoever claims visits makes them."""
    return {identifier: uuid4() for identifier in ids}


# The columns of a match that tests rarely ask for.
USUAL: dict[str, Value] = {
    "frequency": 1,
    "context_snippet": "",
    "crawl_method": "direct",
    "timestamp": "2026-03-04T05:06:07Z",
    "http_status": 200,
    "verdict": "",
    "link_url": "",
    "anchor_text": "",
    "position": "",
    "page_date": "",
    "outbound_links": 0,
    "outbound_followed": 0,
}


def done(visit: Visit, url: str, *keywords: str, depth: int = 0, **more: Value) -> Step:
    """A page that was read, with one record per keyword."""
    records = tuple(
        Record("match", (url, keyword), {"domain": visit.host, "url": url, "keyword": keyword, **USUAL, **more})
        for keyword in keywords
    )
    page = Page.at(url, depth)
    return Step(visit, PageStep(page, PageState.DONE, http_status=200, identity=page.key, records=records, bytes_in=10))


async def settle(database: AnyDatabase, *steps: Step) -> Committed:
    return await database.write(commit, list(steps), 0)


async def state_of(database: AnyDatabase, job_id: UUID) -> JobState:
    job = await database.read(jobs.get, job_id)
    assert job
    return job.state
