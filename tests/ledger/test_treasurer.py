"""Money is reserved before it is spent, booked as it was charged, and never above a cap."""

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from gossamer.billing.prices import PriceList
from gossamer.clock import FrozenClock
from gossamer.crawl.sweep import Sweeper
from gossamer.db import tables
from gossamer.db import tables as t
from gossamer.db.tables import visits
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.job import Job
from gossamer.model.money import Amount, BudgetRefusal, Cap, Price, Reservation, Scope, Why, keys_for
from gossamer.model.page import Visit
from gossamer.model.states import JobState
from gossamer.settle.commit import commit
from gossamer.settle.step import Step
from gossamer.store import alerts, budgets, charges, jobs, reservations
from gossamer.store.budgets import PaidRequest
from tests.conftest import AnyDatabase
from tests.heard import statements
from tests.jobs import LEASE, claim_all, done, make_job, settle, state_of
from tests.ledger.proof import assert_books_balance
from tests.ledger.request_budget import PRICES, granted, make_capped, paid, request_budget, treasurer

NOTHING = Amount()


async def test_the_worst_price_is_held_until_the_charge_takes_its_place(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    one = treasurer(database)
    reservation = await granted(one, visit, "dear")
    assert await request_budget(database, job) == (Amount(25, 250_000), NOTHING)
    await settle(database, paid(visit, "1", reservation.charge(10)))
    assert await request_budget(database, job) == (NOTHING, Amount(10, 100_000))
    (spent,) = await database.read(charges.by_rung, job.id)
    assert (spent.rung, spent.provider, spent.requests, spent.amount.credits) == ("dear", "bee", 1, 10)
    await assert_books_balance(database)


async def test_the_same_charge_twice_is_booked_once(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    reservation = await granted(treasurer(database), visit, "cheap")
    step = paid(visit, "1", reservation.charge(1))
    for _ in range(2):  # as when the answer to a commit was not heard
        await settle(database, step)
    assert await request_budget(database, job) == (NOTHING, Amount(1, 10_000))
    await assert_books_balance(database)


async def test_the_same_reservation_twice_is_made_once(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    price = PRICES.priced("dear")
    asked = [PaidRequest(uuid4(), visit, None, price, price.worst_amount())]
    caps = {scope: Cap() for scope in Scope}
    first, again = [await database.write(reservations.reserve, asked, caps) for _ in range(2)]
    assert isinstance(first[0], Reservation)
    assert isinstance(again[0], Reservation)
    assert first[0].id == again[0].id
    assert await request_budget(database, job) == (Amount(25, 250_000), NOTHING)
    await assert_books_balance(database)


async def test_what_is_free_or_never_sent_is_given_back(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    one = treasurer(database)
    uncharged, unsent = await granted(one, visit, "dear"), await granted(one, visit, "dear")
    await settle(database, paid(visit, "1", uncharged.charge(0)))
    one.release(unsent)
    await one.close()
    assert await request_budget(database, job) == (NOTHING, NOTHING)
    assert await database.read(charges.by_rung, job.id) == []
    await assert_books_balance(database)


async def test_a_provider_that_does_not_say_what_it_took_took_the_worst(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    reservation = await granted(treasurer(database), visit, "dear")
    await settle(database, paid(visit, "1", reservation.charge(None)))
    (spent,) = await database.read(charges.by_rung, job.id)
    assert (spent.amount.credits, spent.assumed) == (25, 1)
    assert (await request_budget(database, job))[1].credits == 25


async def test_at_the_cap_the_job_pauses_and_says_exactly_this(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(5_000))
    prices = PriceList({"whole": Price("whole", "bee", 5_000, {"ok": 5_000}), **PRICES.prices})
    one = treasurer(database, prices=prices)
    reservation = await granted(one, visit, "whole")
    await settle(database, paid(visit, "1", reservation.charge(5_000)))
    refusal = await one.reserve(visit, "cheap")
    assert isinstance(refusal, BudgetRefusal)
    assert (refusal.why, refusal.part, refusal.budget and refusal.budget.scope) == (Why.CAP, "credits", Scope.JOB)
    found = await database.read(jobs.get, job.id)
    assert found
    assert found.state is JobState.PAUSING
    assert found.reason == (
        "Budget limit reached (5,000 credits used). Job paused. Resume with higher limit or export partial results."
    )
    fired = await database.read(alerts.of_job, job.id)
    assert [alert.kind for alert in fired] == [AlertKind.SPENDING, AlertKind.BUDGET]
    assert (await request_budget(database, job))[1].credits == 5_000
    await assert_books_balance(database)


@pytest.mark.parametrize(
    ("cap", "rung", "size", "said"),
    [
        (Cap(micros=200_000), "dear", 0, "Budget limit reached ($0.00 used)."),
        (Cap(bytes=4_000_000), "residential", 5_000_000, "Budget limit reached (0 MB of residential traffic used)."),
        (Cap(credits=0), "cheap", 0, "Budget limit reached (0 credits used)."),
    ],
)
async def test_every_currency_has_its_cap(database: AnyDatabase, cap: Cap, rung: str, size: int, said: str) -> None:
    job, (visit,) = await database.write(make_capped, cap)
    refusal = await treasurer(database).reserve(visit, rung, size=size)
    assert isinstance(refusal, BudgetRefusal)
    found = await database.read(jobs.get, job.id)
    assert found
    assert found.reason.startswith(said)


async def test_traffic_through_a_paid_proxy_costs_by_its_bytes(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(bytes=50_000_000))
    one = treasurer(database)
    reservation = await granted(one, visit, "residential", size=10_000_000)
    assert (await request_budget(database, job))[0] == Amount(0, 80_000, 10_000_000)
    await settle(database, paid(visit, "1", reservation.charge(0, 2_500_000)))
    assert await request_budget(database, job) == (NOTHING, Amount(0, 20_000, 2_500_000))
    await assert_books_balance(database)


async def test_traffic_that_nobody_counted_is_all_that_was_put_aside(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(bytes=50_000_000))
    reservation = await granted(treasurer(database), visit, "residential", size=10_000_000)
    await settle(database, paid(visit, "1", reservation.charge(None)))
    assert await request_budget(database, job) == (NOTHING, Amount(0, 80_000, 10_000_000))
    await assert_books_balance(database)


async def test_an_account_and_a_day_have_caps_over_all_jobs(database: AnyDatabase) -> None:
    first, (visit,) = await database.write(make_capped, Cap())
    second, (other,) = await database.write(make_capped, Cap(), "b.test")
    daily = treasurer(database, {Scope.SYSTEM: Cap(30)})
    reservation = await granted(daily, visit, "dear")
    await settle(database, paid(visit, "1", reservation.charge(25)))
    refusal = await daily.reserve(other, "dear")
    assert isinstance(refusal, BudgetRefusal)
    assert refusal.budget
    assert refusal.budget.scope is Scope.SYSTEM
    assert await state_of(database, first.id) is JobState.RUNNING
    paused = await database.read(jobs.get, second.id)
    assert paused
    assert paused.reason.startswith(f"Budget limit of {refusal.budget.period} reached (25 credits used). Job paused.")
    monthly = await treasurer(database, {Scope.ACCOUNT: Cap(30)}).reserve(visit, "dear")
    assert isinstance(monthly, BudgetRefusal)
    assert monthly.budget
    assert monthly.budget.scope is Scope.ACCOUNT
    assert len(monthly.budget.period) == len("2026-11")
    await assert_books_balance(database)


async def test_an_account_spends_from_a_budget_of_its_own(database: AnyDatabase) -> None:
    def make_for(tx: Tx, account: str) -> tuple[Job, Visit]:
        job = make_job(tx, f"{account}.test")
        tx.run(update(tables.jobs).where(tables.jobs.c.id == job.id).values(account_id=account))
        budgets.open_job(tx, job.id, Cap())
        return job, claim_all(tx)[0]

    acme, visit = await database.write(make_for, "acme")
    zenith, other = await database.write(make_for, "zenith")
    one = treasurer(database, {Scope.ACCOUNT: Cap(30)})
    reservation = await granted(one, visit, "dear")
    lost = await granted(one, other, "cheap")
    await settle(database, paid(visit, "1", reservation.charge(25)))
    refusal = await one.reserve(visit, "dear")
    assert isinstance(refusal, BudgetRefusal)
    assert refusal.budget
    assert (refusal.budget.scope, refusal.budget.subject, refusal.used) == (Scope.ACCOUNT, "acme", 25)
    assert await state_of(database, acme.id) is JobState.PAUSING
    # Whoever has spent nothing goes on.
    await granted(one, other, "dear")
    assert await state_of(database, zenith.id) is JobState.RUNNING
    await database.write(charges.assume, [lost.id])
    _, months = await database.read(budgets.today)
    assert {name: (of.reserved.credits, of.spent.credits) for name, of in months.items()} == {
        "acme": (0, 25),
        "zenith": (25, 1),
    }
    await assert_books_balance(database)


async def test_a_cap_the_operator_raises_or_lowers_holds_at_once(database: AnyDatabase) -> None:
    _, (visit,) = await database.write(make_capped, Cap())
    for most, fits in ((10, False), (60, True), (20, False), (1_000, True)):
        answer = await treasurer(database, {Scope.SYSTEM: Cap(most)}).reserve(visit, "dear")
        assert isinstance(answer, Reservation) is fits
    await assert_books_balance(database)


async def test_room_that_is_only_reserved_is_waited_for(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(30))
    one = treasurer(database, patience=20)
    first = await granted(one, visit, "dear")
    waiting = asyncio.create_task(one.reserve(visit, "dear"))
    await asyncio.sleep(0.15)
    assert not waiting.done()
    assert await state_of(database, job.id) is JobState.RUNNING
    await settle(database, paid(visit, "1", first.charge(1)))
    assert isinstance(await waiting, Reservation)
    # Without patience it is said, and the job goes on: nothing is known to be too much.
    refusal = await treasurer(database).reserve(visit, "dear")
    assert isinstance(refusal, BudgetRefusal)
    assert refusal.why is Why.CROWDED
    assert await state_of(database, job.id) is JobState.RUNNING


async def test_who_does_not_wait_any_more_leaves_nothing_reserved(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    one = treasurer(database)
    asking = [asyncio.create_task(one.reserve(visit, "cheap")) for _ in range(5)]
    await asyncio.sleep(0)
    for task in asking:
        task.cancel()
    await asyncio.wait(asking)
    await one.close()
    assert await request_budget(database, job) == (NOTHING, NOTHING)


async def test_a_visit_that_lost_its_lease_gets_no_money(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    refusal = await treasurer(database).reserve(replace(visit, lease=uuid4()), "cheap")
    assert isinstance(refusal, BudgetRefusal)
    assert refusal.why is Why.LEASE
    assert await state_of(database, job.id) is JobState.RUNNING


async def test_what_a_dead_worker_had_reserved_is_charged_at_its_worst_and_marked(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    reservation = await granted(treasurer(database), visit, "dear")
    clock = FrozenClock()
    sweeper = Sweeper(database, clock, lease=LEASE)
    await sweeper.sweep()
    assert (await request_budget(database, job))[0].credits == 25  # somebody holds the lease
    await database.write(lambda tx: tx.run(update(visits).values(lease=uuid4())))
    await sweeper.sweep()
    assert (await request_budget(database, job))[0].credits == 25  # only just gone: it may be about to be released
    clock.advance(6)
    await sweeper.sweep()
    assert await request_budget(database, job) == (NOTHING, Amount(25, 250_000))
    # What the dead one would have said comes too late, and is not booked a second time.
    done_ = await settle(database, paid(visit, "1", reservation.charge(1)))
    assert done_.lost == {visit.lease}
    (spent,) = await database.read(charges.by_rung, job.id)
    assert (spent.amount.credits, spent.assumed, spent.requests) == (25, 1, 1)
    await assert_books_balance(database)


async def test_a_price_above_the_worst_is_booked_and_closes_the_rung_for_all(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    other, (elsewhere,) = await database.write(make_capped, Cap(100), "b.test")
    reservation = await granted(treasurer(database), visit, "cheap")
    await settle(database, paid(visit, "1", reservation.charge(150)))
    assert await request_budget(database, job) == (NOTHING, Amount(150, 1_500_000))  # the truth, though above the cap
    await assert_books_balance(database)
    refusal = await treasurer(database).reserve(elsewhere, "cheap")
    assert isinstance(refusal, BudgetRefusal)
    assert refusal.why is Why.CLOSED
    assert await state_of(database, other.id) is JobState.PAUSING
    said = {alert.sentence for alert in await database.read(alerts.recent, 10) if alert.kind is AlertKind.OVERCHARGE}
    assert len(said) == 1
    assert said.pop().startswith("cheap took 150 credits for one request, more than its price of at most 1.")
    # Once the table says what it costs, it is open again, and the alert is over.
    corrected = PriceList({"cheap": Price("cheap", "bee", 150)})
    await database.write(budgets.set_cap, other.id, Cap(1_000))
    assert isinstance(await treasurer(database, prices=corrected).reserve(elsewhere, "cheap"), Reservation)
    open_alerts = [alert.subject for alert in await database.read(alerts.recent, 10)]
    assert "cheap" not in open_alerts
    assert (await database.read(lambda tx: tx.run(select(t.closed_rungs)).all())) == []


async def test_a_price_above_the_worst_with_a_jobs_own_key_is_booked_and_pauses_that_job_alone(
    database: AnyDatabase,
) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    other, (elsewhere,) = await database.write(make_capped, Cap(100), "b.test")
    await database.write(jobs.keep_provider_keys, job.id, {"bee": b"sealed"})
    reservation = await granted(treasurer(database), visit, "cheap")
    await settle(database, paid(visit, "1", reservation.charge(150)))
    assert await request_budget(database, job) == (NOTHING, Amount(150, 1_500_000))
    await assert_books_balance(database)
    assert await state_of(database, job.id) is JobState.PAUSING
    said = {alert.kind: alert.sentence for alert in await database.read(alerts.of_job, job.id)}
    assert said.keys() == {AlertKind.SPENDING, AlertKind.JOB_OVERCHARGE}
    assert said[AlertKind.JOB_OVERCHARGE].startswith("cheap took 150 credits of the key that came with this job")
    assert isinstance(await treasurer(database).reserve(elsewhere, "cheap"), Reservation)
    assert await state_of(database, other.id) is JobState.RUNNING
    assert (await database.read(lambda tx: tx.run(select(t.closed_rungs)).all())) == []


async def test_half_four_fifths_and_all_of_a_budget_are_told_once_each(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    one = treasurer(
        database, prices=PriceList({f"at-{most}": Price(f"at-{most}", "bee", most) for most in (49, 29, 19, 1)})
    )
    told = []
    for number, cost in enumerate((49, 1, 29, 1, 19, 1)):
        reservation = await granted(one, visit, f"at-{cost}")
        await settle(database, paid(visit, str(number), reservation.charge(cost)))
        told.append(len(await database.read(alerts.of_job, job.id)))
    assert told == [0, 1, 1, 2, 2, 3]
    sentences = [alert.sentence for alert in await database.read(alerts.of_job, job.id)]
    assert sentences[1].startswith("80 % of the budget of job ")
    assert sentences[1].endswith("is spent: 80 credits of 100 credits. See 'gossamer system credits'.")
    # Whoever looked after the job is not told the same again.
    await database.write(alerts.clear_of_job, job.id)
    assert isinstance(await one.reserve(visit, "at-1"), BudgetRefusal)
    assert [alert.kind for alert in await database.read(alerts.of_job, job.id)] == [AlertKind.BUDGET]


async def test_a_day_ends_at_midnight_utc(database: AnyDatabase) -> None:
    clock = FrozenClock(datetime(2026, 3, 31, 23, 59, 59, tzinfo=UTC))
    job, (visit,) = await database.write(make_capped, Cap())
    caps = {Scope.SYSTEM: Cap(30), Scope.ACCOUNT: Cap(40), Scope.JOB: Cap()}
    price = PRICES.priced("dear")

    def reserve(tx: Tx) -> Reservation | BudgetRefusal:
        # On a server the time is the server's; here it is the test's.
        at = Tx(tx.conn, replace(tx.dialect, own_clock=False), clock)
        return reservations.reserve(at, [PaidRequest(uuid4(), visit, None, price, price.worst_amount())], caps)[0]

    before = await database.write(reserve)
    assert isinstance(before, Reservation)
    assert before.day == date(2026, 3, 31)
    assert isinstance(await database.write(reserve), BudgetRefusal)
    clock.advance(1)
    after = await database.write(reserve)
    assert isinstance(after, Reservation)
    assert after.day == date(2026, 4, 1)
    # What was reserved before midnight is spent of the day, and of the month, it was taken from.
    await settle(database, paid(visit, "1", before.charge(20)), paid(visit, "2", after.charge(5)))
    days = {"system": {"2026-03-31": 20, "2026-04-01": 5}, "account": {"2026-03": 20, "2026-04": 5}}
    rows = await database.read(lambda tx: tx.run(select(t.budgets)).all())
    assert {
        scope: {row.period: row.spent_credits for row in rows if row.scope == scope} for scope in ("system", "account")
    } == days
    assert (await request_budget(database, job))[1].credits == 25
    await assert_books_balance(database)


async def test_the_day_is_the_databases_whatever_the_caller_thinks(database: AnyDatabase) -> None:
    _, (visit,) = await database.write(make_capped, Cap())
    now = await database.read(lambda tx: tx.now)
    one = treasurer(database, clock=FrozenClock(now - timedelta(days=1)))
    for _ in range(2):
        await database.write(
            budgets.hold, keys_for(visit.job_id, now.date() - timedelta(days=1), visit.account)
        )  # it has been, and has its row
        assert (await granted(one, visit, "dear")).day >= now.date()
    await assert_books_balance(database)


async def test_the_database_itself_refuses_to_pass_a_cap(database: AnyDatabase) -> None:
    job, _ = await database.write(make_capped, Cap(100))
    over = update(t.budgets).where(t.budgets.c.job_id == job.id).values(reserved_credits=101)
    with pytest.raises(IntegrityError):
        await database.write(lambda tx: tx.run(over))
    below = update(t.budgets).where(t.budgets.c.job_id == job.id).values(spent_credits=-1)
    with pytest.raises(IntegrityError):
        await database.write(lambda tx: tx.run(below))


async def test_many_who_wait_share_a_transaction(database: AnyDatabase) -> None:
    job, held = await database.write(make_capped, Cap(40), *(f"{number}.test" for number in range(50)))
    one = treasurer(database)
    answers = await asyncio.gather(*(one.reserve(visit, "cheap") for visit in held))
    assert sum(isinstance(answer, Reservation) for answer in answers) == 40
    moments = {answer.at for answer in answers if isinstance(answer, Reservation)}
    assert len(moments) <= 2  # the first asks alone or with all the others
    assert (await request_budget(database, job))[0].credits == 40
    for answer in answers:
        if isinstance(answer, Reservation):
            one.release(answer)
    await one.close()
    assert await database.read(reservations.any_left) is False
    await assert_books_balance(database)


async def test_a_free_page_costs_the_ledger_no_statement(database: AnyDatabase) -> None:
    """What is settled without a charge does not even look at the budgets."""
    _, (visit,) = await database.write(make_capped, Cap(100))

    def listen(tx: Tx) -> list[str]:
        with statements(tx) as heard:
            commit(tx, [done(visit, f"http://{visit.host}/", "CRM"), Step(visit)], 0)
        return heard

    said = await database.write(listen)
    tables = (t.budgets, t.reservations, t.charges, t.expenses, t.closed_rungs)
    assert len(said) > 3
    assert [one for one in said if any(table.name in one for table in tables)] == []
