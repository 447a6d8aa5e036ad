"""What failed is opened again, counted in the same transaction; what was read is left alone."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import select, text

from gossamer.clock import SystemClock
from gossamer.db import tables
from gossamer.db.database import PostgresDatabase
from gossamer.db.transactions import Tx
from gossamer.intake import control
from gossamer.intake.control import Retried, retry_failed
from gossamer.model.job import Job
from gossamer.model.page import ASKED_AGAIN, Attempt, Page, Visit
from gossamer.model.states import JobState, PageState, SiteState, VisitState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.step import Finished, PageStep, SiteFacts, Step
from gossamer.store import alerts, counters, events, jobs, pages, reclaim
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle, state_of

AT = 1_760_000_000_000


def failed(visit: Visit, url: str, reason: Reason, depth: int = 0, state: PageState = PageState.FAILED) -> Step:
    trouble = Trouble(reason, "x")
    page = Page.at(url, depth, rank=depth).tried(Attempt("direct", None, reason.name, 7, AT, (AT,)))
    return Step(visit, PageStep(page, state, trouble))


def ended(visit: Visit, state: SiteState, reason: Reason | None = None) -> Step:
    return Step(visit, ending=Finished(state, Trouble(reason, "x") if reason else None))


def finish(tx: Tx, job_id: UUID) -> None:
    assert jobs.move(tx, job_id, JobState.COMPLETED)


def rows_of(tx: Tx, table: str, job_id: UUID) -> list[dict[str, object]]:
    found = tables.metadata.tables[table]
    return [dict(row._mapping) for row in tx.run(select(found).where(found.c.job_id == job_id))]


def sums(tx: Tx, job_id: UUID) -> dict[str, int]:
    """What the counters ought to say, counted from the rows."""
    states = [(row["state"], "pages") for row in rows_of(tx, "pages", job_id)]
    states += [(row["state"], "sites") for row in rows_of(tx, "sites", job_id) if row["listed"]]
    names = [f"{kind}_{'open' if state == 'pending' else state}" for state, kind in states]
    return {name: names.count(name) for name in counters.NAMES if name.startswith(("sites_", "pages_"))}


async def agrees(database: AnyDatabase, job_id: UUID) -> None:
    progress = await database.read(counters.progress, job_id)
    counted = await database.read(sums, job_id)
    assert {name: getattr(progress, name) for name in counted} == counted
    waiting = [row["site_id"] for row in await database.read(rows_of, "pages", job_id) if row["state"] == "pending"]
    for site in await database.read(rows_of, "sites", job_id):
        assert site["open_pages"] == waiting.count(site["id"]), site["host"]
    assert sum(int(str(row["open_pages"])) for row in await database.read(rows_of, "visits", job_id)) == len(waiting)


async def test_only_what_may_work_by_now_is_tried_again(database: AnyDatabase) -> None:
    job = await database.write(make_job, "down.test", "gone.test", "part.test", "fine.test")
    held = {visit.host: visit for visit in await database.write(claim_all)}
    down, gone, part, fine = (held[f"{name}.test"] for name in ("down", "gone", "part", "fine"))
    await settle(
        database,
        failed(down, "http://down.test/", Reason.UNAVAILABLE),
        ended(down, SiteState.FAILED, Reason.UNAVAILABLE),
        failed(gone, "http://gone.test/", Reason.NOT_FOUND),
        ended(gone, SiteState.FAILED, Reason.NOT_FOUND),
        done(part, "http://part.test/", "CRM"),
        failed(part, "http://part.test/slow", Reason.TIMEOUT, depth=1),
        failed(part, "http://part.test/lost", Reason.NOT_FOUND, depth=1),
        ended(part, SiteState.DONE),
        done(fine, "http://fine.test/", "CRM"),
        ended(fine, SiteState.DONE),
    )
    await database.write(finish, job.id)
    read = await database.read(counters.progress, job.id)

    job_now = await database.read(jobs.get, job.id)
    assert job_now
    assert await retry_failed(database, job_now) == Retried(sites=1, pages=2)

    assert await state_of(database, job.id) is JobState.RUNNING
    await agrees(database, job.id)
    now = await database.read(counters.progress, job.id)
    assert (now.sites_done, now.sites_failed, now.pages_done, now.records) == (1, 1, read.pages_done, 2)
    assert now.sites_recently == read.sites_recently  # how fast it was does not change
    assert {visit.host for visit in await database.write(claim_all)} == {"down.test", "part.test"}
    happened = await database.read(events.of_job, job.id)
    assert [(event.who, event.why) for event in happened if event.kind == "job.retried"] == [
        ("user", "1 domains, 2 pages")
    ]


async def test_a_page_keeps_its_history_and_gets_its_tries_anew(database: AnyDatabase) -> None:
    job = await database.write(make_job, "down.test")
    (visit,) = await database.write(claim_all)
    await settle(
        database,
        failed(visit, "http://down.test/", Reason.UNAVAILABLE),
        ended(visit, SiteState.FAILED, Reason.UNAVAILABLE),
    )
    await database.write(finish, job.id)
    job_now = await database.read(jobs.get, job.id)
    assert job_now
    await retry_failed(database, job_now)
    (page,), _, _ = await database.read(pages.of_visit, job.id, visit.id, Page.at("http://down.test/").key[:4])
    assert [attempt.rung for attempt in page.attempts] == ["direct", ASKED_AGAIN]
    assert page.tries == 0
    assert page.tried(Attempt("direct", 200, "", 1, AT)).tries == 1
    assert page.rank == 1  # chosen once more: what it links to is new to the walk


async def test_spellings_that_led_nowhere_are_tried_from_the_first_one_on(database: AnyDatabase) -> None:
    job = await database.write(make_job, "down.test")
    (visit,) = await database.write(claim_all)

    def two_ways_in(tx: Tx) -> None:
        tx.run(tables.sites.update().values(entries=["https://down.test/", "http://down.test/"]))

    await database.write(two_ways_in)
    await settle(
        database,
        failed(visit, "https://down.test/", Reason.UNREACHABLE, state=PageState.SKIPPED),
        failed(visit, "http://down.test/", Reason.UNREACHABLE),
        ended(visit, SiteState.FAILED, Reason.UNREACHABLE),
    )
    await database.write(finish, job.id)
    job_now = await database.read(jobs.get, job.id)
    assert job_now
    assert await retry_failed(database, job_now) == Retried(sites=1, pages=1)
    assert await database.read(rows_of, "pages", job.id) == []
    await agrees(database, job.id)
    (again,) = await database.write(claim_all)
    assert {errand.url for errand in again.errands} == {"https://down.test/", "http://down.test/"}


async def test_a_site_of_which_a_spelling_was_not_reached_is_tried_from_the_first_one_on(database: AnyDatabase) -> None:
    """The last spelling's 404 stands in its row, and is not the last word."""
    job = await database.write(make_job, "down.test")
    (visit,) = await database.write(claim_all)

    def two_ways_in(tx: Tx) -> None:
        tx.run(tables.sites.update().values(entries=["https://down.test/", "http://down.test/"]))

    await database.write(two_ways_in)
    await settle(
        database,
        failed(visit, "https://down.test/", Reason.UNREACHABLE, state=PageState.SKIPPED),
        failed(visit, "http://down.test/", Reason.NOT_FOUND),
        ended(visit, SiteState.FAILED, Reason.UNREACHABLE),
    )
    await database.write(finish, job.id)
    job_now = await database.read(jobs.get, job.id)
    assert job_now
    assert await retry_failed(database, job_now) == Retried(sites=1, pages=1)
    assert await database.read(rows_of, "pages", job.id) == [], "the walk begins anew"
    await agrees(database, job.id)


