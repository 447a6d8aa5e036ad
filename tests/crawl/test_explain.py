"""One address, told from rows alone: which page is meant, what it is the same as, and why it is none."""

from gossamer.frontier.notes import Candidate, Notes, Sitemaps
from gossamer.history.explain import Explanation, explain
from gossamer.model.job import CrawlPolicy, Job
from gossamer.model.page import Errand, Page, Visit
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import spellings_of
from gossamer.settle.step import Finished, HandOver, PageStep, SiteFacts, Step
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle

HOME = "http://a.test/"
ROBOTS = {"http://a.test": {"status": 200, "body": "User-agent: *\nDisallow: /private/\nCrawl-delay: 2\n"}}


async def told(database: AnyDatabase, job: Job, text: str) -> Explanation:
    return await explain(database, job, CrawlPolicy(), ["match"], text, spellings_of(text))


async def walked(database: AnyDatabase) -> tuple[Job, Visit]:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    return job, visit


def skipped(visit: Visit, url: str, trouble: Trouble, *handed: HandOver) -> Step:
    return Step(visit, PageStep(Page.at(url, 1, found_on=HOME), PageState.SKIPPED, trouble, 200), handed=handed)


def test_an_address_may_be_written_as_people_do() -> None:
    bare = spellings_of(" A.test/x/../b?utm_source=mail#top ")
    assert bare[:2] == ("https://a.test/b", "http://a.test/b")
    assert set(bare) == {f"{scheme}://{www}a.test/b" for scheme in ("http", "https") for www in ("", "www.")}
    assert spellings_of("http://www.a.test")[0] == "http://www.a.test/"
    assert "https://a.test/" in spellings_of("http://www.a.test")


def test_what_is_no_web_address_has_no_spelling() -> None:
    assert [spellings_of(text) for text in ("", "a b", "ftp://a.test/", "://")] == [()] * 4


async def test_the_spelling_that_was_typed_counts_else_the_one_that_tells_most(database: AnyDatabase) -> None:
    job, visit = await walked(database)
    nobody = skipped(visit, "https://a.test/", Trouble(Reason.UNREACHABLE))
    await settle(database, nobody, done(visit, HOME, "CRM"))
    bare = await told(database, job, "a.test")
    assert bare.page
    assert (bare.page.url, [page.url for page in bare.spellings]) == (HOME, ["https://a.test/"])
    assert [record["keyword"] for record in bare.records] == ["CRM"]
    typed = await told(database, job, "https://a.test/")
    assert typed.page
    assert typed.page.url == "https://a.test/"
    twin = await told(database, job, "https://www.a.test/")
    assert twin.page
    assert twin.page.url == HOME


async def test_a_page_that_was_read_under_another_address(database: AnyDatabase) -> None:
    job, visit = await walked(database)
    same = skipped(visit, "http://a.test/index.html", Trouble(Reason.SAME_AS, HOME))
    await settle(database, done(visit, HOME), same)
    left_out = await told(database, job, "a.test/index.html")
    assert left_out.same_as
    assert left_out.same_as.url == HOME
    read = await told(database, job, "a.test")
    assert [twin.url for twin in read.twins] == ["http://a.test/index.html"]


async def test_a_page_that_was_handed_over_can_be_followed(database: AnyDatabase) -> None:
    job, visit = await walked(database)
    handed = HandOver("http://b.test/in", 1, False, "http://a.test/go")
    await settle(database, skipped(visit, "http://a.test/go", Trouble(Reason.MOVED, "b.test"), handed))
    gone = await told(database, job, "http://a.test/go")
    assert [page.url for page in gone.handed_on] == ["http://b.test/in"]
    arrived = await told(database, job, "http://b.test/in")
    assert arrived.page
    assert (arrived.page.handed, arrived.page.found_on) == (1, "http://a.test/go")


async def test_robots_is_told_with_its_line_its_delay_and_when_it_was_asked(database: AnyDatabase) -> None:
    job, visit = await walked(database)
    errands = (Errand(1_800_000_000_000, "http://a.test/robots.txt", 200), Errand(1, "https://a.test/robots.txt", 503))
    await settle(database, done(visit, HOME), Step(visit, facts=SiteFacts(robots=ROBOTS, errands=errands)))
    ruling = (await told(database, job, "http://a.test/private/x")).ruling
    assert ruling
    assert (ruling.allowed, ruling.line, ruling.delay) == (False, (2, "Disallow: /private/"), 2.0)
    assert ruling.asked_at == 1_800_000_000_000
    await settle(database, skipped(visit, "https://a.test/", Trouble(Reason.ROBOTS_UNREACHABLE)))
    unknown = (await told(database, job, "https://a.test/")).ruling
    assert unknown
    assert (unknown.allowed, unknown.status, unknown.asked_at) == (None, 503, 1)


async def test_what_was_never_a_page_says_why(database: AnyDatabase) -> None:
    job, visit = await walked(database)
    notes = Notes({"http://a.test/met": Candidate(2, 0.0, 1, HOME)}, sitemaps=Sitemaps(tried=["http://a.test/s.xml"]))
    listed = PageStep(Page.at("http://a.test/listed", 1, found_on="http://a.test/s.xml"), PageState.DONE)
    facts = SiteFacts(notes=notes, robots=ROBOTS)
    ended = Step(visit, facts=facts, ending=Finished(SiteState.DONE))
    await settle(database, done(visit, HOME), done(visit, "http://a.test/about/"), Step(visit, listed), ended)
    reasons = {}
    for text in ("a.test/met", "a.test/never", "other.test/", "blog.a.test/"):
        answer = await told(database, job, text)
        assert answer.page is None
        reasons[text] = [absence.name for absence in answer.absences]
    assert reasons == {
        "a.test/met": ["not-chosen"],
        "a.test/never": ["not-linked"],
        "other.test/": ["other-host"],
        "blog.a.test/": ["other-host"],
    }
    assert (await told(database, job, "a.test/met")).url == "http://a.test/met"
    assert [page.url for page in (await told(database, job, "a.test/about")).spellings] == ["http://a.test/about/"]
    assert (await told(database, job, "a.test/listed")).from_sitemap


async def test_where_a_redirect_ended_is_told_by_the_page_that_led_there(database: AnyDatabase) -> None:
    job, visit = await walked(database)
    page = Page.at("http://a.test/old", 1)
    end = Page.at("http://a.test/new").key
    await settle(database, Step(visit, PageStep(page, PageState.DONE, http_status=200, identity=end)))
    answer = await told(database, job, "a.test/new")
    assert (answer.url, answer.page, answer.absences) == ("http://a.test/new", None, ())
    assert answer.same_as
    assert answer.same_as.url == "http://a.test/old"
