"""Visits are leased once, under a token that fences everything else out."""

from datetime import timedelta
from uuid import uuid4

from gossamer.model.states import JobState, SiteState, VisitState
from gossamer.store import counters, jobs, reclaim, sites, visits
from tests.conftest import AnyDatabase
from tests.jobs import LEASE, claim_all, done, make_job, settle


async def test_a_visit_is_claimed_only_once(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test", "b.test")
    first = await database.write(claim_all)
    assert {visit.host for visit in first} == {"a.test", "b.test"}
    assert await database.write(visits.claim, [visit.id for visit in first], "home/1-2", LEASE) == []


async def test_only_running_jobs_have_visits_to_give(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", start=False)
    assert await database.read(visits.ready, "http", 0, 1, 10) == {}
    await database.write(jobs.move, job.id, JobState.RUNNING)
    assert list(await database.read(visits.ready, "http", 0, 1, 10)) == [job.id]


async def test_shards_share_the_visits_without_overlap(database: AnyDatabase) -> None:
    await database.write(make_job, *(f"s{number}-x.test" for number in range(40)))
    found = []
    for shard in range(3):
        for waiting in (await database.read(visits.ready, "http", shard, 3, 100)).values():
            found += [one.id for one in waiting]
    assert len(found) == len(set(found)) == 40


async def test_renewing_names_the_leases_still_held(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test", "b.test")
    mine, other = await database.write(claim_all)
    await database.write(reclaim.take_back, {other.id: other.lease})
    assert await database.write(visits.renew, "home/0-1", [mine.lease, other.lease], LEASE) == {mine.lease}


async def test_an_expired_lease_is_seen_and_taken_back_under_its_token(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all, lease=timedelta(seconds=-1))
    assert await database.read(visits.expired) == {visit.id: visit.lease}
    assert await database.write(reclaim.take_back, {visit.id: uuid4()}) == 0
    assert await database.write(reclaim.take_back, {visit.id: visit.lease}) == 1
    (again,) = await database.write(claim_all)
    assert again.lease != visit.lease
    assert again.deaths == 1


async def test_a_settled_page_forgives_earlier_deaths(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await database.write(reclaim.take_back, {visit.id: visit.lease})
    (visit,) = await database.write(claim_all)
    assert visit.deaths == 1
    await settle(database, done(visit, "http://a.test/"))
    await database.write(reclaim.void_home, "home")
    (visit,) = await database.write(claim_all)
    assert visit.deaths == 0


async def test_three_deaths_bury_a_visit_and_its_site_says_so(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    for _ in range(3):
        claimed = await database.write(claim_all)
        guilty = next(visit for visit in claimed if visit.host == "a.test")
        await database.write(reclaim.take_back, {guilty.id: guilty.lease})
        await database.write(reclaim.void_home, "home")
    (summary,) = await database.read(sites.summaries, job.id, SiteState.FAILED)
    assert summary.trouble
    assert (summary.host, summary.trouble.sentence) == ("a.test", "Given up after crashing the worker 3 times")
    assert (await database.read(counters.progress, job.id)).sites_failed == 1
    assert [visit.host for visit in await database.write(claim_all)] == ["b.test"]


async def test_taking_over_a_home_blames_nobody(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    await database.write(claim_all)
    assert await database.write(reclaim.void_home, "hom") == 0  # another home whose name begins alike
    assert await database.write(reclaim.void_home, "home") == 1
    (visit,) = await database.write(claim_all)
    assert visit.deaths == 0


async def test_a_nudge_nobody_answered_is_found_again(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    ready = await database.read(visits.ready, "http", 0, 1, 10)
    (waiting,) = next(iter(ready.values()))
    await database.write(visits.issue, [waiting.id], "home/0-1")
    assert await database.read(visits.ready, "http", 0, 1, 10) == {}
    assert not await database.read(reclaim.any_lost, timedelta(minutes=2))
    assert await database.write(reclaim.lost_nudges, timedelta(seconds=-1)) == 1
    assert await database.read(visits.ready, "http", 0, 1, 10) != {}


async def test_a_nudge_that_meets_a_pause_is_put_back(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    ready = await database.read(visits.ready, "http", 0, 1, 10)
    (waiting,) = next(iter(ready.values()))
    await database.write(visits.issue, [waiting.id], "home/0-1")
    await database.write(jobs.move, job.id, JobState.PAUSING)
    assert await database.write(visits.claim, [waiting.id], "home/0-1", LEASE) == []
    assert await database.read(jobs.ready_to_rest) == [job.id]


async def test_a_lease_renewed_in_time_is_not_taken_back(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    assert await database.write(reclaim.take_back, {visit.id: visit.lease}, expired=True) == 0


async def test_a_domain_with_two_visits_in_hand_gets_no_third(database: AnyDatabase) -> None:
    for _ in range(3):
        await database.write(make_job, "one.test")
    ready = await database.read(visits.ready, "http", 0, 1, 10)
    ids = [waiting.id for row in ready.values() for waiting in row]
    assert len(ids) == 3
    await database.write(visits.issue, ids[:2], "home/0-1")
    assert await database.read(visits.ready, "http", 0, 1, 10) == {}
    assert await database.read(visits.busy_domains, ["one.test"]) == {"one.test": 2}


async def test_an_ended_visit_is_woken_for_a_page_that_was_handed_over(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    assert await database.write(visits.finish, visit.lease, visit.id, VisitState.DONE)
    assert await database.write(visits.reopen, visit.site_id, "http") == visit.id
    (again,) = await database.write(claim_all)
    assert again.id == visit.id
