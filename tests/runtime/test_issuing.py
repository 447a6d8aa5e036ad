"""The issuer of a cluster, on real rows: as many nudges as there are free slots, by one at a time."""

import io
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson
import pytest
from sqlalchemy import select, update

from gossamer.clock import FrozenClock
from gossamer.crawl.sweep import Sweeper
from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.dispatch import Nudge
from gossamer.dispatch.local import LocalDispatcher
from gossamer.logging import configure
from gossamer.model.alert import AlertKind
from gossamer.model.job import Priority, Target
from gossamer.model.states import JobState, VisitState
from gossamer.model.worker import Worker
from gossamer.runtime.issuing import ISSUER, LEASE, NUDGED_BY, Issuer, IssuerReplaced, issue_in_cluster, issue_in_shard
from gossamer.store import alerts, jobs, named_slots, queue_status, reclaim, sites, visits, workers
from tests.conftest import AnyDatabase
from tests.jobs import LEASE as VISIT_LEASE
from tests.jobs import make_job, tokens

NOW = datetime.now(UTC)


@pytest.fixture
def logging_as_it_was() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("gossamer")
    before = root.level, ours.level, list(root.handlers)
    yield
    root.handlers[:] = before[2]
    root.setLevel(before[0])
    ours.setLevel(before[1])


def issuer_of(
    database: AnyDatabase, cap: int = 500, holder: str = "one", per_job: int | None = None
) -> tuple[Issuer, LocalDispatcher]:
    dispatcher = LocalDispatcher()
    return Issuer(database, dispatcher, FrozenClock(), holder, cap, per_job), dispatcher


def end_visits(tx: Tx, ids: list[UUID]) -> None:
    tx.run(update(tables.visits).where(tables.visits.c.id.in_(ids)).values(state=VisitState.DONE, worker=None))


def waits(tx: Tx, job_id: UUID) -> int:
    return sum(line.ready for line in queue_status.lines(tx) if line.job_id == job_id)


async def worker(database: AnyDatabase, room: int, name: str = "box/0-7") -> None:
    await database.write(workers.beat, Worker(name, "box", 7, {"http": room}, "1", NOW, NOW))


def hosts(count: int, letter: str = "a") -> list[str]:
    return [f"{letter}{number}.test" for number in range(count)]


async def nudged(dispatcher: LocalDispatcher) -> list[Nudge]:
    return await dispatcher.receive(1000)


async def test_as_many_nudges_as_there_is_room(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(30))
    issuer, dispatcher = issuer_of(database)
    assert await issuer.look() == 0, "nobody is there to walk them"
    await worker(database, 12)
    assert await issuer.look() == 12
    sent = await nudged(dispatcher)
    assert len({nudge.visit for nudge in sent}) == 12
    assert await issuer.look() == 0, "as many are out as there is room for"
    claimed = await database.write(
        visits.claim, tokens(nudge.visit for nudge in sent), "box/0-7", VISIT_LEASE, nudged_by=NUDGED_BY
    )
    assert len(claimed) == 12
    assert await issuer.look() == 0, "all slots are taken"
    await worker(database, 5, "other/0-8")
    assert await issuer.look() == 5


async def test_what_was_on_its_way_to_workers_that_are_gone_keeps_no_slot(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(30))
    issuer, dispatcher = issuer_of(database)
    await worker(database, 12)
    assert await issuer.look() == 12
    await nudged(dispatcher)  # and nobody claims them
    await database.write(workers.leave, "box/0-7")
    assert await issuer.look() == 0
    assert await database.read(queue_status.in_hand) == {}
    await worker(database, 12, "box/0-8")
    assert await issuer.look() == 12


def fall_silent(tx: Tx, name: str, time: timedelta = timedelta(seconds=25)) -> None:
    """As if it had not been heard of for so long."""
    mine = tables.workers.c.id == name
    tx.run(update(tables.workers).where(mine).values(beat_at=tx.now - time))


def run_out(tx: Tx, name: str) -> None:
    mine = tables.visits.c.worker == name
    tx.run(update(tables.visits).where(mine).values(lease_until=tx.now - timedelta(seconds=1)))


async def take(database: AnyDatabase, dispatcher: LocalDispatcher, *names: str) -> None:
    """Each of these workers claims as many of the nudges as the others."""
    sent = [nudge.visit for nudge in await nudged(dispatcher)]
    for place, name in enumerate(names):
        mine = tokens(sent[place :: len(names)])
        assert len(await database.write(visits.claim, mine, name, VISIT_LEASE, nudged_by=NUDGED_BY)) == len(mine)


