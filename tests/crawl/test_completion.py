"""A job is completed when its last site is closed and its rows have been held against each other."""

from contextlib import nullcontext
from uuid import UUID

from sqlalchemy import update

from gossamer.crawl.completion import Closer
from gossamer.db.tables import checkpoints as checkpoint_rows
from gossamer.db.tables import counters
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.job import CheckpointCause
from gossamer.model.states import JobState, SiteState
from gossamer.recipes.registry import RECIPES
from gossamer.settle.step import Finished, Step
from gossamer.store import alerts, jobs
from gossamer.store import counters as counter_store
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle, state_of

DONE = Finished(SiteState.DONE)


async def test_a_job_whose_rows_add_up_is_completed(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    first, second = await database.write(claim_all)
    closer = Closer(database, RECIPES, "", nullcontext)
    await settle(database, done(first, f"http://{first.host}/", "CRM"), Step(first, ending=DONE))
    await closer.look()
    assert await state_of(database, job.id) is JobState.RUNNING
    await settle(database, done(second, f"http://{second.host}/"), Step(second, ending=DONE))
    await closer.look()
    completed = await database.read(jobs.get, job.id)
    assert completed
    assert (completed.state, completed.reason) == (JobState.COMPLETED, "")
    assert await database.read(alerts.recent, 10) == []


def _make_unreadable(tx: Tx, job_id: UUID) -> None:
    counter_store.take(tx, job_id, CheckpointCause.VISITS)
    tx.run(update(checkpoint_rows).values(state="lost"))


async def test_an_audit_that_fails_itself_keeps_no_job_from_closing(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://a.test/", "CRM"), Step(visit, ending=DONE))
    await database.write(_make_unreadable, job.id)
    await Closer(database, RECIPES, "", nullcontext).look()
    completed = await database.read(jobs.get, job.id)
    assert completed
    assert completed.state is JobState.COMPLETED
    assert "its audit itself failed (ValueError)" in completed.reason
    (alert,) = await database.read(alerts.recent, 10)
    assert (alert.kind, alert.sentence) == (AlertKind.AUDIT, completed.reason)


def _damage(tx: Tx) -> None:
    tx.run(update(counters).where(counters.c.shard == 0).values(records=counters.c.records + 1))


async def test_a_job_whose_rows_do_not_says_so_and_alerts(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://a.test/", "CRM"), Step(visit, ending=DONE))
    await database.write(_damage)
    await Closer(database, RECIPES, "", nullcontext).look()
    completed = await database.read(jobs.get, job.id)
    assert completed
    assert completed.state is JobState.COMPLETED
    assert "do not add up" in completed.reason
    assert "the counter says 2, the rows say 1" in completed.reason
    assert [alert.kind for alert in await database.read(alerts.recent, 10)] == [AlertKind.AUDIT]
