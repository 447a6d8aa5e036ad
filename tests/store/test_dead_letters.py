"""A visit that was given up waits for a person with its last error; retried, everything is as it was before."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import pytest
from sqlalchemy import text

from gossamer.clock import SystemClock
from gossamer.crawl.audit import audit
from gossamer.db.database import PostgresDatabase
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.alert import AlertKind
from gossamer.model.job import Job
from gossamer.model.page import Page, Visit
from gossamer.model.states import JobState, PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.step import HandOver, PageStep, Step
from gossamer.store import alerts, counters, dead_letters, events, jobs, pages, reclaim, sites
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle, state_of

WHY = "worker ended with SIGKILL"
HOME, MISSING = Page.at("http://a.test/"), Page.at("http://a.test/missing", 1)
OPEN = tuple(Page.at(f"http://a.test/{number}", 1, rank=number) for number in range(3))


async def kill(database: AnyDatabase, times: int = 3) -> Visit:
    """Walked by a worker that dies each time."""
    for _ in range(times):
        (visit,) = await database.write(claim_all)
        await database.write(reclaim.void_worker, "home/0-1", WHY, deadly=True)
    return visit


async def buried(database: AnyDatabase) -> tuple[Job, Visit]:
    """One page read, one failed for a reason of its own, three open when the visit was given up."""
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    failed = PageStep(MISSING, PageState.FAILED, Trouble(Reason.NOT_FOUND), http_status=404)
    await settle(database, done(visit, HOME.url), Step(visit, failed), Step(visit, chosen=OPEN))
    await database.write(reclaim.void_home, "home")
    return job, await kill(database)


async def figures(database: AnyDatabase, job_id: UUID) -> tuple[int, int, int, int]:
    """Failed sites; pages read, failed and open: counted as the rows are, or the audit would object."""
    assert (await audit(database, job_id)).sentence == ""
    progress = await database.read(counters.progress, job_id)
    return progress.sites_failed, progress.pages_done, progress.pages_failed, progress.pages_open


async def test_three_deaths_make_a_letter_an_alert_and_the_events(database: AnyDatabase) -> None:
    job, visit = await buried(database)
    (letter,) = await database.read(dead_letters.recent, 10)
    assert (letter.id, letter.job_id, letter.job_name, letter.host) == (visit.id, job.id, "test", "a.test")
    assert (letter.deaths, letter.last_error, letter.pages, letter.lane) == (3, WHY, 3, "http")
    assert await database.read(dead_letters.get, visit.id) == letter
    assert await figures(database, job.id) == (1, 1, 4, 0)
    (alert,) = await database.read(alerts.recent, 10)
    assert (alert.kind, alert.subject, alert.job_id) == (AlertKind.DEAD_LETTER, str(visit.id), job.id)
    for part in ("a.test", "3 times", WHY, f"'gossamer system dead-letters show {visit.id.hex[-8:]}'"):
        assert part in alert.sentence
    happened = [(event.kind, event.why) for event in await database.read(events.of_job, job.id)]
    gone = "Given up after crashing the worker 3 times"
    assert happened[-2:] == [("visit.dead", WHY), ("site.failed", gone)]
    assert await database.write(claim_all) == []


async def test_a_retry_brings_back_what_was_there_and_nothing_else(database: AnyDatabase) -> None:
    job, visit = await buried(database)
    assert await database.write(jobs.move, job.id, JobState.COMPLETED)
    assert await database.write(dead_letters.retry, visit.id)
    assert await state_of(database, job.id) is JobState.RUNNING
    assert await figures(database, job.id) == (0, 1, 1, 3)
    (again,) = await database.write(claim_all)
    assert (again.id, again.deaths) == (visit.id, 0)
    waiting, ended, _ = await database.read(pages.of_visit, job.id, visit.id, HOME.key[:4])
    assert [page.url for page in waiting] == [page.url for page in OPEN]
    assert {known.url: known.reason for known in ended} == {HOME.url: "", MISSING.url: "NOT_FOUND"}
    (summary,) = await database.read(sites.summaries, job.id)
    assert (summary.state, summary.trouble) == (SiteState.OPEN, None)
    assert await database.read(alerts.recent, 10) == []
    assert await database.read(dead_letters.recent, 10) == []
    by_user = [event.kind for event in await database.read(events.of_job, job.id) if event.who == "user"]
    assert by_user == ["visit.ready", "site.open", "job.running"]
    assert not await database.write(dead_letters.retry, visit.id)


async def test_a_retried_visit_that_kills_again_is_a_letter_again(database: AnyDatabase) -> None:
    job, visit = await buried(database)
    await database.write(dead_letters.retry, visit.id)
    await kill(database, times=2)
    assert await database.read(dead_letters.recent, 10) == []
    await kill(database, times=1)
    (letter,) = await database.read(dead_letters.recent, 10)
    assert (letter.id, letter.deaths, letter.pages) == (visit.id, 3, 3)
    assert await figures(database, job.id) == (1, 1, 4, 0)
    assert len(await database.read(alerts.recent, 10)) == 1


@pytest.mark.parametrize("state", [JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED, JobState.PAUSED])
async def test_a_job_at_rest_runs_again(database: AnyDatabase, state: JobState) -> None:
    job, visit = await buried(database)
    if state is JobState.PAUSED:
        await database.write(jobs.move, job.id, JobState.PAUSING)
    assert await database.write(jobs.move, job.id, state)
    assert await database.write(dead_letters.retry, visit.id)
    assert await state_of(database, job.id) is JobState.RUNNING


async def test_a_letter_whose_job_ends_in_this_moment_sets_it_going_again(new_postgres: Callable[[], str]) -> None:
    database = PostgresDatabase(new_postgres(), SystemClock())
    job, visit = await buried(database)
    over = asyncio.Event()

    def complete_slowly(tx: Tx) -> None:
        assert jobs.complete(tx, job.id)
        over.set()
        tx.run(text("SELECT pg_sleep(0.3)"))

    ending = asyncio.create_task(database.write(complete_slowly))
    await over.wait()
    assert await database.write(dead_letters.retry, visit.id)
    await ending
    assert await state_of(database, job.id) is JobState.RUNNING
    await database.close()


async def test_of_an_archived_job_nothing_is_retried(database: AnyDatabase) -> None:
    job, visit = await buried(database)
    keys = [page.key for page in OPEN]
    before = await database.read(pages.states, job.id, keys)
    for state in (JobState.COMPLETED, JobState.ARCHIVED):
        await database.write(jobs.move, job.id, state)
    with pytest.raises(UserError, match="is archived") as refused:
        await database.write(dead_letters.retry, visit.id)
    assert (refused.value.code, "dead-letters drop" in refused.value.hint) == ("dead_letters.archived", True)
    # Refused as a whole: not one row of it was changed.
    assert await database.read(pages.states, job.id, keys) == before == dict.fromkeys(keys, PageState.FAILED)
    assert (await database.read(counters.progress, job.id)).pages_failed == 4
    assert [letter.id for letter in await database.read(dead_letters.recent, 10)] == [visit.id]


async def test_a_dropped_letter_is_shown_no_more_and_its_site_stays_failed(database: AnyDatabase) -> None:
    job, visit = await buried(database)
    assert await database.write(dead_letters.drop, visit.id)
    assert await database.read(dead_letters.recent, 10) == []
    assert await database.read(dead_letters.matching, visit.id.hex[-8:]) == []
    assert await database.read(alerts.recent, 10) == []
    assert await figures(database, job.id) == (1, 1, 4, 0)
    last = (await database.read(events.of_job, job.id))[-1]
    assert (last.kind, last.who, last.visit_id) == ("visit.dropped", "user", visit.id)
    assert not await database.write(dead_letters.drop, visit.id)
    assert not await database.write(dead_letters.retry, visit.id)


async def test_a_letter_is_found_by_the_beginning_or_the_end_of_its_id(database: AnyDatabase) -> None:
    _, visit = await buried(database)
    for digits in (visit.id.hex, visit.id.hex[-8:], visit.id.hex[:12]):
        assert await database.read(dead_letters.matching, digits) == [visit.id]
    assert await database.read(dead_letters.matching, "fffff") == []


async def test_a_dead_visit_that_a_redirect_wakes_is_no_letter_and_has_one_life(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    held = {visit.host: visit for visit in await database.write(claim_all)}
    for _ in range(3):
        guilty = held["a.test"]
        await database.write(reclaim.take_back, {guilty.id: guilty.lease}, "its walk crashed")
        held.update({visit.host: visit for visit in await database.write(claim_all)})
    assert [letter.host for letter in await database.read(dead_letters.recent, 10)] == ["a.test"]
    handed = HandOver("http://a.test/landing", 1, entry=False, found_on="http://b.test/go")
    await settle(database, Step(held["b.test"], handed=(handed,)))
    assert await database.read(dead_letters.recent, 10) == []
    assert await database.read(alerts.recent, 10) == []
    assert await figures(database, job.id) == (0, 0, 0, 1)
    (woken,) = await database.write(claim_all)
    await database.write(reclaim.take_back, {woken.id: woken.lease}, "its walk crashed")
    (letter,) = await database.read(dead_letters.recent, 10)
    assert (letter.host, letter.deaths, letter.pages) == ("a.test", 4, 1)
