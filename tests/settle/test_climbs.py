"""Pages that climb to another lane: they move between the visits of their site, exactly once, and the site waits."""

import random
from dataclasses import replace
from datetime import datetime
from uuid import UUID, uuid4

import pytest

from gossamer.db.tables import sites as site_rows
from gossamer.db.tables import visits as visit_rows
from gossamer.db.transactions import Tx
from gossamer.model.page import Attempt, Page, Visit
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.step import Finished, HandBack, HandOver, PageStep, Rested, Step
from gossamer.store import counters, events, jobs, pages, reclaim, sites, visits
from gossamer.store.pages import PagesOfVisit
from tests.auditing import assert_clean
from tests.conftest import AnyDatabase
from tests.jobs import LEASE, claim_all, done, make_job, settle, tokens

DONE = Finished(SiteState.DONE)
BLOCKED = Trouble(Reason.FORBIDDEN, http_status=403)


def climb(visit: Visit, url: str, depth: int = 0, rung: str = "stealth", lane: str = "stealth") -> Step:
    page = Page.at(url, depth).tried(Attempt("direct", 403, "FORBIDDEN", 5, 0)).on(rung)
    return Step(visit, PageStep(page, PageState.CLIMBING, BLOCKED, 403), lane=lane)


def read_there(visit: Visit, url: str, *keywords: str) -> Step:
    step = done(visit, url, *keywords)
    assert step.page
    return replace(step, page=step.page._replace(page=step.page.page.on("stealth")))


async def claim(database: AnyDatabase, lane: str) -> list[Visit]:
    return await database.write(lambda tx: claim_all(tx, lane=lane))


async def of(database: AnyDatabase, visit: Visit) -> PagesOfVisit:
    return await database.read(pages.of_visit, visit.job_id, visit.id, Page.at(visit.entries[0]).key[:4])


def lanes_of(tx: Tx, job_id: UUID) -> dict[str, tuple[str, int]]:
    """State and open pages of the visits to the job's first site, by lane."""
    rows = tx.run(visit_rows.select().where(visit_rows.c.job_id == job_id))
    return {row.lane: (row.state, row.open_pages) for row in rows}


def open_pages(tx: Tx, job_id: UUID) -> int:
    return int(tx.run(site_rows.select().where(site_rows.c.job_id == job_id)).one().open_pages)


