"""What rows say of one address and of all requests, the same on both databases."""

from gossamer.model.page import Attempt, Errand, Page
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import url_key
from gossamer.settle.step import Finished, HandOver, PageStep, SiteFacts, Step
from gossamer.store import history
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle

HOME = "http://a.test/"
ROBOTS = {"http://a.test": {"status": 200, "body": "User-agent: *\nDisallow: /x\n"}}


async def test_a_site_comes_back_with_all_it_was_walked_by(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    errand = Errand(1_800_000_000_123, "http://a.test/robots.txt", 200)
    facts = SiteFacts(robots=ROBOTS, size=12, size_source="sitemap", errands=(errand,))
    ending = Finished(SiteState.PARTIAL, Trouble(Reason.PARTIAL_PAGES, "1 of 12"))
    await settle(database, done(visit, HOME), Step(visit, facts=facts, ending=ending))
    site = await database.read(history.site, job.id, "a.test")
    assert site
    assert (site.host, site.domain, site.given, site.entries) == ("a.test", "a.test", "a.test", (HOME,))
    assert site.state is SiteState.PARTIAL
    assert site.trouble
    assert site.trouble.sentence == "Partially crawled (1 of 12)"
    assert (site.pages_done, site.size, site.size_source) == (1, 12, "sitemap")
    assert site.robots == ROBOTS
    assert site.errands == (errand,)
    assert site.finished_at
    assert await database.read(history.site, job.id, "b.test") is None


async def test_a_page_comes_back_with_every_try(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    tries = (
        Attempt("direct", 503, "UNAVAILABLE", 40, 1_800_000_000_000, (1_800_000_000_010,)),
        Attempt("direct", 200, "", 90, 1_800_000_002_000, (1_800_000_002_001, 1_800_000_003_050)),
    )
    page = Page.at("http://a.test/b", 2, found_on=HOME, rank=7)
    page = page.tried(tries[0]).tried(tries[1])
    await settle(database, Step(visit, PageStep(page, PageState.DONE, http_status=200, identity=page.key, bytes_in=9)))
    (found,) = await database.read(history.pages_at, job.id, [page.key, url_key("http://a.test/c")])
    assert (found.url, found.depth, found.rank, found.found_on) == (page.url, 2, 7, HOME)
    assert found.attempts == tries
    assert (found.state, found.trouble, found.http_status, found.bytes_in) == (PageState.DONE, None, 200, 9)
    assert found.settled_at
    assert await database.read(history.page_with_identity, job.id, page.key) == found
    assert await database.read(history.page_with_identity, job.id, url_key(HOME)) is None


async def test_pages_that_are_the_same_or_were_handed_on_are_found(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    visits = {visit.host: visit for visit in await database.write(claim_all)}
    visit = visits["a.test"]
    same = PageStep(Page.at("http://a.test/index.html"), PageState.SKIPPED, Trouble(Reason.SAME_AS, HOME), 200)
    moved = PageStep(Page.at("http://a.test/go"), PageState.SKIPPED, Trouble(Reason.MOVED, "b.test"), 301)
    handed = HandOver("http://b.test/welcome", 1, False, "http://a.test/go")
    await settle(database, done(visit, HOME, "CRM"), Step(visit, same), Step(visit, moved, handed=(handed,)))
    twins = await database.read(history.pages_same_as, job.id, url_key(HOME))
    assert [twin.url for twin in twins] == ["http://a.test/index.html"]
    there = await database.read(history.pages_handed_on, job.id, "http://a.test/go", url_key("http://b.test/"))
    assert [(page.url, page.handed) for page in there] == [("http://b.test/welcome", 1)]
    (record,) = await database.read(history.records_of, job.id, ["match"], url_key(HOME))
    assert record["keyword"] == "CRM"
    assert await database.read(history.records_of, job.id, ["match"], url_key("http://a.test/go")) == []


async def test_requests_are_read_in_steps_that_miss_and_repeat_nothing(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test", "c.test")
    await database.write(make_job, "d.test")
    claimed = [visit for visit in await database.write(claim_all) if visit.job_id == job.id]
    steps = [done(visit, f"http://{visit.host}/{number}") for visit in claimed for number in range(3)]
    await settle(database, *steps)
    urls: list[str] = []
    key = history.FIRST
    while some := await database.read(history.requests_of_pages, job.id, key, 4):
        urls += [page.url for page in some]
        key = some[-1].key
    assert sorted(urls) == [f"http://{host}.test/{number}" for host in "abc" for number in range(3)]
    ids = [visit.site_id for visit in claimed]
    found = await database.read(history.manners_of_sites, ids[:2])
    assert {site.host for site in found.values()} == {visit.host for visit in claimed[:2]}
    assert all((site.robots, site.errands) == ({}, ()) for site in found.values())
