"""What is forgotten is nowhere in the rows any more, and the rows still add up."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from gossamer.crawl.audit import audit
from gossamer.db import tables as t
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.frontier.candidates import Level
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.notes import Candidate, Notes, Sitemaps, links_without, notes_without
from gossamer.history.explain import Explanation, explain
from gossamer.history.politeness import prove_politeness
from gossamer.model.alert import AlertKind
from gossamer.model.job import CrawlPolicy, Job
from gossamer.model.mention import ErasureTarget, of_domain, of_page
from gossamer.model.page import Attempt, Errand, Page, Visit
from gossamer.model.states import JobState, PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import spellings_of, url_key
from gossamer.recipes.prospect import MATCH
from gossamer.recipes.registry import RECIPES
from gossamer.retention.erase import find_mentions, forget_in_job, forget_robots
from gossamer.settle.step import Finished, HandBack, HandOver, PageStep, SiteFacts, Step
from gossamer.store import alerts, counters, events, history, jobs, pages, retry, sites
from gossamer.store.events import forgot_at
from gossamer.store.robots import RobotsAnswer
from tests.conftest import AnyDatabase
from tests.jobs import USUAL, claim_all, done, make_job, settle

SECRET = "http://a.test/team/jane"
HOME = "http://a.test/"
ROBOTS = {"http://a.test": {"status": 200, "body": "User-agent: *\nDisallow: /\nAllow: /team\nAllow: /jane\n"}}
TRIED = Attempt("direct", 200, "", 5, 1_800_000_000_000, (1_800_000_000_001,))


def page_of(url: str, state: PageState, trouble: Trouble | None = None, **more: Any) -> PageStep:
    page = Page.at(url, 1, found_on=more.pop("found_on", HOME), rank=more.pop("rank", 1)).tried(TRIED)
    return PageStep(page, state, trouble, 200, **more)


async def crawled(database: AnyDatabase) -> Job:
    """A paused job of two sites whose rows name a page of the first in every place they can."""
    job = await database.write(make_job, "a.test", "b.test")
    visits = {visit.host: visit for visit in await database.write(claim_all)}
    first, second = visits["a.test"], visits["b.test"]
    level = Level()
    links = level.add(0, HOME, 0, [SECRET, "http://a.test/other"])
    candidates = {
        SECRET + "/cv": Candidate(1, 0, 2, SECRET),
        "http://www.a.test/team/jane": Candidate(1, 0, 2, HOME),
        "http://a.test/later": Candidate(1, 0, 2, HOME),
    }
    facts = SiteFacts(
        notes=Notes(candidates, as_of=0, sitemaps=Sitemaps(begun=True)),
        robots=ROBOTS,
        errands=(Errand(1, "http://a.test/robots.txt", 200),),
        answers=(RobotsAnswer("http://a.test", 200, "", datetime.now(UTC)),),
    )
    home, secret = (
        done(first, HOME, "CRM"),
        done(first, SECRET, "CRM", "ERP", depth=1, context_snippet="Jane likes CRM"),
    )
    assert home.page
    assert secret.page
    steps = [
        replace(home, page=home.page._replace(links=links), facts=facts),
        replace(secret, page=secret.page._replace(page=secret.page.page.tried(TRIED))),
        done(first, "http://a.test/other", "CRM", depth=1),
        Step(first, page_of("http://a.test/jane", PageState.SKIPPED, Trouble(Reason.SAME_AS, SECRET), rank=3)),
        Step(first, page_of("http://a.test/team/jane?print=1", PageState.FAILED, Trouble(Reason.TIMEOUT), rank=4)),
        Step(first, chosen=(Page.at("http://a.test/under", 2, found_on=SECRET, rank=5),)),
        done(second, "http://b.test/", "CRM", link_url=SECRET, anchor_text="Jane", context_snippet=f"see {SECRET}."),
        done(second, "http://b.test/2", "CRM", link_url="http://a.test/other", anchor_text="x"),
        Step(second, page_of("http://b.test/go", PageState.SKIPPED, Trouble(Reason.MOVED, "shop.a.test"), rank=2)),
        Step(second, handed=(HandOver("http://shop.a.test/x", 1, False, "http://b.test/go"),)),
    ]
    await settle(database, *steps)
    now = datetime.now(UTC)
    await settle(database, Step(first, ending=HandBack(now)), Step(second, ending=Finished(SiteState.DONE)))
    for state in (JobState.PAUSING, JobState.PAUSED):
        await database.write(jobs.move, job.id, state)
    assert await faults(database, job) == []
    return await as_it_is(database, job.id)


async def faults(database: AnyDatabase, job: Job) -> list[str]:
    return [fault for check in (await audit(database, job.id, RECIPES)).checks for fault in check.faults]


async def as_it_is(database: AnyDatabase, job_id: UUID) -> Job:
    job = await database.read(jobs.get, job_id)
    assert job
    return job


async def forgotten(database: AnyDatabase, job: Job, mention: ErasureTarget) -> tuple[int, int, int]:
    found = await find_mentions(database, job, (MATCH,), mention)
    await forget_in_job(database, found, mention)
    await forget_robots(database, mention)
    again = await find_mentions(database, job, (MATCH,), mention)
    assert not again, "a second look finds nothing"
    return len(found.pages), found.records, found.mentions


def texts(tx: Tx) -> str:
    """Every text of every table, unpacked where it is packed."""
    said = []
    for table in t.metadata.sorted_tables:
        columns = [column for column in table.c if column.name not in ("links", "notes", "key", "identity", "page_key")]
        for row in tx.run(select(*columns)):
            said += [str(value) for value in row]
    for packed in tx.run(select(t.sites.c.notes)).scalars():
        notes = Notes.unpack(bytes(packed))
        said += [*notes.candidates, *(one.found_on for one in notes.candidates.values())]
    for row in tx.run(select(t.pages.c.url, t.pages.c.links).where(func.length(t.pages.c.links) > 0)):
        level = Level()
        level.recall(0, row.url, 0, bytes(row.links))
        said += [link for _, link in level.links()]
    return "\n".join(said)


async def test_a_page_is_nowhere_any_more_and_everything_adds_up(database: AnyDatabase) -> None:
    job = await crawled(database)
    mention = of_page(spellings_of("a.test/team/jane"))
    before = await database.read(counters.progress, job.id)
    assert await forgotten(database, job, mention) == (1, 2, 5)
    said = await database.read(texts)
    assert not [line for line in said.splitlines() if mention.is_in(line)]
    assert "http://a.test/other" in said
    assert "team/jane?print=1" in said, "another page"
    assert await faults(database, job) == []
    now = await database.read(counters.progress, job.id)
    assert (now.records, now.pages_done) == (before.records - 2, before.pages_done)
    last = (await database.read(events.of_job, job.id))[-1]
    assert (last.kind, last.who) == ("job.forgot", "user")
    assert last.why == "1 page, 2 records, 5 mentions elsewhere"


async def test_other_pages_keep_their_records_without_what_named_it(database: AnyDatabase) -> None:
    job = await crawled(database)
    await forgotten(database, job, of_page(spellings_of(SECRET)))
    (record,) = await database.read(history.records_of, job.id, ["match"], url_key("http://b.test/"))
    assert record == {
        **USUAL,
        "domain": "b.test",
        "url": "http://b.test/",
        "keyword": "CRM",
        "link_url": "",
        "anchor_text": "Jane",
        "context_snippet": "",
    }
    (other,) = await database.read(history.records_of, job.id, ["match"], url_key("http://b.test/2"))
    assert other["link_url"] == "http://a.test/other"


async def test_a_domain_is_gone_but_for_the_line_of_the_list(database: AnyDatabase) -> None:
    job = await crawled(database)
    await forgotten(database, job, of_domain("a.test"))
    assert await faults(database, job) == []
    said = {line for line in (await database.read(texts)).splitlines() if "a.test" in line}
    kept = {line for line in said if not line.startswith("http://a.test/forgotten:")}
    assert kept == {"a.test", "['http://a.test/']"}
    assert not await database.read(history.records_of, job.id, ["match"], url_key(HOME))
    hosts = [host for host, _ in await database.read(sites.hosts, job.id, "", 10)]
    assert hosts[:2] == ["a.test", "b.test"]
    assert hosts[2].startswith("forgotten-")
    (record,) = await database.read(history.records_of, job.id, ["match"], url_key("http://b.test/2"))
    assert (record["link_url"], record["url"]) == ("", "http://b.test/2")


async def test_nor_does_an_alert_or_the_job_itself_name_it_any_more(database: AnyDatabase) -> None:
    job = await crawled(database)
    mention = of_page(spellings_of(SECRET))

    def say(tx: Tx) -> None:
        said = f"The rows do not add up: {SECRET}. See the log."
        alerts.fire(tx, AlertKind.AUDIT, str(job.id), said, job_id=job.id)
        alerts.fire(tx, AlertKind.LANE, str(job.id), "Nobody walks http://a.test/other.", job_id=job.id)
        tx.run(update(t.jobs).values(reason=said))

    await database.write(say)
    assert (await forgotten(database, job, mention))[2] == 5 + 2
    said = await database.read(texts)
    assert not [line for line in said.splitlines() if mention.is_in(line)]
    told = {alert.kind: alert.sentence for alert in await database.read(alerts.of_job, job.id)}
    assert told[AlertKind.AUDIT] == (await as_it_is(database, job.id)).reason == "What was said here was forgotten."
    assert told[AlertKind.LANE] == "Nobody walks http://a.test/other."


async def test_forgetting_that_was_interrupted_is_done_when_it_is_repeated(database: AnyDatabase) -> None:
    job = await crawled(database)
    mention = of_domain("a.test")
    found = await find_mentions(database, job, (MATCH,), mention)
    await forget_in_job(database, replace(found, pages=(), naming_pages=(), naming_records=()), mention)
    assert "http://shop.a.test/x" in await database.read(texts)
    await forgotten(database, job, mention)
    assert "shop.a.test" not in await database.read(texts)
    assert await faults(database, job) == []


async def walked(database: AnyDatabase, job: Job, host: str) -> tuple[Visit, Frontier]:
    """A resumed job's visit as a worker takes it up."""
    await database.write(jobs.move, job.id, JobState.RUNNING)
    visit = next(visit for visit in await database.write(claim_all) if visit.host == host)
    found = await database.read(pages.of_visit, job.id, visit.id, url_key(visit.entries[0])[:4])
    return visit, Frontier(visit, CrawlPolicy(), *found)