async def test_a_page_moves_to_the_visit_of_the_other_lane_in_the_same_settle(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await claim(database, "http")
    await settle(database, Step(visit, chosen=(Page.at("http://a.test/"), Page.at("http://a.test/x", 1))))
    await settle(database, climb(visit, "http://a.test/"))
    assert await database.read(lanes_of, job.id) == {"http": ("running", 1), "stealth": ("ready", 1)}
    assert await database.read(open_pages, job.id) == 2
    found = await of(database, visit)
    assert [page.url for page in found.waiting] == ["http://a.test/x"]
    (moved,) = found.elsewhere
    assert (moved.rung, moved.tries, [tried.rung for tried in moved.attempts]) == ("stealth", 0, ["direct"])
    told = await database.read(events.of_job, job.id)
    assert [one.why for one in told if one.kind == "visit.ready"] == ["pages of its site need this lane"]
    progress = await database.read(counters.progress, job.id)
    assert (progress.pages_open, progress.pages_failed) == (2, 0)
    await assert_clean(database, job.id)


async def test_a_page_chosen_and_climbing_in_one_batch_is_there_once(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await claim(database, "http")
    batch = [Step(visit, chosen=(Page.at("http://a.test/"),)), climb(visit, "http://a.test/")]
    for _ in range(2):  # a batch whose commit was not heard of comes again
        await settle(database, *batch)
        assert await database.read(lanes_of, job.id) == {"http": ("running", 0), "stealth": ("ready", 1)}
        assert await database.read(open_pages, job.id) == 1
        await assert_clean(database, job.id)


async def test_the_site_goes_on_when_its_pages_in_the_other_lane_have_ended(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await claim(database, "http")
    await settle(database, climb(visit, "http://a.test/"), Step(visit, ending=Rested()))
    assert await database.read(lanes_of, job.id) == {"http": ("done", 0), "stealth": ("ready", 1)}
    assert await database.read(jobs.ready_to_close) == []
    (there,) = await claim(database, "stealth")
    assert (there.site_id, there.host, there.domain) == (visit.site_id, visit.host, visit.domain)
    assert [page.url for page in (await of(database, there)).waiting] == ["http://a.test/"]
    await settle(database, read_there(there, "http://a.test/", "CRM"), Step(there, ending=Rested()))
    assert await database.read(lanes_of, job.id) == {"http": ("ready", 0), "stealth": ("done", 0)}
    await assert_clean(database, job.id)
    (again,) = await claim(database, "http")
    (known,) = (await of(database, again)).ended
    assert (known.state, known.rung) == (PageState.DONE, "stealth")
    await settle(database, Step(again, ending=DONE))
    assert await database.read(jobs.ready_to_close) == [job.id]
    await assert_clean(database, job.id)


async def test_a_site_is_not_over_while_a_visit_in_another_lane_has_yet_to_end(database: AnyDatabase) -> None:
    """It was killed between its last page and its end: then it has nothing to do, and does not know."""
    job = await database.write(make_job, "a.test")
    (visit,) = await claim(database, "http")
    other = Step(visit, chosen=(Page.at("http://a.test/x", 1),))
    await settle(database, climb(visit, "http://a.test/"), other, Step(visit, ending=HandBack(await now(database))))
    (there,) = await claim(database, "stealth")
    await settle(database, read_there(there, "http://a.test/", "CRM"))
    await database.write(reclaim.void_worker, "home/0-1", "it was killed", deadly=True)
    (visit,) = await claim(database, "http")
    await settle(database, done(visit, "http://a.test/x", depth=1), Step(visit, ending=DONE))
    assert await database.read(lanes_of, job.id) == {"http": ("done", 0), "stealth": ("ready", 0)}
    await assert_clean(database, job.id)
    (there,) = await claim(database, "stealth")
    await settle(database, Step(there, ending=Rested()))
    (visit,) = await claim(database, "http")
    await settle(database, Step(visit, ending=DONE))
    assert await database.read(jobs.ready_to_close) == [job.id]
    await assert_clean(database, job.id)


async def test_a_visit_that_rests_while_nothing_is_open_elsewhere_goes_on(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await claim(database, "http")
    await settle(database, done(visit, "http://a.test/"), Step(visit, ending=Rested()))
    assert await database.read(lanes_of, job.id) == {"http": ("ready", 0)}
    await assert_clean(database, job.id)


async def test_a_visit_that_lost_its_lease_moves_nothing_and_makes_no_visit(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await claim(database, "http")
    await settle(database, Step(visit, chosen=(Page.at("http://a.test/"),)))
    outcome = await settle(database, climb(replace(visit, lease=uuid4()), "http://a.test/"))
    assert outcome.lost
    assert await database.read(lanes_of, job.id) == {"http": ("running", 1)}


async def test_pages_that_begin_in_another_lane_are_chosen_into_it(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await claim(database, "http")
    chosen = tuple(Page.at(f"http://a.test/{path}", 1).on("browser") for path in "ab")
    await settle(database, Step(visit, chosen=chosen, lane="browser"), Step(visit, ending=Rested()))
    assert await database.read(lanes_of, job.id) == {"browser": ("ready", 2), "http": ("done", 0)}
    (there,) = await claim(database, "browser")
    assert {page.rung for page in (await of(database, there)).waiting} == {"browser"}
    await assert_clean(database, job.id)


async def test_a_page_handed_over_begins_where_the_jobs_pages_begin(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await claim(database, "http")
    handed = HandOver("http://b.test/", 0, entry=True, found_on="http://a.test/", rung="browser", lane="browser")
    moved = PageStep(Page.at("http://a.test/"), PageState.SKIPPED, Trouble(Reason.MOVED, "b.test"))
    await settle(database, Step(visit, moved, handed=(handed,)), Step(visit, ending=DONE))
    (there,) = await claim(database, "browser")
    assert (there.host, [page.rung for page in (await of(database, there)).waiting]) == ("b.test", ["browser"])
    await assert_clean(database, job.id)


async def test_a_site_is_walked_in_one_lane_at_a_time(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test", "b.test")
    a, b = await claim(database, "http")
    await settle(database, climb(a, f"http://{a.host}/"), climb(b, f"http://{b.host}/"))
    assert await claim(database, "stealth") == []
    await settle(database, Step(a, ending=Rested()))
    (there,) = await claim(database, "stealth")
    assert there.host == a.host
    # A nudge that comes late is for a visit that is not to be had.
    await settle(database, Step(b, ending=HandBack(await database.read(lambda tx: tx.now))))
    other = await database.read(lambda tx: tx.run(visit_rows.select().where(visit_rows.c.site_id == b.site_id)).all())
    late = await database.write(visits.claim, tokens(row.id for row in other), "home/0-1", LEASE)
    assert len(late) == 1, "and of two at once only one is taken"


async def test_what_dies_in_another_lane_takes_only_the_pages_it_was_given(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await claim(database, "http")
    first = Step(visit, chosen=(Page.at("http://a.test/x", 1),))
    await settle(database, done(visit, "http://a.test/"), first, climb(visit, "http://a.test/x", 1))
    await settle(database, Step(visit, ending=Rested()))
    for _ in range(reclaim.MOST_DEATHS):
        (there,) = await claim(database, "stealth")
        await database.write(reclaim.take_back, {there.id: there.lease})
    assert await database.read(lanes_of, job.id) == {"http": ("ready", 0), "stealth": ("dead", 0)}
    await assert_clean(database, job.id)
    (again,) = await claim(database, "http")
    assert [known.reason for known in (await of(database, again)).ended if known.depth] == ["CRASHED"]
    await settle(database, Step(again, ending=DONE))
    await assert_clean(database, job.id)
    assert await database.read(jobs.ready_to_close) == [job.id]


async def test_a_site_whose_own_visit_is_dead_fails_when_the_other_lane_is_through(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await claim(database, "http")
    other = Step(visit, chosen=(Page.at("http://a.test/y", 1),))
    await settle(database, climb(visit, "http://a.test/x", 1), other, Step(visit, ending=HandBack(await now(database))))
    for _ in range(reclaim.MOST_DEATHS):
        (visit,) = await claim(database, "http")
        await database.write(reclaim.take_back, {visit.id: visit.lease})
    assert await database.read(lanes_of, job.id) == {"http": ("dead", 0), "stealth": ("ready", 1)}
    (there,) = await claim(database, "stealth")
    await settle(database, read_there(there, "http://a.test/x", "CRM"), Step(there, ending=Rested()))
    (summary,) = await database.read(sites.summaries, job.id, SiteState.FAILED)
    assert summary.trouble
    assert summary.trouble.reason is Reason.CRASHED
    await assert_clean(database, job.id)


async def now(database: AnyDatabase) -> datetime:
    return await database.read(lambda tx: tx.now)


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_climbs_and_whoever_dies_the_rows_add_up(database: AnyDatabase, seed: int) -> None:
    """Random walks of four sites over three lanes: pages climb, end, wait; walks are cut off, come twice, die."""
    throw = random.Random(seed)
    job = await database.write(make_job, "a.test", "b.test", "c.test", "d.test")
    for _ in range(60):
        if await database.read(jobs.ready_to_close):
            break
        for lane in throw.sample(("http", "browser", "stealth"), 3):
            for visit in await claim(database, lane):
                await walk_at_random(database, visit, throw)
        await assert_clean(database, job.id)
    else:
        pytest.fail("it never ends")
    progress = await database.read(counters.progress, job.id)
    assert (progress.pages_open, progress.sites_finished) == (0, 4)
    await assert_clean(database, job.id)


HIGHER = {"http": ("browser", "stealth"), "browser": ("stealth",), "stealth": ()}


async def walk_at_random(database: AnyDatabase, visit: Visit, throw: random.Random) -> None:
    found = await of(database, visit)
    waiting, elsewhere = list(found.waiting), bool(found.elsewhere)
    steps: list[Step] = []
    if visit.lane == "http" and not elsewhere and len(found.ended) + len(waiting) < 12:
        fresh = tuple(Page.at(f"http://{visit.host}/{throw.random()}", 1) for _ in range(throw.randint(0, 4)))
        steps += [Step(visit, chosen=fresh)] if fresh else []
        waiting += fresh
    tried = throw.sample(waiting, throw.randint(0, len(waiting)))
    steps += [fate(visit, page, throw) for page in tried]
    elsewhere |= any(step.lane for step in steps)
    through = len(tried) == len(waiting) and throw.random() < 0.9
    if through:
        over = visit.lane == "http" and not elsewhere
        steps.append(Step(visit, ending=DONE if over else Rested()))
    through &= await settle_at_random(database, steps, throw)
    if not through and throw.random() < 0.8:
        await database.write(reclaim.void_worker, "home/0-1", "it was killed", deadly=False)
    elif not through:
        await settle(database, Step(visit, ending=HandBack(await now(database))))


def fate(visit: Visit, page: Page, throw: random.Random) -> Step:
    if HIGHER[visit.lane] and throw.random() < 0.5:
        lane = throw.choice(HIGHER[visit.lane])
        return Step(visit, PageStep(page.on(lane), PageState.CLIMBING, BLOCKED), lane=lane)
    state = throw.choice((PageState.DONE, PageState.FAILED, PageState.SKIPPED))
    return Step(visit, PageStep(page, state, identity=page.key if state is PageState.DONE else None))


async def settle_at_random(database: AnyDatabase, steps: list[Step], throw: random.Random) -> bool:
    """Whether all of it was written."""
    how = throw.choice(("whole", "whole", "twice", "piecewise", "died"))
    batches = {"twice": [steps, steps], "piecewise": [[step] for step in steps], "died": [steps[: len(steps) // 2]]}
    for batch in batches.get(how, [steps]):
        await settle(database, *batch)
    return how != "died"
