"""Jobs with something in every table, for tests of what is deleted."""

from typing import Any
from uuid import UUID

from sqlalchemy import func, select

from gossamer.db import tables as t
from gossamer.db.transactions import Tx
from gossamer.model.job import Job
from gossamer.model.states import JobState, SiteState
from gossamer.settle.step import Finished, SiteFacts, Step
from gossamer.store import jobs
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle

ROBOTS = {"http://a.test": {"status": 200, "body": "User-agent: *\n"}}


async def finished_job(database: AnyDatabase, *hosts: str, pages: int = 3) -> Job:
    """A completed job: so many pages of each host, one record on each."""
    job = await database.write(make_job, *(hosts or ("a.test", "b.test")))
    for visit in await database.write(claim_all):
        steps = [done(visit, f"http://{visit.host}/{number}", "CRM") for number in range(pages)]
        facts = SiteFacts(robots=ROBOTS, errands=())
        await settle(database, *steps, Step(visit, facts=facts, ending=Finished(SiteState.DONE)))
    await database.write(jobs.move, job.id, JobState.COMPLETED)
    found = await database.read(jobs.get, job.id)
    assert found
    assert found.state is JobState.COMPLETED
    return found


def rows_of(tx: Tx, job_id: UUID) -> dict[str, int]:
    """How many rows of a job each table has."""
    found: dict[str, Any] = {}
    for table in (t.records, t.pages, t.visits, t.sites, t.minutes, t.checkpoints, t.counters):
        query = select(func.count()).select_from(table).where(table.c.job_id == job_id)
        found[table.name] = int(tx.run(query).scalar_one())
    return found