async def test_a_resumed_job_goes_on_without_the_page(database: AnyDatabase) -> None:
    job = await crawled(database)
    await forgotten(database, job, of_page(spellings_of(SECRET)))
    _, frontier = await walked(database, job, "a.test")
    asked = []
    while page := frontier.next(datetime.now(UTC)):
        asked.append(page.url)
    asked += [page.url for page in frontier.deepen()]
    assert asked[0] == "http://a.test/under"
    assert sorted(asked[1:]) == ["http://a.test/later", "http://a.test/team/jane/cv"]


async def test_a_page_that_waits_or_failed_is_not_asked_for_again(database: AnyDatabase) -> None:
    job = await crawled(database)
    for url in ("http://a.test/under", "http://a.test/team/jane?print=1"):
        assert (await forgotten(database, job, of_page(spellings_of(url))))[0] == 1
    progress = await database.read(counters.progress, job.id)
    assert (progress.pages_failed, progress.pages_skipped) == (0, 4)
    assert await faults(database, job) == []
    reopened = await database.write(retry.reopen, job.id, await database.read(retry.candidates, job.id))
    assert reopened.pages == 0
    _, frontier = await walked(database, job, "a.test")
    assert frontier.next(datetime.now(UTC)) is None
    assert await database.read(waiting, job.id) == 1, "the one that was handed over"


