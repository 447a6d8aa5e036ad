"""Visits are leased once, under a token that fences everything else out."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

from sqlalchemy import text, update

from gossamer.clock import SystemClock
from gossamer.db.database import PostgresDatabase
from gossamer.db.tables import visits as visit_rows
from gossamer.db.transactions import Tx
from gossamer.model.states import JobState, SiteState, VisitState
from gossamer.runtime.issuing import issue_in_shard
from gossamer.store import counters, events, jobs, reclaim, sites, visits
from gossamer.store.visit_transitions import Ending, end
from tests.conftest import AnyDatabase
from tests.heard import statements
from tests.jobs import LEASE, claim_all, done, make_job, settle, tokens


async def test_a_visit_is_claimed_only_once(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test", "b.test")
    first = await database.write(claim_all)
    assert {visit.host for visit in first} == {"a.test", "b.test"}
    assert await database.write(visits.claim, tokens([visit.id for visit in first]), "home/1-2", LEASE) == []


async def test_a_claim_that_is_made_again_is_the_same_claim(database: AnyDatabase) -> None:
    """As it is when nobody heard that the first one was written."""
    job = await database.write(make_job, "a.test", "b.test")
    ready = await database.read(visits.ready, "http", 0, 1, 10)
    wanted = tokens(one.id for one in ready[job.id])
    await database.write(visits.claim, wanted, "home/0-1", timedelta(seconds=-1))
    # Its job may have been paused in the meantime: in our hands it is all the same.
    await database.write(jobs.move, job.id, JobState.PAUSING)
    again = await database.write(visits.claim, wanted, "home/0-1", LEASE)
    assert {visit.id: visit.lease for visit in again} == wanted
    assert await database.read(visits.expired) == {}
    told = [event.kind for event in await database.read(events.of_job, job.id)]
    assert told.count("visit.running") == 2
    assert await database.write(visits.claim, tokens(wanted), "home/1-2", LEASE) == []


async def test_visits_issued_without_being_told_are_issued_again(database: AnyDatabase) -> None:
    await database.write(make_job, *(f"s{number}-x.test" for number in range(6)))
    shard = ("http", 0, 1)
    sent = await database.write(issue_in_shard, *shard, 2, "home/0-1", (), suspects=0)
    unheard = await database.write(issue_in_shard, *shard, 3, "home/0-1", sent, suspects=0)
    assert (len(sent), len(unheard)) == (2, 3)
    again = await database.write(issue_in_shard, *shard, 3, "home/0-1", sent, suspects=0)
    assert sorted(again) == sorted(unheard)
    others = await database.write(issue_in_shard, *shard, 3, "home/1-2", (), suspects=0)
    assert len(others) == 1
    assert not {*sent, *unheard} & {*others}


async def test_whether_anything_is_ready_is_what_would_be_found(database: AnyDatabase) -> None:
    async def asked() -> list[bool]:
        found = [await database.read(visits.any_ready, "http", shard, 2) for shard in range(2)]
        assert found == [bool(await database.read(visits.ready, "http", shard, 2, 1)) for shard in range(2)]
        return found

    assert await asked() == [False, False]
    job = await database.write(make_job, *(f"s{number}-x.test" for number in range(20)), start=False)
    assert await asked() == [False, False]
    await database.write(jobs.move, job.id, JobState.RUNNING)
    assert await asked() == [True, True]
    assert not await database.read(visits.any_ready, "browser", 0, 1)
    ready = await database.read(visits.ready, "http", 0, 2, 50)
    await database.write(claim_all, shard=0, shards=2)
    assert await asked() == [False, True]
    await database.write(make_job, *(row.domain for row in ready[job.id]))
    assert await asked() == [True, True]
    await database.write(claim_all, shard=0, shards=2)
    # A third job of domains that have two visits in hand has to wait.
    await database.write(make_job, *(row.domain for row in ready[job.id]))
    assert await asked() == [False, True]
    await database.write(lambda tx: tx.run(update(visit_rows).values(due_at=tx.now + timedelta(days=1))))
    assert await asked() == [False, False]


async def test_looking_for_work_is_one_statement_for_any_number_of_jobs(database: AnyDatabase) -> None:
    for number in range(10):
        await database.write(make_job, f"s{number}-x.test")
    await database.write(lambda tx: tx.run(update(visit_rows).values(due_at=tx.now + timedelta(days=1))))

    def look(tx: Tx) -> int:
        tx.now  # noqa: B018 - asking for the time is a statement of its own
        with statements(tx) as said:
            assert not visits.any_ready(tx, "http", 0, 1)
        return len(said)

    # As the library runs it, and as it is run once it was seen before.
    assert [await database.read(look) for _ in range(3)] == [1, 1, 1]


async def test_renewing_takes_visits_in_the_order_a_settle_does(new_postgres: Callable[[], str]) -> None:
    """Else each could hold what the other waits for."""
    database = PostgresDatabase(new_postgres(), SystemClock())
    await database.write(make_job, "a.test", "b.test")
    first, second = await database.write(claim_all)
    # The row that was written last is the last one that is met.
    moved = update(visit_rows).where(visit_rows.c.id == first.id)
    await database.write(lambda tx: tx.run(moved.values(due_at=tx.now + timedelta(minutes=1))))
    waiting = asyncio.Event()

    def settle_slowly(tx: Tx) -> None:
        visits.leases(tx, [first.id], held=True)
        waiting.set()
        tx.run(text("SELECT pg_sleep(0.5)"))
        tx.run(text("SET LOCAL lock_timeout = '300ms'"))
        visits.leases(tx, [second.id], held=True)

    settling = asyncio.create_task(database.write(settle_slowly))
    await waiting.wait()
    held = {first.lease, second.lease}
    assert await database.write(visits.renew, "home/0-1", list(held), LEASE) == held
    await settling
    await database.close()


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
    assert await database.write(visits.claim, tokens([waiting.id]), "home/0-1", LEASE) == []
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
    assert await database.write(end, [Ending(visit.id, visit.lease, VisitState.DONE)])
    assert await database.write(visits.reopen, visit.site_id, "http") == visit.id
    (again,) = await database.write(claim_all)
    assert again.id == visit.id
