"""How far a job has come, as far as it is not a plain sum: how fast pages came of late."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, insert, update

from gossamer.crawl.remaining_work import RemainingWork
from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.model.ids import new_id
from gossamer.model.job import Progress
from gossamer.model.money import Amount, Cap
from gossamer.store import budgets, counters, jobs, pace
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle


async def test_only_the_pages_of_the_last_minutes_are_recent(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")

    def earlier(tx: Tx) -> None:
        """As if the job had begun some minutes ago, and all so far had happened then."""
        tx.run(update(tables.jobs).values(started_at=tx.now - timedelta(minutes=9)))
        minute = tx.now.replace(second=0, microsecond=0) - timedelta(minutes=8)
        tx.run(update(tables.minutes).values(minute=minute))

    (visit,) = await database.write(claim_all)
    await settle(
        database, done(visit, "http://a.test/"), done(visit, "http://a.test/1"), done(visit, "http://a.test/2")
    )
    await database.write(earlier)
    await settle(database, done(visit, "http://a.test/3"))
    progress = await database.read(counters.progress, job.id)
    assert (progress.pages_done, progress.pages_recently) == (4, 1)
    assert timedelta(minutes=3) <= progress.pages_window < timedelta(minutes=4)


async def test_a_pause_is_no_time_in_which_a_job_was_slow(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    remaining_work = RemainingWork(lambda _: timedelta(seconds=1))

    def earlier(tx: Tx) -> None:
        """As if the job had begun twelve minutes ago, and had stood still between the tenth minute and the first."""
        tx.run(update(tables.jobs).values(started_at=tx.now - timedelta(minutes=12)))
        ago = {"job.running": timedelta(minutes=12), "job.paused": timedelta(minutes=10)}
        for kind, before in ago.items():
            _event(tx, job.id, kind, tx.now - before)
        _event(tx, job.id, "job.running", tx.now - timedelta(minutes=1))

    await database.write(earlier)
    rows = await database.read(counters.progress, job.id)
    assert rows.pages_window >= timedelta(minutes=3)
    running = await database.read(jobs.get, job.id)
    assert running is not None
    progress = await remaining_work.add(database, running, rows)
    assert timedelta(seconds=55) < progress.pages_window < timedelta(seconds=70)
    stood = await database.read(pace.stood_still, job.id, timedelta(minutes=15))
    assert timedelta(minutes=8, seconds=55) < stood.within(timedelta(minutes=12)) < timedelta(minutes=9, seconds=5)


def _event(tx: Tx, job_id: UUID, kind: str, at: datetime) -> None:
    row = {"job_id": job_id, "id": new_id(at), "at": at, "kind": kind, "who": "", "why": ""}
    if kind == "job.running":
        tx.run(delete(tables.events).where(tables.events.c.job_id == job_id, tables.events.c.id > row["id"]))
    tx.run(insert(tables.events).values(row))


async def test_totals_are_the_same_sums_with_what_was_spent(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    other = await database.write(make_job, "c.test")
    visits = {visit.host: visit for visit in await database.write(claim_all)}
    await settle(database, done(visits["a.test"], "http://a.test/"), done(visits["a.test"], "http://a.test/1"))

    def spend(tx: Tx) -> None:
        for one, credits in ((job, 7), (other, 900)):
            budgets.hold(tx, [budgets.job_key(one.id)])
            mine = tables.budgets.c.subject == one.id.hex
            tx.run(update(tables.budgets).where(mine).values(spent_credits=credits, spent_micros=5))

    nothing = await database.read(counters.totals, other.id)
    assert nothing == (Progress(sites_total=1), Amount(), Cap())
    await database.write(spend)
    await database.write(budgets.set_cap, job.id, Cap(credits=50, traffic=10**12))
    totals, spent, cap = await database.read(counters.totals, job.id)
    assert (spent, cap) == (Amount(credits=7, micros=5), Cap(credits=50, traffic=10**12))
    followed = await database.read(counters.progress, job.id)
    assert (totals.sites_total, totals.pages_done) == (2, 2)
    assert {name: getattr(totals, name) for name in counters.NAMES} == {
        name: getattr(followed, name) for name in counters.NAMES
    }