def waiting(tx: Tx, job_id: UUID) -> int:
    query = select(func.count()).where(t.pages.c.job_id == job_id, t.pages.c.state == PageState.PENDING)
    return int(tx.run(query).scalar_one())


async def test_a_resumed_job_asks_nothing_of_a_forgotten_domain(database: AnyDatabase) -> None:
    job = await crawled(database)
    await forgotten(database, job, of_domain("a.test"))
    visit, frontier = await walked(database, job, "a.test")
    assert not visit.whole
    assert frontier.next(datetime.now(UTC)) is None
    assert not frontier.wants_sitemaps
    assert frontier.deepen() == ()
    assert await database.read(waiting, job.id) == 0


async def test_explaining_and_proving_still_work(database: AnyDatabase) -> None:
    job = await crawled(database)
    assert await forbidden(database, job) == 0
    for mention in (of_page(spellings_of(SECRET)), of_domain("a.test")):
        await forgotten(database, job, mention)
        for given in (SECRET, HOME, "http://a.test/jane", "http://a.test/other", "http://b.test/go"):
            urls = spellings_of(given)
            told = await explain(database, job, CrawlPolicy(), ["match"], given, urls)
            assert told.page or told.spellings or told.absences or told.same_as
        assert await forbidden(database, job) == 0