async def test_a_dead_visit_gets_its_lives_back_and_a_site_its_peace(database: AnyDatabase) -> None:
    job = await database.write(make_job, "deadly.test", "resting.test")
    for visit in await database.write(claim_all):
        await settle(
            database,
            failed(visit, f"http://{visit.host}/", Reason.CRASHED),
            Step(visit, facts=SiteFacts(not_before=(await database.read(_now)) + timedelta(hours=1)))
            if visit.host == "resting.test"
            else ended(visit, SiteState.FAILED, Reason.CRASHED),
        )

    def kill(tx: Tx) -> None:
        tx.run(tables.visits.update().values(state=VisitState.DEAD, deaths=3, lease=None))
        tx.run(tables.sites.update().values(state=SiteState.FAILED, reason="CRASHED"))
        counters.add(tx, 0, {job.id: counters.CounterChange(sites_failed=1)})
        finish(tx, job.id)

    await database.write(kill)
    job_now = await database.read(jobs.get, job.id)
    assert job_now
    assert await retry_failed(database, job_now) == Retried(sites=2, pages=2)
    assert {(row["state"], row["deaths"]) for row in await database.read(rows_of, "visits", job.id)} == {("ready", 0)}
    assert [visit.host for visit in await database.write(claim_all)] == ["deadly.test"]
    await agrees(database, job.id)


