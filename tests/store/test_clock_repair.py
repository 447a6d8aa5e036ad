"""A clock that was set back makes nobody wait for it to come round again."""

from datetime import timedelta
from typing import Any

from sqlalchemy import select, update

from gossamer.db.tables import counters, pages, sites, visits
from gossamer.db.transactions import Tx
from gossamer.model.job import Job
from gossamer.store import reclaim
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle

HOUR = timedelta(hours=1)


def _an_hour_ahead(tx: Tx, job: Job) -> None:
    """As if everything had been written by a clock that was an hour fast; a visit then waits one more minute."""
    later = tx.now + HOUR
    tx.run(update(counters).where(counters.c.job_id == job.id, counters.c.shard == 0).values(last_at=later))
    tx.run(update(visits).values(state="ready", lease=None, due_at=later + timedelta(minutes=1)))
    tx.run(update(sites).values(not_before=later - timedelta(minutes=1)))
    tx.run(update(pages).values(state="pending", due_at=later + timedelta(minutes=1)))


def _due(tx: Tx) -> dict[str, Any]:
    return {
        "visit": tx.run(select(visits.c.due_at)).scalar_one() - tx.now,
        "page": tx.run(select(pages.c.due_at)).scalar_one() - tx.now,
        "site": tx.run(select(sites.c.not_before)).scalar_one() - tx.now,
    }


async def test_waits_are_as_long_as_they_were_meant(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://a.test/"))
    await database.write(_an_hour_ahead, job)
    back = await database.write(reclaim.shorten_waits)
    assert timedelta(minutes=59) < back <= HOUR
    due = await database.read(_due)
    assert timedelta(0) < due["visit"] < timedelta(seconds=70)
    assert timedelta(0) < due["page"] < timedelta(seconds=70)
    assert due["site"] <= timedelta(0)
    assert await database.write(reclaim.shorten_waits) == timedelta(0)


async def test_a_clock_that_went_on_changes_nothing(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://a.test/"))
    assert await database.write(reclaim.shorten_waits) == timedelta(0)
