"""Results are shown, hidden, deleted: in this order, each at its time, and never while somebody needs them."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from gossamer.db.tables import exports as export_rows
from gossamer.db.tables import jobs as job_rows
from gossamer.db.tables import metadata
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.export import ExportRequest
from gossamer.model.money import Cap
from gossamer.model.states import JobState
from gossamer.retention import queries as retention_queries
from gossamer.retention.service import NextStep, Retainer, RetentionReport, Terms, delete_job
from gossamer.store import alerts, budgets, counters, events, exports, jobs, sites
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle, state_of
from tests.retention.finished import finished_job, rows_of

TERMS = Terms(timedelta(days=90), timedelta(days=7))
NOTHING = RetentionReport()


def after(days: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


async def test_results_are_hidden_then_deleted_and_the_job_is_kept(database: AnyDatabase) -> None:
    job = await finished_job(database)
    retainer = Retainer(database, TERMS)
    before = await database.read(rows_of, job.id)
    progress = await database.read(counters.progress, job.id)
    assert await retainer.pass_once(after(89.9)) == NOTHING
    assert (await retainer.pass_once(after(90.1))).hidden == (job.id,)
    assert await retainer.pass_once(after(96.9)) == NOTHING
    assert await database.read(rows_of, job.id) == before
    report = await retainer.pass_once(after(97.2))
    assert report.deleted == (job.id,)
    assert report.is_over
    assert await state_of(database, job.id) is JobState.ARCHIVED
    left = await database.read(rows_of, job.id)
    assert left == {**dict.fromkeys(before, 0), "sites": 2, "counters": 16}
    kept = await database.read(counters.progress, job.id)
    assert (kept.records, kept.pages_done, kept.sites_done) == (progress.records, progress.pages_done, 2)
    assert [site.host for site in await database.read(sites.summaries, job.id)] == ["a.test", "b.test"]
    told = [event.kind for event in await database.read(events.of_job, job.id)]
    assert told[-2:] == ["job.hidden", "job.archived"]
    assert not [kind for kind in told if not kind.startswith("job.")]
    assert await database.read(retention_queries.deleted_at, job.id) is not None
    assert await retainer.pass_once(after(400)) == NOTHING


async def test_each_pass_does_a_little_and_the_next_goes_on(database: AnyDatabase) -> None:
    job = await finished_job(database, pages=20)
    total = sum((await database.read(rows_of, job.id)).values())
    await Retainer(database, TERMS).pass_once(after(91))
    small = Retainer(database, TERMS, per_pass=9)
    passes = [await small.pass_once(after(99))]
    assert await state_of(database, job.id) is JobState.ARCHIVED
    while not passes[-1].is_over:
        passes.append(await small.pass_once(after(99)))
    assert all(one.rows <= 9 for one in passes)
    assert len(passes) > 5
    assert sum(one.rows for one in passes) >= total - 18
    assert passes[-1].deleted == (job.id,)
    assert (await database.read(rows_of, job.id))["pages"] == 0


async def test_another_job_loses_nothing(database: AnyDatabase) -> None:
    old = await finished_job(database)
    await Retainer(database, TERMS).pass_once(after(91))
    other = await finished_job(database, "c.test")
    before = await database.read(rows_of, other.id)
    report = await Retainer(database, Terms(timedelta(days=98.5), timedelta())).pass_once(after(98.9))
    assert report.deleted == (old.id,)
    assert await database.read(rows_of, other.id) == before


async def test_a_paused_job_is_cancelled_and_can_be_resumed_until_it_is_deleted(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://a.test/", "CRM"))
    for state in (JobState.PAUSING, JobState.PAUSED):
        await database.write(jobs.move, job.id, state)
    retainer = Retainer(database, TERMS)
    assert (await retainer.pass_once(after(91))).hidden == (job.id,)
    assert await state_of(database, job.id) is JobState.CANCELLED
    await database.write(jobs.move, job.id, JobState.RUNNING)
    assert (await retainer.pass_once(after(200))).shown == (job.id,)
    assert (await database.read(rows_of, job.id))["pages"] == 1


async def test_a_job_of_an_unknown_recipe_is_kept_for_the_usual_time(database: AnyDatabase) -> None:
    job = await finished_job(database)
    await database.write(lambda tx: tx.run(update(job_rows).values(recipe="unheard-of")).rowcount)
    retainer = Retainer(database, TERMS)
    assert await retainer.pass_once(after(89.9)) == NOTHING
    assert (await retainer.pass_once(after(90.1))).hidden == (job.id,)


async def test_who_loses_a_visit_to_a_deletion_can_read_why(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    held = await database.write(claim_all)
    await database.write(jobs.move, job.id, JobState.CANCELLED)
    await database.write(retention_queries.let_go, job.id)
    told = [one for one in await database.read(events.of_job, job.id) if one.kind == "visit.ready"]
    assert {one.visit_id for one in told} == {visit.id for visit in held}
    assert {(one.who, one.why) for one in told} == {("home/0-1", "its job is at rest")}
    await database.write(retention_queries.let_go, job.id)
    assert len(await database.read(events.of_job, job.id)) == len(told) + 5


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.RUNNING])
async def test_a_job_that_is_at_work_or_to_come_is_never_touched(database: AnyDatabase, state: JobState) -> None:
    job = await database.write(make_job, "a.test", start=state is JobState.RUNNING)
    assert await Retainer(database, TERMS).pass_once(after(4000)) == NOTHING
    assert await state_of(database, job.id) is state


async def test_who_keeps_results_for_longer_sees_hidden_ones_again(database: AnyDatabase) -> None:
    job = await finished_job(database)
    await Retainer(database, TERMS).pass_once(after(91))
    assert (await Retainer(database, Terms(timedelta(days=365))).pass_once(after(99))).shown == (job.id,)
    kept = await database.read(retention_queries.kept_job, job.id)
    assert kept
    assert kept.hidden_at is None


async def test_looking_ahead_changes_nothing_and_says_what_comes(database: AnyDatabase) -> None:
    job = await finished_job(database)
    retainer = Retainer(database, TERMS)
    (one,) = await retainer.outlook(after(0))
    assert (one.job.id, one.step, one.job.records) == (job.id, NextStep.KEEP, 6)
    assert (one.deletes_at - one.hides_at, one.hides_at - one.job.since) == (TERMS.grace, TERMS.usual)
    (due,) = await retainer.outlook(after(91))
    assert due.step is NextStep.HIDE
    assert await retainer.outlook(after(0)) == [one]


async def test_a_worker_that_is_late_writes_nothing_into_a_deleted_job(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await database.write(jobs.move, job.id, JobState.CANCELLED)
    await Retainer(database, TERMS).pass_once(after(91))
    assert (await Retainer(database, TERMS).pass_once(after(99))).deleted == (job.id,)
    committed = await settle(database, done(visit, "http://a.test/", "CRM"))
    assert committed.lost == {visit.lease}
    assert (await database.read(rows_of, job.id))["pages"] == 0


async def _scraped(database: AnyDatabase) -> UUID:
    """A finished job of the scrape recipe, with rows in every table."""
    job = await finished_job(database)

    def is_scrape(tx: Tx) -> None:
        tx.run(update(job_rows).where(job_rows.c.id == job.id).values(recipe="scrape"))
        budgets.open_job(tx, job.id, Cap(credits=10))
        alerts.fire(tx, AlertKind.SPENDING, "it", "said", job_id=job.id)

    await database.write(is_scrape)
    return job.id


def _left_of(tx: Tx, job_id: UUID) -> dict[str, int]:
    """Rows of a job in any table there is."""
    found: dict[str, int] = {}
    for table in metadata.sorted_tables:
        key = table.c.id if table.name == "jobs" else table.c.get("job_id")
        if key is not None:
            count = tx.run(select(func.count()).select_from(table).where(key == job_id)).scalar_one()
            found |= {table.name: count} if count else {}
    return found


async def test_nothing_is_left_of_a_scrape_job_after_thirty_days(database: AnyDatabase) -> None:
    job_id = await _scraped(database)
    other = await finished_job(database, "c.test")
    before = await database.read(rows_of, other.id)
    retainer = Retainer(database, TERMS)
    assert await retainer.pass_once(after(29.9)) == NOTHING
    assert {"jobs", "sites", "pages", "records", "counters", "events", "budgets", "alerts"} <= set(
        await database.read(_left_of, job_id)
    )
    assert (await retainer.pass_once(after(30.1))).hidden == (job_id,)
    report = await retainer.pass_once(after(30.1))
    assert (report.deleted, report.is_over) == ((job_id,), True)
    assert await database.read(_left_of, job_id) == {}
    assert await database.read(rows_of, other.id) == before
    assert await retainer.pass_once(after(31)) == NOTHING


async def test_a_scrape_job_that_was_deleted_by_hand_goes_wholly_when_its_time_comes(database: AnyDatabase) -> None:
    job_id = await _scraped(database)
    job = await database.read(jobs.get, job_id)
    assert job
    await delete_job(database, job)
    retainer = Retainer(database, TERMS)
    assert await retainer.pass_once(after(29)) == NOTHING
    assert await state_of(database, job_id) is JobState.ARCHIVED
    assert (await retainer.pass_once(after(31))).deleted == (job_id,)
    assert await database.read(_left_of, job_id) == {}


async def test_a_scrape_job_waits_for_its_files_to_be_removed(database: AnyDatabase) -> None:
    """Files are found by their rows: without those they would lie there for ever."""
    job_id = await _scraped(database)
    ordered = ExportRequest("results", "csv", "results.csv", {})
    (made,) = await database.write(exports.add, job_id, [ordered], "home")
    ready = {"state": "ready", "blob_key": "exports/results.csv"}
    await database.write(lambda tx: tx.run(update(export_rows).values(**ready)))
    retainer = Retainer(database, TERMS)
    for _ in range(3):
        await retainer.pass_once(after(31))
    assert set(await database.read(_left_of, job_id)) >= {"jobs", "exports"}
    gone = update(export_rows).where(export_rows.c.id == made.id).values(blob_key=None)
    await database.write(lambda tx: tx.run(gone))
    assert (await retainer.pass_once(after(31))).deleted == (job_id,)
    assert await database.read(_left_of, job_id) == {}
