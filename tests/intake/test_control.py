"""Steering by hand: every move from every state, and what is said where there is none."""

import pytest
from sqlalchemy import select, update

from gossamer.db import tables
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.intake import control
from gossamer.intake.control import POSSIBLE
from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import Cap, Reservation
from gossamer.model.states import JobState
from gossamer.settle.step import Step
from gossamer.store import alerts, budgets, jobs
from gossamer.store.jobs import pause_automatically
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle, state_of
from tests.ledger.request_budget import treasurer

RUNNING, PAUSING, PAUSED, CANCELLED = JobState.RUNNING, JobState.PAUSING, JobState.PAUSED, JobState.CANCELLED

# Where each command leads from each state; what is not here is refused.
LEADS_TO = {
    "start": {JobState.PENDING: RUNNING},
    "pause": {RUNNING: PAUSING, PAUSING: PAUSING, PAUSED: PAUSED},
    "resume": {RUNNING: RUNNING, PAUSING: RUNNING, PAUSED: RUNNING, CANCELLED: RUNNING, JobState.FAILED: RUNNING},
    "cancel": {
        JobState.PENDING: CANCELLED,
        RUNNING: CANCELLED,
        PAUSING: CANCELLED,
        PAUSED: CANCELLED,
        CANCELLED: CANCELLED,
    },
    # Nothing of the job has failed, so that it stays where it is; but one whose site is open is not completed.
    "retry-failed": {
        **{state: state for state in (PAUSED, CANCELLED, JobState.FAILED)},
        JobState.COMPLETED: RUNNING,
    },
}


async def _do(verb: str, database: Database, job: Job) -> None:
    if verb == "retry-failed":
        await control.retry_failed(database, job)
    else:
        await {"start": control.start, "pause": control.pause, "resume": control.resume, "cancel": control.cancel}[
            verb
        ](database, job)


def _put(tx: Tx, job: Job, state: JobState) -> Job:
    """As if the job had come there."""
    tx.run(update(tables.jobs).where(tables.jobs.c.id == job.id).values(state=state))
    found = jobs.get(tx, job.id)
    assert found
    return found