async def test_what_a_dead_worker_holds_takes_no_slot_from_those_who_live(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(60))
    for name in ("here/0-7", "there/0-8"):
        await worker(database, 8, name)
    issuer, dispatcher = issuer_of(database)
    assert await issuer.look() == 16
    await take(database, dispatcher, "here/0-7", "there/0-8")
    await database.write(fall_silent, "there/0-8")
    assert await issuer.look() == 0, "the other one has no room now"
    mine = (tables.visits.c.worker == "here/0-7") & (tables.visits.c.state == VisitState.RUNNING)
    ours = await database.read(lambda tx: list(tx.run(select(tables.visits.c.id).where(mine)).scalars()))
    await database.write(end_visits, ours[:4])
    assert await issuer.look() == 4, "every slot that becomes free is filled, long before the leases of the dead end"
    # When those are taken back they may have killed it, and only one of them runs per process: no other is kept back.
    await database.write(reclaim.void_worker, "there/0-8", "gone", deadly=True)
    await database.write(end_visits, [nudge.visit for nudge in await nudged(dispatcher)])
    await database.write(
        lambda tx: tx.run(update(tables.visits).where(tables.visits.c.deaths > 0).values(due_at=LONG_AGO))
    )
    given = [await issuer.look() for _ in range(3)]
    assert sum(given) == 4


LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


async def test_those_that_may_have_killed_a_worker_do_not_hide_what_waits_behind_them(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(200))
    suspects = tables.visits.c.id.in_(select(tables.visits.c.id).order_by(tables.visits.c.id).limit(150))
    await database.write(lambda tx: tx.run(update(tables.visits).where(suspects).values(deaths=1, due_at=LONG_AGO)))
    await worker(database, 15)
    issuer, _ = issuer_of(database)
    for _ in range(5):
        await issuer.look()
    given = await database.read(lambda tx: tx.run(select(tables.visits.c.deaths).where(ISSUED)).scalars().all())
    assert sorted(given) == [0] * 14 + [1]


ISSUED = tables.visits.c.state == VisitState.ISSUED


async def test_the_cap_counts_what_a_silent_worker_may_still_be_walking(database: AnyDatabase) -> None:
    """It may only be cut off from the database; its visits count until they are taken back."""
    await database.write(make_job, *hosts(60))
    for name in ("here/0-7", "there/0-8"):
        await worker(database, 10, name)
    issuer, dispatcher = issuer_of(database, cap=10)
    assert await issuer.look() == 10
    await take(database, dispatcher, "here/0-7", "there/0-8")
    await database.write(fall_silent, "there/0-8")
    assert await issuer.look() == 0
    await database.write(run_out, "there/0-8")
    assert await issuer.look() == 0
    assert await database.read(alerts.recent, 5) == [], "no cap was passed"


async def test_messages_that_went_to_a_machine_that_vanished_are_sent_anew(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(10))
    await worker(database, 3)
    issuer, dispatcher = issuer_of(database)
    assert await issuer.look() == 3
    first, *others = [nudge.visit for nudge in await nudged(dispatcher)]
    await database.write(set_back, first, timedelta(seconds=25))
    assert await issuer.look() == 0, "it may only be late"
    await worker(database, 3, "gone/0-9")
    await database.write(fall_silent, "gone/0-9")
    assert [await issuer.look() for _ in range(2)] == [0, 1], "it is ready again, and given to somebody else"
    assert await database.read(lambda tx: sum(queue_status.in_hand(tx).values())) == 3
    assert len(others) == 2


async def test_visits_that_are_taken_back_are_one_line(database: AnyDatabase, caplog: pytest.LogCaptureFixture) -> None:
    await database.write(make_job, *hosts(12))
    waiting = await database.read(visits.ready, "http", 0, 1, 20)
    ids = [one.id for row in waiting.values() for one in row]
    for place, name in enumerate(("a/0-1", "a/1-2", "b/0-3")):
        await database.write(visits.claim, tokens(ids[place::3]), name, -VISIT_LEASE)
    clock = FrozenClock()
    database.retries._clock = clock
    database.retries._back_at = clock.monotonic()
    sweeper = Sweeper(database, clock, VISIT_LEASE)
    with caplog.at_level(logging.INFO, "gossamer"):
        for _ in range(4):
            await sweeper.sweep()
            clock.advance(25)
    said = [one.getMessage() for one in caplog.records if "visits.reclaimed" in one.getMessage()]
    assert len(said) == 1
    assert "'visits': 12, 'workers': 'a/0-1,a/1-2,b/0-3'" in said[0]


