"""The audit finds nothing wrong where everything adds up, whatever state a job is in and whatever happens meanwhile."""

import asyncio
from uuid import uuid4

import pytest

from gossamer.crawl.audit import audit
from gossamer.errors import UserError
from gossamer.model.page import Page
from gossamer.model.states import JobState, SiteState
from gossamer.retention import queries as retention_queries
from gossamer.settle.step import Finished, HandOver, Step
from gossamer.store import jobs, reclaim
from tests.auditing import assert_clean, audited, finished, worked
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle, state_of


async def test_a_job_nobody_has_begun_is_clean(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test", start=False)
    report = await audited(database, job.id)
    assert report.clean
    assert {check.name: dict(check.figures) for check in report.checks}["domains"] == {
        **{"domains": 2, "open": 2, "done": 0, "failed": 0, "partial": 0},
    }
    assert len(report.checks) == 13


async def test_a_running_job_is_clean_and_its_figures_are_those_of_the_rows(database: AnyDatabase) -> None:
    report = await audited(database, await worked(database))
    assert (report.clean, report.sentence, report.state) == (True, "", JobState.RUNNING)
    figures = {check.name: dict(check.figures) for check in report.checks}
    assert figures["pages"] == {"pages": 6, "pending": 1, "done": 3, "failed": 1, "skipped": 1, "climbing": 0}
    assert figures["belonging"] == {"pages": 6, "visits": 3}
    assert figures["to come"] == {"domains open": 1, "visits to come": 1}
    assert figures["doubles"] == {"pages": 6, "records": 4}
    assert figures["read"] == {"done": 3}


@pytest.mark.parametrize(
    "path",
    [
        (JobState.PAUSING,),
        (JobState.PAUSING, JobState.PAUSED),
        (JobState.PAUSING, JobState.PAUSED, JobState.RUNNING),
        (JobState.FAILED,),
        (JobState.CANCELLED,),
        (JobState.CANCELLED, JobState.RUNNING),
    ],
    ids=lambda path: str(path[-1]),
)
async def test_a_job_is_clean_in_every_state(database: AnyDatabase, path: tuple[JobState, ...]) -> None:
    job_id = await worked(database)
    for state in path:
        assert await database.write(jobs.move, job_id, state)
    await assert_clean(database, job_id)


async def test_a_completed_job_is_clean_and_so_is_an_archived_one(database: AnyDatabase) -> None:
    job_id = await finished(database)
    await assert_clean(database, job_id)
    now = await database.read(lambda tx: tx.now)
    assert await database.write(retention_queries.archive, job_id, now, "", "user")
    await assert_clean(database, job_id)  # its rows are on their way out
    while await database.write(retention_queries.purge_step, job_id, 5):
        await assert_clean(database, job_id)
    report = await audited(database, job_id)
    assert report.clean
    assert [check.name for check in report.checks] == ["domains", "deleted", "leases"]


async def test_results_left_behind_by_a_deletion_are_found(database: AnyDatabase) -> None:
    job_id = await finished(database)
    await database.write(jobs.move, job_id, JobState.ARCHIVED)
    sentence = (await audited(database, job_id)).sentence
    assert sentence == "pages that should be deleted: 6; records that should be deleted: 5"


async def test_a_worker_may_still_hold_what_was_cancelled_a_moment_ago(database: AnyDatabase) -> None:
    job_id = await worked(database)
    (visit,) = await database.write(claim_all)
    await database.write(jobs.move, job_id, JobState.CANCELLED)
    await assert_clean(database, job_id)
    await settle(database, done(visit, "http://c.test/next", "ERP", depth=1))
    await database.write(reclaim.void_home, "home")
    await assert_clean(database, job_id)


async def test_pages_handed_over_and_domains_woken_again_add_up(database: AnyDatabase) -> None:
    job_id = await worked(database)
    (visit,) = await database.write(claim_all)
    back = HandOver("http://a.test/landing", 1, entry=False, found_on="http://c.test/go")
    away = HandOver("http://new.test/", 0, entry=True, found_on="http://c.test/")
    await settle(database, Step(visit, handed=(back, away)))
    await assert_clean(database, job_id)


async def test_a_visit_that_was_given_up_adds_up(database: AnyDatabase) -> None:
    job_id = await worked(database)
    for _ in range(3):
        (visit,) = await database.write(claim_all)
        await database.write(reclaim.take_back, {visit.id: visit.lease})
    assert {check.name: check.figures for check in (await audited(database, job_id)).checks}["domains"]["failed"] == 2
    await assert_clean(database, job_id)


async def test_an_audit_sees_one_moment_while_the_job_is_worked(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)

    async def work() -> None:
        for number in range(25):
            chosen = (Page.at(f"http://a.test/later/{number}", 1),)
            await settle(database, done(visit, f"http://a.test/{number}", "CRM", "ERP"), Step(visit, chosen=chosen))

    working = asyncio.create_task(work())
    seen = []
    while not working.done():
        report = await audited(database, job.id)
        assert report.clean, report.sentence
        seen.append(report.checks[0].figures["pages"])
    await working
    assert any(0 < pages < 50 for pages in seen)


async def test_without_the_recipe_nothing_is_said_of_double_records(database: AnyDatabase) -> None:
    report = await audit(database, await worked(database))
    assert report.clean
    assert {check.name: dict(check.figures) for check in report.checks}["doubles"] == {"pages": 6}


async def test_a_job_deleted_in_between_is_said_to_be(database: AnyDatabase) -> None:
    with pytest.raises(UserError, match="was deleted just now") as caught:
        await audited(database, uuid4())
    assert caught.value.code == "job.not_found"


async def test_the_last_site_closed_is_the_last_thing_missing(database: AnyDatabase) -> None:
    job_id = await worked(database)
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://c.test/next", depth=1), Step(visit, ending=Finished(SiteState.DONE)))
    await assert_clean(database, job_id)
    assert await state_of(database, job_id) is JobState.RUNNING
