"""Every change of state is an event, written with it: what, who, why; and a long history is read in steps."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from gossamer.db.transactions import Tx
from gossamer.model.states import JobState, SiteState, VisitState
from gossamer.settle.step import Finished, HandBack, HandOver, Step
from gossamer.store import events, jobs, reclaim, sites, visits
from gossamer.store.events import Event
from gossamer.store.visit_transitions import Ending, end
from tests.conftest import AnyDatabase
from tests.jobs import LEASE, claim_all, done, make_job, settle, tokens

WORKER = "home/0-1"


async def told(database: AnyDatabase, job_id: UUID) -> list[tuple[str, str, str]]:
    """What happened after the job was created and started."""
    return [(event.kind, event.who, event.why) for event in (await database.read(events.of_job, job_id))[2:]]


async def test_the_whole_way_of_a_visit_is_told(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    waiting = await database.read(visits.ready, "http", 0, 1, 10)
    await database.write(visits.issue, [waiting[job.id][0].id], WORKER)
    (visit,) = await database.write(visits.claim, tokens([waiting[job.id][0].id]), WORKER, LEASE)
    now = await database.read(lambda tx: tx.now)
    await settle(database, Step(visit, ending=HandBack(now)))
    (visit,) = await database.write(claim_all)
    later = now + timedelta(minutes=7)
    await settle(database, Step(visit, ending=HandBack(later)))
    assert await database.write(claim_all) == []
    # By somebody who no longer holds it.
    await database.write(end, [Ending(visit.id, visit.lease, VisitState.READY, due_at=now)])
    assert await told(database, job.id) == [
        ("visit.running", WORKER, ""),
        ("visit.ready", WORKER, "end of slice"),
        ("visit.ready", WORKER, f"waits until {later:%Y-%m-%dT%H:%M:%SZ} (slice 2)"),
    ]
    rows = await database.read(events.of_job, job.id)
    assert {(event.site_id, event.visit_id) for event in rows[2:]} == {(visit.site_id, visit.id)}


async def test_a_site_walked_in_many_slices_does_not_fill_the_history(database: AnyDatabase) -> None:
    job = await database.write(make_job, "slow.test")
    await settle_in_slices(database, 20)
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://slow.test/"), Step(visit, ending=Finished(SiteState.DONE)))
    ready = [
        ("visit.ready", WORKER, f"end of slice{which}") for which in ("", *map(" (slice {})".format, (2, 4, 8, 16)))
    ]
    happened = [event for event in await told(database, job.id) if event[0].startswith("visit.")]
    assert happened == [("visit.running", WORKER, ""), *ready, ("visit.done", WORKER, "in 21 slices")]


async def test_what_comes_out_of_order_is_told_with_the_claim_after_it(database: AnyDatabase) -> None:
    job = await database.write(make_job, "slow.test")
    await settle_in_slices(database, 3)
    (visit,) = await database.write(claim_all)
    await database.write(reclaim.take_back, {visit.id: visit.lease})
    before = len(await told(database, job.id))
    await settle_in_slices(database, 2)
    assert (await told(database, job.id))[before - 1 :] == [
        ("visit.ready", WORKER, "its walk crashed"),
        ("visit.running", WORKER, ""),
        ("visit.ready", WORKER, "end of slice"),
        ("visit.ready", WORKER, "end of slice (slice 2)"),
    ]


async def settle_in_slices(database: AnyDatabase, slices: int) -> None:
    """The only visit is claimed and handed back so many times."""
    for _ in range(slices):
        (visit,) = await database.write(claim_all)
        await settle(database, Step(visit, ending=HandBack(await database.read(lambda tx: tx.now))))


@pytest.mark.parametrize(
    ("outcome", "kinds"),
    [
        (SiteState.DONE, ["visit.done", "site.done"]),
        (SiteState.FAILED, ["visit.failed", "site.failed"]),
        (SiteState.PARTIAL, ["visit.done", "site.partial"]),
    ],
)
async def test_the_end_of_a_visit_is_told_with_its_site(
    database: AnyDatabase, outcome: SiteState, kinds: list[str]
) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://a.test/"), Step(visit, ending=Finished(outcome)))
    happened = [(kind, who) for kind, who, _ in await told(database, job.id) if not kind.startswith("job.")]
    assert happened == [("visit.running", WORKER), (kinds[0], WORKER), (kinds[1], "")]


async def test_a_site_and_a_visit_that_are_woken_by_a_redirect_say_so(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    held = {visit.host: visit for visit in await database.write(claim_all)}
    await settle(
        database, done(held["b.test"], "http://b.test/"), Step(held["b.test"], ending=Finished(SiteState.DONE))
    )
    before = len(await told(database, job.id))
    handed = HandOver("http://b.test/landing", 1, entry=False, found_on="http://a.test/go")
    await settle(database, Step(held["a.test"], handed=(handed,)))
    woken = (await told(database, job.id))[before:]
    assert woken == [
        ("visit.ready", "", "a page was handed over to it"),
        ("site.open", "", "a page was handed over to it"),
    ]


async def test_whoever_takes_a_visit_back_says_why(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")

    async def last() -> tuple[str, str, str]:
        return (await told(database, job.id))[-1]

    (visit,) = await database.write(claim_all)
    await database.write(reclaim.take_back, {visit.id: visit.lease})
    assert await last() == ("visit.ready", WORKER, "its walk crashed")
    (visit,) = await database.write(claim_all, lease=timedelta(seconds=-1))
    await database.write(reclaim.take_back, {visit.id: visit.lease}, expired=True)
    assert await last() == ("visit.ready", WORKER, "its lease ran out")
    await database.write(claim_all)
    await database.write(reclaim.void_worker, WORKER, "worker ended with SIGTERM", deadly=False)
    assert await last() == ("visit.ready", WORKER, "worker ended with SIGTERM")
    await database.write(claim_all)
    await database.write(reclaim.void_home, "home")
    assert await last() == ("visit.ready", WORKER, "its worker is gone")
    await database.write(visits.issue, [visit.id], WORKER)
    await database.write(reclaim.lost_nudges, timedelta(seconds=-1))
    assert await last() == ("visit.ready", WORKER, "no worker took it in time")
    await database.write(visits.issue, [visit.id], WORKER)
    await database.write(jobs.move, job.id, JobState.PAUSING)
    assert await database.write(visits.claim, tokens([visit.id]), WORKER, LEASE) == []
    assert await last() == ("visit.ready", WORKER, "its job does not run")


async def test_a_visit_that_was_only_nudged_does_not_die_with_its_worker(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test", "b.test")
    first, second = [one.id for row in (await database.read(visits.ready, "http", 0, 1, 9)).values() for one in row]
    await database.write(visits.claim, tokens([first]), WORKER, LEASE)
    await database.write(visits.issue, [second], WORKER)
    assert await database.write(reclaim.void_worker, WORKER, "worker ended with SIGKILL", deadly=True) == 2
    deaths = {visit.id: visit.deaths for visit in await database.write(claim_all)}
    assert deaths == {first: 1, second: 0}


async def test_the_history_of_a_large_job_is_read_in_steps(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    (_, rare), (_, frequent) = await database.read(sites.hosts, job.id, "", 2)

    def fill(tx: Tx, site_id: UUID, many: int) -> None:
        crowd = [(job.id, Event(tx.now, "visit.ready", WORKER, "end of slice", site_id, uuid4())) for _ in range(many)]
        events.add_many(tx, crowd)

    await database.write(fill, rare, 3)
    await database.write(fill, frequent, events.STEP + 10)
    await database.write(jobs.move, job.id, JobState.PAUSING, "enough", "user")
    await database.write(fill, rare, 2)

    async def whole(site_id: UUID | None) -> tuple[list[events.Line], int]:
        found: list[events.Line] = []
        before: UUID | None = None
        steps = 0
        while True:
            some, before = await database.read(events.step_back, job.id, site_id, before)
            found, steps = [*found, *some], steps + 1
            assert [line.id for line in found] == sorted({line.id for line in found}, reverse=True)
            if before is None:
                return found, steps

    own, steps = await whole(None)
    assert ([line.event.kind for line in own], steps) == (["job.pausing", "job.running", "job.created"], 2)
    assert [line.host for line in own] == ["", "", ""]
    of_rare, _ = await whole(rare)
    assert [line.host for line in of_rare] == ["a.test"] * 5
    assert len((await whole(frequent))[0]) == events.STEP + 10
    latest = await database.read(events.latest, job.id, 4)
    assert [line.host for line in latest] == ["a.test", "a.test", "b.test", "b.test"]


async def test_a_visit_that_cannot_end_leaves_no_event(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    assert not await database.write(end, [Ending(visit.id, uuid4(), VisitState.DONE)])
    assert [kind for kind, _, _ in await told(database, job.id)] == ["visit.running"]