async def test_a_job_without_failures_is_left_alone(database: AnyDatabase) -> None:
    job = await database.write(make_job, "fine.test")
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://fine.test/", "CRM"), ended(visit, SiteState.DONE))
    await database.write(finish, job.id)
    before = await database.read(events.of_job, job.id)
    job_now = await database.read(jobs.get, job.id)
    assert job_now
    assert await retry_failed(database, job_now) == Retried()
    assert await state_of(database, job.id) is JobState.COMPLETED
    assert await database.read(events.of_job, job.id) == before
    assert await database.read(alerts.recent, 10) == []


async def _found(database: AnyDatabase, job: Job) -> Job:
    found = await database.read(jobs.get, job.id)
    assert found
    return found


async def test_a_completed_job_with_a_site_left_open_goes_on(database: AnyDatabase) -> None:
    job = await database.write(make_job, "left.test", "fine.test")
    fine = next(visit for visit in await database.write(claim_all) if visit.host == "fine.test")
    await settle(database, done(fine, "http://fine.test/", "CRM"), ended(fine, SiteState.DONE))
    await database.write(reclaim.void_home, "home")
    await database.write(finish, job.id)
    assert await retry_failed(database, await _found(database, job)) == Retried(sites=1)
    assert await state_of(database, job.id) is JobState.RUNNING
    assert [visit.host for visit in await database.write(claim_all)] == ["left.test"]


async def test_a_first_batch_with_nothing_to_open_does_not_stop_the_second(
    database: AnyDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "SITES_AT_A_TIME", 1)
    job = await database.write(make_job, "a.test", "b.test")
    ordered = sorted(await database.write(claim_all), key=lambda visit: visit.site_id)
    for visit in ordered:
        home = f"http://{visit.host}/"
        await settle(database, failed(visit, home, Reason.TIMEOUT), ended(visit, SiteState.FAILED, Reason.TIMEOUT))

    def spoil(tx: Tx) -> None:
        # Its site seems worth another try, its page is not.
        mine = tables.pages.c.site_id == ordered[0].site_id
        tx.run(tables.pages.update().where(mine).values(reason=Reason.NOT_FOUND.name))
        for state in (JobState.PAUSING, JobState.PAUSED):
            assert jobs.move(tx, job.id, state)

    await database.write(spoil)
    assert await retry_failed(database, await _found(database, job)) == Retried(sites=1, pages=1)
    assert await state_of(database, job.id) is JobState.RUNNING


@pytest.mark.parametrize("ends_first", [False, True])
async def test_a_job_is_not_completed_while_its_sites_are_being_opened(
    new_postgres: Callable[[], str], ends_first: bool
) -> None:
    """Both look at rows of the other; whoever holds the job is first."""
    database = PostgresDatabase(new_postgres(), SystemClock())
    job = await database.write(make_job, "down.test")
    (visit,) = await database.write(claim_all)
    await settle(database, ended(visit, SiteState.FAILED))  # before it had chosen any page
    # A later batch: the job runs already.
    later = (job.id, [visit.site_id], (JobState.RUNNING, JobState.COMPLETED), Retried(), None)

    def reopen(tx: Tx) -> bool:
        return control._retry_some(tx, *later, last=True) == Retried(sites=1)

    def complete(tx: Tx) -> bool:
        return jobs.complete(tx, job.id)

    first, second = (complete, reopen) if ends_first else (reopen, complete)
    done_first = asyncio.Event()

    def slowly(tx: Tx) -> bool:
        done = first(tx)
        done_first.set()
        tx.run(text("SELECT pg_sleep(0.3)"))
        return done

    holding = asyncio.create_task(database.write(slowly))
    await done_first.wait()
    assert await database.write(second) is ends_first
    assert await holding
    assert await state_of(database, job.id) is JobState.RUNNING
    await database.close()


async def test_a_settle_does_not_wait_for_whoever_holds_its_job(new_postgres: Callable[[], str]) -> None:
    """It has sites in its hands that the other wants next."""
    database = PostgresDatabase(new_postgres(), SystemClock())
    job = await database.write(make_job, "fine.test")
    (visit,) = await database.write(claim_all)
    held = asyncio.Event()
    settled = asyncio.Event()

    def hold(tx: Tx) -> bool:
        jobs.hold(tx, job.id)
        held.set()
        for _ in range(30):
            if not settled.is_set():
                tx.run(text("SELECT pg_sleep(0.1)"))
        return settled.is_set()

    holding = asyncio.create_task(database.write(hold))
    await held.wait()
    await settle(database, done(visit, "http://fine.test/", "CRM"), ended(visit, SiteState.DONE))
    settled.set()
    assert await holding
    await database.close()


def _now(tx: Tx) -> datetime:
    return tx.now