async def test_the_cap_holds_over_all_workers_and_lanes(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(40))
    for number in range(4):
        await worker(database, 100, f"box/{number}-7")
    issuer, _ = issuer_of(database, cap=10)
    assert await issuer.look() == 10
    assert await issuer.look() == 0
    assert sum((await database.read(queue_status.in_hand)).values()) == 10
    assert await database.read(alerts.recent, 5) == []
    lower, _ = issuer_of(database, cap=9)
    await lower.look()
    (alert,) = await database.read(alerts.recent, 5)
    assert alert.kind is AlertKind.CONCURRENCY
    assert alert.sentence.startswith(
        "10 visits are running at the same time, more than GOSSAMER_MAX_CONCURRENCY allows (9)"
    )
    next_one, _ = issuer_of(database, cap=10)
    await next_one.look()
    assert await database.read(alerts.recent, 5) == []


async def test_a_job_has_no_more_than_its_own_cap_over_all_workers_and_lanes(database: AnyDatabase) -> None:
    large = await database.write(make_job, *hosts(40))
    small = await database.write(make_job, *hosts(3, "b"))
    for number in range(4):
        await worker(database, 10, f"box/{number}-7")
    issuer, dispatcher = issuer_of(database, per_job=6)
    assert await issuer.look() == 9
    assert await issuer.look() == 0
    busy = await database.read(queue_status.in_hand)
    assert (busy["http", large.id], busy["http", small.id]) == (6, 3)
    assert await database.read(alerts.recent, 5) == []
    await nudged(dispatcher)
    lower, _ = issuer_of(database, per_job=5)
    await lower.look()
    (alert,) = await database.read(alerts.recent, 5)
    assert alert.sentence.startswith(
        "6 visits of one job are running at the same time, more than GOSSAMER_JOB_CONCURRENCY"
    )


async def test_a_home_holds_a_jobs_own_cap_too(database: AnyDatabase) -> None:
    job = await database.write(make_job, *hosts(40))
    for shard in (0, 1):
        await database.write(
            issue_in_shard, "http", shard, 2, 10, f"home/{shard}-1", frozenset(), suspects=0, per_job=7
        )
    assert await database.read(queue_status.in_hand) == {("http", job.id): 7}


def want(tx: Tx, job_id: UUID, at_once: int) -> None:
    tx.run(update(tables.jobs).where(tables.jobs.c.id == job_id).values(at_once=at_once))


async def test_a_job_that_wants_fewer_at_once_has_no_more_and_the_others_the_rest(database: AnyDatabase) -> None:
    modest = await database.write(make_job, *hosts(40))
    other = await database.write(make_job, *hosts(40, "b"))
    await database.write(want, modest.id, 3)
    await worker(database, 20)
    issuer, dispatcher = issuer_of(database, per_job=15)
    await issuer.look()
    assert await database.read(queue_status.in_hand) == {("http", modest.id): 3, ("http", other.id): 15}
    await nudged(dispatcher)
    assert await issuer.look() == 0


async def test_at_home_too_a_job_has_no_more_than_it_wants_over_all_processes(database: AnyDatabase) -> None:
    modest = await database.write(make_job, *hosts(40))
    await database.write(want, modest.id, 3)
    for shard in (0, 1):
        await database.write(issue_in_shard, "http", shard, 2, 10, f"home/{shard}-1", frozenset(), suspects=0)
    assert await database.read(queue_status.in_hand) == {("http", modest.id): 3}


async def test_at_home_too_a_slot_that_becomes_free_is_for_the_job_that_has_least(database: AnyDatabase) -> None:
    """One by one, as they become free: the job that came first would have every one of them if none were counted."""
    large = await database.write(make_job, *hosts(40))
    await database.write(issue_in_shard, "http", 0, 1, 20, "home/0-1", frozenset(), suspects=0)
    small = await database.write(make_job, *hosts(5, "b"))
    on_their_way = await database.read(visits.forgotten, "home/0-1", ())
    for _ in range(5):
        on_their_way += await database.write(
            issue_in_shard, "http", 0, 1, 1, "home/0-1", frozenset(on_their_way), suspects=0
        )
    busy = await database.read(queue_status.in_hand)
    assert (busy["http", large.id], busy["http", small.id]) == (20, 5)


