"""What failed is opened again, counted in the same transaction; what was read is left alone."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import select

from gossamer.intake.control import Retried, retry_failed
from gossamer.model.page import ASKED_AGAIN, Attempt, Page, Visit
from gossamer.model.states import JobState, PageState, SiteState, VisitState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.step import Finished, PageStep, SiteFacts, Step
from gossamer.store import alerts, counters, events, jobs, pages, tables
from gossamer.store.tx import Tx
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
    (page,), _ = await database.read(pages.of_visit, job.id, visit.id, Page.at("http://down.test/").key[:4])
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
        counters.add(tx, 0, {job.id: counters.Change(sites_failed=1)})
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


def _now(tx: Tx) -> datetime:
    return tx.now
