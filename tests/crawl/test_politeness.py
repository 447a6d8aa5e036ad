"""The proof of politeness: whatever is wrong in the rows is found, and nothing else."""

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import update

from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.history import politeness
from gossamer.history.politeness import DomainManners, prove_politeness
from gossamer.model.page import Attempt, Errand, Page, Visit
from gossamer.model.states import JobState, PageState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.step import PageStep, SiteFacts, Step
from gossamer.store import history, jobs
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, make_job, settle

NOON = 1_800_000_000_000
FORBIDS = {"status": 200, "body": "User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n"}
NO_FILE = {"status": 404, "body": ""}


def asked(visit: Visit, path: str, *sent: int, status: int | None = 200, reason: str = "") -> Step:
    """A page with one try whose requests went out so many milliseconds after noon."""
    page = Page.at(f"http://{visit.host}{path}", 1)
    page = page.tried(
        Attempt("direct", status, reason, 10, NOON + (sent[0] if sent else 0), tuple(NOON + at for at in sent))
    )
    trouble = Trouble(Reason[reason]) if reason else None
    return Step(visit, PageStep(page, PageState.FAILED if reason else PageState.DONE, trouble, status))


def facts(visit: Visit, robots: dict[str, object], *errands: tuple[int, str, int]) -> Step:
    kept = {f"http://{visit.host}": robots}
    ran = tuple(Errand(NOON + at, f"http://{visit.host}{path}", status) for at, path, status in errands)
    return Step(visit, facts=SiteFacts(robots=kept, errands=ran))


async def proof(database: AnyDatabase, job_id: UUID) -> list[DomainManners]:
    return await prove_politeness(database, job_id, lambda _: timedelta(seconds=1))


async def test_requests_gaps_and_decisions_are_counted_by_domain(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "shop.a.test", "b.test")
    visits = {visit.host: visit for visit in await database.write(claim_all)}
    a, shop, b = visits["a.test"], visits["shop.a.test"], visits["b.test"]
    await settle(
        database,
        facts(a, NO_FILE, (0, "/robots.txt", 404), (4_000, "/sitemap.xml", 0)),
        asked(a, "/", 1_020, 2_050),
        asked(a, "/busy", 5_100, status=503, reason="UNAVAILABLE"),
        facts(shop, FORBIDS, (6_500, "/robots.txt", 200)),
        asked(shop, "/private/x", status=None, reason="ROBOTS"),
        asked(shop, "/", 9_600),
        facts(b, NO_FILE, (0, "/robots.txt", 404)),
        Step(b, chosen=(Page.at("http://b.test/"),)),
    )
    first, second = await proof(database, job.id)
    assert (first.domain, first.hosts) == ("a.test", ("a.test", "shop.a.test"))
    assert (first.pages, first.errands, first.requests, first.unanswered) == (4, 3, 7, 1)
    assert first.gap == (1_020, 1_000, NOON + 1_020)
    assert first.files == (200, 404)
    assert (first.allowed, first.refused, first.forbidden) == (3, 1, 0)
    assert (first.strained, first.longest_wait) == (1, 1_400)
    assert first.delay == 3_000
    assert first.kept
    assert (second.domain, second.requests, second.gap, second.kept) == ("b.test", 1, None, True)


@pytest.mark.parametrize(("apart", "kept"), [(1_000, True), (998, True), (997, False), (0, False)])
async def test_a_gap_may_not_be_shorter_than_what_is_due(database: AnyDatabase, apart: int, kept: bool) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, facts(visit, NO_FILE, (0, "/robots.txt", 404)), asked(visit, "/", apart))
    (domain,) = await proof(database, job.id)
    assert domain.gap
    assert domain.gap.milliseconds == apart
    assert domain.kept is kept