async def test_every_command_from_every_state(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    for verb, leads_to in LEADS_TO.items():
        for state in JobState:
            now = await database.write(_put, job, state)
            if state in leads_to:
                await _do(verb, database, now)
                assert await state_of(database, job.id) is leads_to[state], (verb, state)
                continue
            with pytest.raises(UserError) as refused:
                await _do(verb, database, now)
            assert await state_of(database, job.id) is state, (verb, state)
            assert refused.value.code == "job.state"
            assert f"Job {short(job.id)} is {state}: it cannot " in refused.value.message
            for other in POSSIBLE[state]:
                assert f"'gossamer job {other} {short(job.id)}" in refused.value.hint
            assert verb not in POSSIBLE[state]


async def test_what_is_said_to_be_possible_is(database: AnyDatabase) -> None:
    for state, verbs in POSSIBLE.items():
        assert verbs, f"a job that is {state} needs a next step"
        for verb in verbs:
            assert verb in ("export", "status", "history", "watch") or state in LEADS_TO[verb], (state, verb)


async def test_a_stale_look_at_the_job_does_not_decide(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", start=False)
    await database.write(_put, job, CANCELLED)
    with pytest.raises(UserError, match="is cancelled: it cannot be started"):
        await control.start(database, job)
    assert await state_of(database, job.id) is CANCELLED


async def test_two_who_ask_for_the_same_at_once_both_have_it(database: AnyDatabase) -> None:
    seen = await database.write(make_job, "a.test")
    running = await database.read(jobs.get, seen.id)
    assert running
    assert running.state is JobState.RUNNING
    for asked, state in ((control.pause, JobState.PAUSING), (control.cancel, JobState.CANCELLED)):
        before = await database.read(jobs.get, seen.id)
        assert before
        for _ in range(2):  # the second does not know of the first
            await asked(database, before)
        assert (await database.read(jobs.states, [seen.id]))[seen.id] is state


async def test_a_pause_during_a_pause_is_the_same_pause(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    await database.write(claim_all)
    for _ in range(2):
        found = await database.read(jobs.get, job.id)
        assert found
        await control.pause(database, found)
    assert await state_of(database, job.id) is PAUSING
    await control.settle_down(database, "home")
    assert await state_of(database, job.id) is PAUSED


async def test_cancelling_clears_why_it_was_paused(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    await database.write(pause_automatically, job.id, AlertKind.DEADLINE, "too long")
    await control.cancel(database, job)
    assert await database.read(alerts.of_job, job.id) == []


async def test_resuming_by_hand_clears_what_was_said_and_the_time_that_ran(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")

    def too_long(tx: Tx) -> Job:
        alerts.fire(tx, AlertKind.DEADLINE, str(job.id), "too long", job_id=job.id)
        tx.run(update(tables.jobs).values(ran_ms=172_800_000))
        return _put(tx, job, PAUSED)

    paused = await database.write(too_long)
    assert [alert.sentence for alert in await database.read(alerts.of_job, job.id)] == ["too long"]
    await control.resume(database, paused)
    assert await database.read(alerts.of_job, job.id) == []
    assert await database.read(lambda tx: tx.run(select(tables.jobs.c.ran_ms)).scalar_one()) == 0


async def _at_its_limit(database: AnyDatabase, cap: Cap) -> Job:
    """A job that has paused for its budget, with some traffic behind it."""
    job = await database.write(make_job, "a.test")
    await database.write(budgets.open_job, job.id, cap)
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://a.test/"))
    await database.write(pause_automatically, job.id, AlertKind.BUDGET, "Budget limit reached.")
    found = await database.read(jobs.get, job.id)
    assert found
    return found


async def test_a_job_at_its_limit_stays_there_until_that_is_higher(database: AnyDatabase) -> None:
    job = await _at_its_limit(database, Cap(credits=5, traffic=10))
    for cap in (Cap(), Cap(credits=5), Cap(credits=9), Cap(traffic=10)):
        with pytest.raises(UserError) as refused:
            await control.resume(database, job, cap)
        assert (refused.value.code, await state_of(database, job.id)) == ("budget.spent", PAUSING)
    assert (await database.read(budgets.of_job, job.id)).cap == Cap(credits=5, traffic=10)
    await control.cancel(database, job)
    with pytest.raises(UserError, match="would pause again at once"):
        await control.resume(database, job)
    assert await state_of(database, job.id) is CANCELLED
    await control.resume(database, job, Cap(traffic=11))
    assert await state_of(database, job.id) is RUNNING


async def test_one_that_was_paused_by_hand_goes_on_with_the_limit_it_has(database: AnyDatabase) -> None:
    job = await _at_its_limit(database, Cap(credits=5))
    await control.resume(database, job, Cap(credits=9))
    await control.pause(database, await _now(database, job))
    await control.resume(database, await _now(database, job))
    assert await state_of(database, job.id) is RUNNING


async def _now(database: AnyDatabase, job: Job) -> Job:
    found = await database.read(jobs.get, job.id)
    assert found
    return found


@pytest.mark.parametrize("end", [CANCELLED, JobState.FAILED, JobState.COMPLETED])
async def test_what_was_said_of_its_budget_is_over_with_the_job(database: AnyDatabase, end: JobState) -> None:
    job = await database.write(make_job, "a.test")
    await database.write(budgets.open_job, job.id, Cap(credits=30))
    (visit,) = await database.write(claim_all)
    granted = await treasurer(database).reserve(visit, "dear")
    assert isinstance(granted, Reservation)
    await settle(database, Step(visit, charges=(granted.charge(25),)))
    await database.write(pause_automatically, job.id, AlertKind.BUDGET, "Budget limit reached.")
    other = await database.write(make_job, "b.test")
    await database.write(alerts.fire, AlertKind.BUDGET, str(other.id), "Reached.", job_id=other.id)
    for of in (job, other):
        await database.write(alerts.fire, AlertKind.DEAD_LETTER, str(of.id), "Given up.", job_id=of.id)
    said = {(one.kind, one.job_id) for one in await database.read(alerts.recent, 10)}
    assert {(AlertKind.SPENDING, job.id), (AlertKind.BUDGET, job.id)} < said
    if end is CANCELLED:
        await control.cancel(database, job)
    else:
        await database.write(jobs.move, job.id, RUNNING)
        assert await database.write(jobs.move, job.id, end)
    left = {(one.kind, one.job_id) for one in await database.read(alerts.recent, 10)}
    assert left == {(AlertKind.DEAD_LETTER, of.id) for of in (job, other)} | {(AlertKind.BUDGET, other.id)}


async def test_what_was_in_flight_says_nothing_of_the_budget_of_a_cancelled_job(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    await database.write(budgets.open_job, job.id, Cap(credits=30))
    (visit,) = await database.write(claim_all)
    granted = await treasurer(database).reserve(visit, "dear")
    assert isinstance(granted, Reservation)
    await control.cancel(database, job)
    await settle(database, Step(visit, charges=(granted.charge(25),)))
    assert (await database.read(budgets.of_job, job.id)).spent.credits == 25
    assert await database.read(alerts.of_job, job.id) == []