async def test_accounts_move_beside_each_other(database: AnyDatabase) -> None:
    first = await database.write(make_job, *hosts(40))
    second = await database.write(make_job, *hosts(40, "b"))
    other = await database.write(make_job, *hosts(40, "c"))
    table = tables.jobs
    await database.write(
        lambda tx: tx.run(update(table).where(table.c.id == other.id).values(account_id="other", priority="low"))
    )
    await worker(database, 21)
    issuer, _ = issuer_of(database)
    assert await issuer.look() == 20
    busy = await database.read(queue_status.in_hand)
    assert [busy["http", job.id] for job in (first, second, other)] == [5, 5, 10]


async def test_concurrency_is_logged_every_minute_and_a_passed_cap_once(
    database: AnyDatabase, logging_as_it_was: None
) -> None:
    await database.write(make_job, *hosts(5))
    await worker(database, 12)
    stream, clock = io.StringIO(), FrozenClock()
    configure("json", "INFO", stream=stream)
    first = Issuer(database, LocalDispatcher(), clock, "one", 500)
    await first.look()
    for _ in range(6):
        clock.advance(25)
        await first.look()
    after_lowered = Issuer(database, LocalDispatcher(), clock, "one", 4)
    await after_lowered.look()
    await after_lowered.look()
    lines = [orjson.loads(line) for line in stream.getvalue().splitlines()]
    told = [
        (one["visits"], one["cap"], one["workers"], one["http"])
        for one in lines
        if one["event"] == "issuer.concurrency"
    ]
    assert told == [(0, 500, 1, 12), (5, 500, 1, 12), (5, 500, 1, 12), (5, 4, 1, 12)]
    assert [(one["visits"], one["cap"]) for one in lines if one["event"] == "issuer.cap_passed"] == [(5, 4)]


async def test_a_large_job_and_a_small_one_both_move(database: AnyDatabase) -> None:
    """Slots become free a few at a time, as they do: each job gets its part of them."""
    large = await database.write(make_job, *hosts(2_000))
    await worker(database, 40)
    issuer, dispatcher = issuer_of(database)
    await issuer.look()
    small = await database.write(make_job, *hosts(20, "small"))
    rounds = 0
    held: list[UUID] = []
    while await database.read(waits, small.id) and rounds < 100:
        rounds += 1
        held += [nudge.visit for nudge in await nudged(dispatcher)]
        ended, held = held[:8], held[8:]
        await database.write(end_visits, ended)
        await issuer.look()
    busy = await database.read(queue_status.in_hand)
    assert rounds <= 6, "20 visits at half of 8 slots a round"
    assert busy["http", large.id] >= 10, "and the large one has gone on"


async def test_only_who_holds_the_place_issues(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(5))
    await worker(database, 100)
    assert await database.write(named_slots.enter, ISSUER, "two", 1, LEASE)
    issuer, _ = issuer_of(database)
    with pytest.raises(IssuerReplaced):
        await issuer.look()
    assert await database.read(queue_status.in_hand) == {}
    await database.write(named_slots.leave, ISSUER, "two")
    assert await issuer.look() == 5


async def test_a_choice_whose_commit_was_not_heard_of_stands(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(10))
    await worker(database, 4)
    first = await database.write(issue_in_cluster, "one", "http", 500, f"{NUDGED_BY}a")
    assert await database.write(issue_in_cluster, "one", "http", 500, f"{NUDGED_BY}a") == first
    assert len(first) == 4


async def test_jobs_move_beside_each_other_by_priority(database: AnyDatabase) -> None:
    def prioritised(tx: Tx, letter: str, priority: Priority) -> UUID:
        names = hosts(100, letter)
        job = jobs.create(tx, letter, "prospect", {"keywords": ["CRM"]}, 100, priority)
        sites.create_many(tx, job.id, [Target(name, (f"http://{name}/",), name) for name in names])
        jobs.move(tx, job.id, JobState.RUNNING)
        return job.id

    ids = [
        await database.write(prioritised, letter, priority)
        for letter, priority in zip("xyz", (Priority.LOW, Priority.NORMAL, Priority.HIGH), strict=True)
    ]
    await worker(database, 74)
    issuer, _ = issuer_of(database)
    assert await issuer.look() == 71, "of 74 slots 3 are kept for a job that has none"
    busy = await database.read(queue_status.in_hand)
    assert [busy["http", job] for job in ids] == [10, 20, 41]
    late = await database.write(make_job, *hosts(50, "late"))
    assert await issuer.look() == 1
    assert (await database.read(queue_status.in_hand))["http", late.id] == 1