async def test_a_crawl_delay_is_due_before_each_page_but_not_before_it_is_known(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    visits = {visit.host: visit for visit in await database.write(claim_all)}
    a, b = visits["a.test"], visits["b.test"]
    early = (0, "/robots.txt", 302), (1_100, "/rules", 302), (2_200, "/robots.txt", 200)
    await settle(database, facts(a, FORBIDS, *early), asked(a, "/", 5_200))
    await settle(database, facts(b, FORBIDS, (0, "/robots.txt", 200)), asked(b, "/", 1_500, 4_500))
    worst, good = await proof(database, job.id)
    assert (worst.domain, worst.kept, worst.gap) == ("b.test", False, (1_500, 3_000, NOON + 1_500))
    assert (good.domain, good.kept) == ("a.test", True)


async def test_what_was_asked_for_is_held_against_robots_once_more(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test", "c.test")
    visits = {visit.host: visit for visit in await database.write(claim_all)}
    a, b, c = visits["a.test"], visits["b.test"], visits["c.test"]
    await settle(
        database,
        facts(a, FORBIDS, (0, "/robots.txt", 200)),
        asked(a, "/private/x", 5_000),
        facts(b, FORBIDS, (0, "/robots.txt", 200), (5_000, "/private/sitemap.xml", 200)),
        Step(b, chosen=(Page.at("http://b.test/"),)),
        asked(c, "/", 0),  # and nobody knows what its robots.txt says
    )
    found = {one.domain: one for one in await proof(database, job.id)}
    assert found["a.test"].forbidden_urls == ("http://a.test/private/x",)
    assert found["b.test"].forbidden_urls == ("http://b.test/private/sitemap.xml",)
    assert found["c.test"].forbidden_urls == ("http://c.test/",)
    assert not any(one.kept for one in found.values())


async def test_jobs_at_the_same_time_share_the_spacing_and_others_do_not(database: AnyDatabase) -> None:
    first = await database.write(make_job, "a.test")
    second = await database.write(make_job, "a.test", "b.test")
    claimed = await database.write(claim_all)
    by_job = {(visit.job_id, visit.host): visit for visit in claimed}
    one, two = by_job[first.id, "a.test"], by_job[second.id, "a.test"]
    beside = await database.read(history.jobs_beside, first.id)
    assert second.id in beside
    await settle(database, facts(one, NO_FILE, (0, "/robots.txt", 404)), asked(one, "/", 2_000))
    await settle(database, facts(two, NO_FILE), asked(two, "/", 2_400), asked(two, "/x", 2_500))
    (domain,) = await proof(database, first.id)
    assert (domain.requests, domain.allowed) == (2, 1)
    assert domain.gap == (400, 1_000, NOON + 2_400)
    await database.write(_end_long_ago, second.id)
    (domain,) = await proof(database, first.id)
    assert domain.gap == (2_000, 1_000, NOON + 2_000)


def _end_long_ago(tx: Tx, job_id: UUID) -> None:
    jobs.move(tx, job_id, JobState.CANCELLED)
    long_ago = tx.now - timedelta(days=1)
    tx.run(update(tables.jobs).where(tables.jobs.c.id == job_id).values(started_at=long_ago, finished_at=long_ago))


async def test_large_jobs_are_read_in_steps(database: AnyDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(politeness, "_SITES_PER_READ", 2)
    monkeypatch.setattr(politeness, "_PAGES_PER_READ", 3)
    hosts = [f"s{number}.test" for number in range(7)]
    job = await database.write(make_job, *hosts)
    for visit in await database.write(claim_all):
        pages = [asked(visit, f"/{number}", number * 2_000 + 2_000) for number in range(4)]
        await settle(database, facts(visit, NO_FILE, (0, "/robots.txt", 404)), *pages)
    found = await proof(database, job.id)
    assert [one.domain for one in found] == hosts
    assert {one.requests for one in found} == {5}
    assert {one.gap.milliseconds for one in found if one.gap} == {2_000}
    assert {one.allowed for one in found} == {4}


async def test_a_job_that_asked_nothing_has_nothing_to_prove(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    assert await proof(database, job.id) == []
    (visit,) = await database.write(claim_all)
    await settle(database, Step(visit, chosen=(Page.at("http://a.test/"),)))
    (domain,) = await proof(database, job.id)
    assert (domain.requests, domain.kept, domain.gap) == (0, True, None)