async def explained(database: AnyDatabase, job: Job, given: str) -> Explanation:
    return await explain(database, job, CrawlPolicy(), ["match"], given, spellings_of(given))


async def test_what_is_forgotten_is_said_to_be(database: AnyDatabase) -> None:
    job = await crawled(database)
    await forgotten(database, job, of_page(spellings_of(SECRET)))
    told = await explained(database, job, "a.test/team/jane")
    assert (told.page, told.same_as, told.spellings) == (None, None, ())
    (absence,) = told.absences
    at = (await database.read(forgot_at, job.id))[0]
    assert absence == (
        "forgotten",
        f"What this job knew of it was taken out with 'gossamer job forget' on {at.astimezone():%Y-%m-%d %H:%M:%S}.",
    )
    assert (await explained(database, job, HOME)).page, "another page"
    assert [one.name for one in (await explained(database, job, "http://a.test/none")).absences] != ["forgotten"]


async def test_so_is_every_address_of_a_forgotten_domain(database: AnyDatabase) -> None:
    job = await crawled(database)
    await forgotten(database, job, of_page(spellings_of(SECRET)))
    await forgotten(database, job, of_domain("a.test"))
    for given in (SECRET, HOME, "http://a.test/none", "http://shop.a.test/x", "http://shop.a.test/none"):
        told = await explained(database, job, given)
        assert (told.page, told.same_as, told.spellings) == (None, None, ())
        (absence,) = told.absences
        assert (absence.name, ", between 20" in absence.sentence) == ("forgotten", True)
    assert (await explained(database, job, "http://b.test/")).page
    (other,) = (await explained(database, job, "http://c.test/")).absences
    assert other.name == "other-host"


async def forbidden(database: AnyDatabase, job: Job) -> int:
    """Requests to the domain that its robots.txt speaks against."""
    proof = await prove_politeness(database, job.id, lambda _: timedelta(seconds=1))
    return next(one.forbidden for one in proof if one.domain == "a.test")


async def test_a_job_at_work_is_refused(database: AnyDatabase) -> None:
    job = await crawled(database)
    mention = of_page(spellings_of(SECRET))
    found = await find_mentions(database, job, (MATCH,), mention)
    await database.write(jobs.move, job.id, JobState.RUNNING)
    with pytest.raises(UserError, match="is running: nothing can be forgotten in it"):
        await forget_in_job(database, found, mention)
    assert await find_mentions(database, job, (MATCH,), mention) == found


@pytest.mark.parametrize(
    ("text", "page", "domain"),
    [
        ("http://a.test/team", True, True),
        ("https://www.a.test/team#top", True, True),
        ("read a.test/team.", True, True),
        ("http://b.test/?to=http%3A%2F%2Fa.test%2Fteam", True, True),
        ("http://a.test/team/jane", False, True),
        ("http://a.test/team?x=1", False, True),
        ("http://a.test/teams", False, True),
        ("mail@a.test", False, True),
        ("http://shop.a.test/team", False, True),
        ("http://data.test/team", False, False),
        ("http://a.test.evil.test/team", False, False),
        ("http://a.testing/team", False, False),
        ("", False, False),
    ],
)
def test_what_names_a_page_and_what_names_a_domain(text: str, page: bool, domain: bool) -> None:
    assert of_page(spellings_of("a.test/team")).is_in(text) is page
    assert of_domain("a.test").is_in(text) is domain


def test_a_homepage_is_named_with_and_without_its_slash() -> None:
    home = of_page(spellings_of("a.test"))
    assert [home.is_in(text) for text in ("http://a.test", "www.a.test/", "http://a.test/x", "xa.test")] == [
        *(True, True),
        *(False, False),
    ]


def test_links_and_notes_stay_as_they_are_where_nothing_names_it() -> None:
    unwanted = of_domain("b.test").is_in
    links = Level().add(0, HOME, 0, ["http://a.test/x"])
    assert links_without(links, unwanted, HOME) is None
    assert notes_without(Notes({"http://a.test/x": Candidate(1, 0, 1, HOME)}).pack(), unwanted) is None