async def test_a_domain_is_in_one_pair_of_hands(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test", "www2.a.test", "b.test")
    await database.write(make_job, "a.test")
    await worker(database, 100)
    issuer, dispatcher = issuer_of(database)
    assert await issuer.look() == 2
    await nudged(dispatcher)
    assert await issuer.look() == 0


async def test_a_nudge_for_a_job_that_was_paused_is_put_back_at_once(database: AnyDatabase) -> None:
    job = await database.write(make_job, *hosts(3))
    await worker(database, 100)
    issuer, dispatcher = issuer_of(database)
    await issuer.look()
    sent = [nudge.visit for nudge in await nudged(dispatcher)]
    await database.write(jobs.move, job.id, JobState.PAUSING)
    assert await database.write(visits.claim, tokens(sent), "box/0-7", VISIT_LEASE, nudged_by=NUDGED_BY) == []
    assert await database.read(jobs.ready_to_rest) == [job.id]


async def test_a_lost_nudge_is_found_again(database: AnyDatabase) -> None:
    await database.write(make_job, "a.test")
    await worker(database, 100)
    issuer, _ = issuer_of(database)
    assert await issuer.look() == 1
    assert not await database.read(reclaim.any_lost, timedelta(minutes=2))
    assert await database.write(reclaim.lost_nudges, timedelta()) == 1
    assert await issuer.look() == 1


async def test_the_sweep_finds_what_nobody_has_answered_for_two_minutes_and_nothing_else(
    database: AnyDatabase,
) -> None:
    await database.write(make_job, *hosts(2))
    await worker(database, 100)
    issuer, dispatcher = issuer_of(database)
    assert await issuer.look() == 2
    first, second = [nudge.visit for nudge in await nudged(dispatcher)]
    await database.write(set_back, first, timedelta(seconds=115))
    await database.write(set_back, second, timedelta(seconds=125))
    sweeper = Sweeper(database, FrozenClock(), VISIT_LEASE)
    await sweeper.sweep()
    assert await issuer.look() == 1
    assert [nudge.visit for nudge in await nudged(dispatcher)] == [second]


def set_back(tx: Tx, visit: UUID, time: timedelta) -> None:
    """As if it had been issued so long ago."""
    tx.run(update(tables.visits).where(tables.visits.c.id == visit).values(due_at=tx.now - time))


async def test_what_cannot_be_sent_is_ready_again_at_once(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(3))
    await worker(database, 100)
    issuer, dispatcher = issuer_of(database)
    await dispatcher.close()  # sends nothing any more
    assert await issuer.look() == 0
    assert await database.read(queue_status.in_hand) == {}
    mended, _ = issuer_of(database)
    assert await mended.look() == 3


async def test_it_is_known_for_how_long_nothing_could_be_sent(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(3))
    clock, dispatcher = FrozenClock(), LocalDispatcher()
    issuer = Issuer(database, dispatcher, clock, "one", 500)
    clock.advance(60)
    assert await issuer.look() == 0
    assert issuer.mute_for() == 0, "there is nobody to send anything to"
    await dispatcher.close()
    await worker(database, 100)
    for _ in range(3):
        assert await issuer.look() == 0
        clock.advance(7)
    assert issuer.mute_for() == 21
    (alert,) = await database.read(alerts.recent, 5)
    assert (alert.kind, alert.sentence.partition(".")[0]) == (
        AlertKind.BROKER,
        "No message has reached the broker for 7 s",
    )
    issuer.forget_mute()
    assert issuer.mute_for() == 0
    await Issuer(database, LocalDispatcher(), clock, "one", 500).look()
    assert await database.read(alerts.recent, 5) == [], "the next one's arrive"


async def test_a_nudge_that_comes_late_finds_its_slot_taken(database: AnyDatabase) -> None:
    await database.write(make_job, *hosts(3))
    await worker(database, 100)
    issuer, dispatcher = issuer_of(database, cap=1)
    assert await issuer.look() == 1
    (late,) = await nudged(dispatcher)
    await database.write(reclaim.lost_nudges, timedelta())
    later = await database.read(lambda tx: tx.now) + timedelta(hours=1)
    await database.write(
        lambda tx: tx.run(tables.visits.update().where(tables.visits.c.id == late.visit).values(due_at=later))
    )
    assert await issuer.look() == 1, "another one has the slot now"
    held = tokens([late.visit])
    assert await database.write(visits.claim, held, "box/0-7", VISIT_LEASE, nudged_by=NUDGED_BY) == []
    assert sum((await database.read(queue_status.in_hand)).values()) == 1, "the cap holds"
