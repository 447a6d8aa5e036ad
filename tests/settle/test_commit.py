"""A batch becomes rows in one transaction: fenced, counted by what changed, and never double."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from gossamer.model.page import Page
from gossamer.model.states import JobState, PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.step import Finished, HandBack, HandOver, PageStep, Step
from gossamer.store import counters, jobs, pages, sites, visits
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, matches_of, settle, state_of

DONE = Finished(SiteState.DONE)


async def test_pages_records_and_counters_are_written_together(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    chosen = tuple(Page.at(f"http://a.test/{number}", 1, rank=number) for number in range(3))
    await settle(database, done(visit, "http://a.test/", "CRM", "ERP"), Step(visit, chosen=chosen))
    progress = await database.read(counters.progress, job.id)
    assert (progress.pages_done, progress.pages_open, progress.records, progress.bytes_in) == (1, 3, 2, 10)
    waiting, ended, _ = await database.read(pages.of_visit, job.id, visit.id, chosen[0].key[:4])
    assert [page.url for page in waiting] == [page.url for page in chosen]
    assert [(known.url, known.state) for known in ended] == [("http://a.test/", PageState.DONE)]


async def test_the_same_step_again_changes_nothing(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    for _ in range(2):
        await settle(database, done(visit, "http://a.test/", "CRM"))
    progress = await database.read(counters.progress, job.id)
    assert (progress.pages_done, progress.records) == (1, 1)


async def test_a_visit_that_lost_its_lease_writes_nothing_and_the_others_do(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    ours, theirs = await database.write(claim_all)
    zombie = replace(theirs, lease=ours.lease)
    outcome = await settle(database, done(ours, f"http://{ours.host}/", "CRM"), done(zombie, f"http://{theirs.host}/"))
    assert outcome.lost == {zombie.lease}
    assert (await database.read(counters.progress, job.id)).pages_done == 1


async def test_a_job_is_ready_to_close_when_its_last_site_is(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    first, second = await database.write(claim_all)
    await settle(database, done(first, f"http://{first.host}/"), Step(first, ending=DONE))
    assert await state_of(database, job.id) is JobState.RUNNING
    failed = Finished(SiteState.FAILED, Trouble(Reason.DNS), retries=2)
    assert await database.read(jobs.ready_to_close) == []
    await settle(database, Step(second, ending=failed))
    assert await database.read(jobs.ready_to_close) == [job.id]
    progress = await database.read(counters.progress, job.id)
    assert (progress.sites_done, progress.sites_failed, progress.sites_finished) == (1, 1, 2)
    (summary,) = await database.read(sites.summaries, job.id, SiteState.FAILED)
    assert summary.trouble
    assert (summary.trouble.sentence, summary.retries) == ("DNS resolution failed", 2)


async def test_a_visit_with_open_pages_cannot_end(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, Step(visit, chosen=(Page.at("http://a.test/x", 1),)), Step(visit, ending=DONE))
    assert await state_of(database, job.id) is JobState.RUNNING
    (again,) = await database.write(claim_all)
    assert again.id == visit.id


async def test_a_page_waiting_for_another_try_keeps_its_attempts(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    now = await database.read(lambda tx: tx.now)
    page = Page.at("http://a.test/").due(now + timedelta(seconds=30))
    step = Step(visit, PageStep(page, PageState.PENDING, Trouble(Reason.TIMEOUT, "15s")))
    await settle(database, step, Step(visit, ending=HandBack(now)))
    (visit,) = await database.write(claim_all)
    waiting, ended, _ = await database.read(pages.of_visit, job.id, visit.id, page.key[:4])
    assert (waiting[0].due_at, ended) == (page.due_at, [])
    assert (await database.read(counters.progress, job.id)).pages_open == 1


async def test_a_page_of_another_listed_site_is_handed_over_and_wakes_it(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    visits_by_host = {visit.host: visit for visit in await database.write(claim_all)}
    a, b = visits_by_host["a.test"], visits_by_host["b.test"]
    await settle(database, done(b, "http://b.test/"), Step(b, ending=DONE))
    handed = HandOver("http://b.test/landing", 1, entry=False, found_on="http://a.test/go")
    moved = PageStep(Page.at("http://a.test/go", 1), PageState.SKIPPED, Trouble(Reason.MOVED, "b.test"))
    await settle(database, Step(a, moved, handed=(handed,)))
    assert (await database.read(counters.progress, job.id)).sites_finished == 0
    (again,) = await database.write(claim_all)
    waiting, _, _ = await database.read(pages.of_visit, job.id, again.id, Page.at("http://b.test/").key[:4])
    assert [page.url for page in waiting] == ["http://b.test/landing"]
    # The same page handed over once more is not there twice.
    await settle(database, Step(a, handed=(handed,)))
    assert (await database.read(counters.progress, job.id)).pages_open == 1


async def test_a_site_met_through_a_redirect_is_walked_but_is_not_one_of_the_inputs(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    handed = HandOver("http://new.test/", 0, entry=True, found_on="http://a.test/")
    await settle(database, Step(visit, handed=(handed,), ending=DONE))
    assert await state_of(database, job.id) is JobState.RUNNING
    (new,) = await database.write(claim_all)
    assert (new.host, new.whole) == ("new.test", True)
    await settle(database, done(new, "http://new.test/", "CRM"), Step(new, ending=DONE))
    assert await database.read(jobs.ready_to_close) == [job.id]
    progress = await database.read(counters.progress, job.id)
    assert (progress.sites_total, progress.sites_finished, progress.records) == (1, 1, 1)


@pytest.mark.parametrize("entry_first", [True, False])
async def test_a_site_is_wanted_whole_in_whatever_order_that_is_said(database: AnyDatabase, entry_first: bool) -> None:
    await database.write(make_job, "a.test", "c.test")
    held = {visit.host: visit for visit in await database.write(claim_all)}
    entry = HandOver("http://new.test/", 0, entry=True, found_on="http://a.test/")
    single = HandOver("http://new.test/", 1, entry=False, found_on="http://c.test/x")
    steps = [Step(held["a.test"], handed=(entry,)), Step(held["c.test"], handed=(single,))]
    for step in steps if entry_first else reversed(steps):
        await settle(database, step)
    (new,) = await database.write(claim_all)
    assert (new.host, new.whole) == ("new.test", True)


async def test_a_site_that_becomes_wanted_whole_while_it_is_walked_is_walked_again(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test", "c.test")
    held = {visit.host: visit for visit in await database.write(claim_all)}
    single = HandOver("http://new.test/", 1, entry=False, found_on="http://c.test/x")
    await settle(database, Step(held["c.test"], handed=(single,)))
    (new,) = await database.write(claim_all)
    assert not new.whole
    entry = HandOver("http://new.test/", 0, entry=True, found_on="http://a.test/")
    await settle(database, Step(held["a.test"], handed=(entry,)))
    await settle(database, done(new, "http://new.test/"), Step(new, ending=DONE))
    (again,) = await database.write(claim_all)
    assert (again.host, again.whole) == ("new.test", True)


async def test_a_visit_that_lost_its_lease_makes_no_new_site(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    handed = HandOver("http://new.test/", 0, entry=True, found_on="http://a.test/")
    await settle(database, Step(replace(visit, lease=uuid4()), handed=(handed,)))
    assert [host for host, _ in await database.read(sites.hosts, job.id, "", 10)] == ["a.test"]


async def test_records_of_one_identity_are_kept_once_whoever_finds_them(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://a.test/", "CRM"), done(visit, "http://a.test/", "CRM", "ERP"))
    rows = await database.read(matches_of, job.id, visit.site_id)
    assert sorted(row["keyword"] for row in rows) == ["CRM", "ERP"]


async def test_jobs_never_mix_their_rows(database: AnyDatabase) -> None:
    one = await database.write(make_job, "a.test")
    two = await database.write(make_job, "a.test")
    for visit in await database.write(claim_all):
        keyword = "one" if visit.job_id == one.id else "two"
        await settle(database, done(visit, "http://a.test/", keyword), Step(visit, ending=DONE))
    for job, keyword in ((one, "one"), (two, "two")):
        (_, site_id) = (await database.read(sites.hosts, job.id, "", 10))[0]
        rows = await database.read(matches_of, job.id, site_id)
        assert [row["keyword"] for row in rows] == [keyword]
    assert await database.read(jobs.ready_to_close) == [one.id, two.id]


async def test_a_paused_job_gives_out_no_visit_and_rests_when_the_last_is_back(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    held = await database.write(claim_all)
    await database.write(jobs.move, job.id, JobState.PAUSING)
    assert await database.read(visits.busy_of_job, job.id) == 2
    assert await database.read(jobs.ready_to_rest) == []
    now = await database.read(lambda tx: tx.now)
    await settle(database, *(Step(visit, ending=HandBack(now)) for visit in held))
    assert await database.read(jobs.ready_to_rest) == [job.id]
    assert await database.write(claim_all) == []
