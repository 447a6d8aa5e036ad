"""On a server room is taken by one statement. Whoever had to wait for the budgets decides by what is true then."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from sqlalchemy import event, text

from gossamer.billing.reservations import Treasurer
from gossamer.clock import FrozenClock, SystemClock
from gossamer.db.database import PostgresDatabase
from gossamer.db.transactions import POSTGRES, Tx
from gossamer.errors import StorageAway
from gossamer.model.money import NOTHING, Amount, BudgetRefusal, Cap, Reservation, Why
from gossamer.model.states import JobState
from gossamer.store import charges, reservations
from gossamer.store.budgets import PaidRequest
from tests.conftest import AnyDatabase
from tests.jobs import state_of
from tests.ledger.proof import assert_books_balance
from tests.ledger.request_budget import NO_CAPS, PRICES, granted, make_capped, request_budget, treasurer


@pytest.fixture
async def server(new_postgres: Callable[[], str]) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(new_postgres(), SystemClock())
    yield opened
    await opened.close()


@pytest.fixture
async def pooled(new_postgres: Callable[[], str], pooler: str) -> AsyncIterator[PostgresDatabase]:
    url = pooler.replace("/postgres", urlsplit(new_postgres()).path)
    opened = PostgresDatabase(url, SystemClock(), pooled=True, longest=timedelta(seconds=30))
    yield opened
    await opened.close()


def ask(visit: object, rung: str = "dear") -> PaidRequest:
    price = PRICES.priced(rung)
    return PaidRequest(uuid4(), visit, None, price, price.worst_amount())  # type: ignore[arg-type]


@asynccontextmanager
async def meanwhile(server: PostgresDatabase, work: Callable[[Tx], object]) -> AsyncIterator[None]:
    """Somebody's transaction, which is committed once another one waits for what it has locked."""
    async with server._engine.begin() as conn:
        await conn.run_sync(lambda sync: work(Tx(sync, POSTGRES, SystemClock())))
        yield
        waiting = text(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        async with asyncio.timeout(20):
            while not await server.read(lambda tx: tx.run(waiting).scalar_one()):
                await asyncio.sleep(0.005)


async def test_room_for_everybody_is_one_statement(server: PostgresDatabase) -> None:
    job, held = await server.write(make_capped, Cap(100), *(f"{number}.test" for number in range(4)))
    one = treasurer(server)
    await granted(one, held[0], "cheap")  # the first of a day makes the budgets of that day
    said: list[str] = []
    event.listen(server._engine.sync_engine, "before_cursor_execute", lambda *heard: said.append(heard[2]))
    answers = await asyncio.gather(*(one.reserve(visit, "cheap") for visit in held))
    assert all(isinstance(answer, Reservation) for answer in answers)
    assert 1 <= len(said) <= 2  # whoever asked first did so alone, or with the others
    assert {sql.split()[0] for sql in said} == {"WITH"}
    assert (await request_budget(server, job))[0].credits == 5
    await assert_books_balance(server)


async def test_behind_another_pool_it_is_the_same(pooled: PostgresDatabase) -> None:
    job, (visit,) = await pooled.write(make_capped, Cap(100))
    one = treasurer(pooled)
    await granted(one, visit, "cheap")
    today = (await pooled.read(lambda tx: tx.now)).date()
    beside = await pooled.write_one(reservations.reserve_all, [ask(visit)], NO_CAPS, today)
    assert beside
    await pooled.write(charges.settle, [beside[0].charge(7)])
    assert await request_budget(pooled, job) == (Amount(1, 10_000), Amount(7, 70_000))
    await assert_books_balance(pooled)


async def test_two_processes_that_ask_at_once_see_each_other(server: PostgresDatabase) -> None:
    job, (visit,) = await server.write(make_capped, Cap(30))
    one = treasurer(server)
    one.release(await granted(one, visit, "dear"))
    await one.close()
    today = (await server.read(lambda tx: tx.now)).date()
    async with meanwhile(server, lambda tx: reservations.reserve_all(tx, [ask(visit)], NO_CAPS, today)):
        late = asyncio.create_task(one.reserve(visit, "dear"))
    refusal = await late
    assert isinstance(refusal, BudgetRefusal)
    assert refusal.why is Why.CROWDED
    assert await request_budget(server, job) == (Amount(25, 250_000), NOTHING)
    # There is room for a cheap one beside it, and what the other has taken is not forgotten.
    async with meanwhile(server, lambda tx: reservations.reserve_all(tx, [ask(visit, "cheap")], NO_CAPS, today)):
        late = asyncio.create_task(one.reserve(visit, "cheap"))
    assert isinstance(await late, Reservation)
    assert (await request_budget(server, job))[0].credits == 27
    await assert_books_balance(server)


async def test_a_rung_that_is_closed_while_we_wait_for_the_budgets_is_not_used(server: PostgresDatabase) -> None:
    _, (visit,) = await server.write(make_capped, Cap())
    other, (elsewhere,) = await server.write(make_capped, Cap(), "b.test")
    one = treasurer(server)
    dear = await granted(one, visit, "dear")
    await granted(one, elsewhere, "dear")
    async with meanwhile(server, lambda tx: charges.settle(tx, [dear.charge(26)])):
        late = asyncio.create_task(one.reserve(elsewhere, "dear"))
    refusal = await late
    assert isinstance(refusal, BudgetRefusal)
    assert refusal.why is Why.CLOSED
    assert await state_of(server, other.id) is JobState.PAUSING
    await assert_books_balance(server)


async def test_so_it_is_where_the_budgets_are_held_by_a_statement_of_their_own(server: PostgresDatabase) -> None:
    _, (visit,) = await server.write(make_capped, Cap())
    one = treasurer(server)
    dear = await granted(one, visit, "dear")
    async with meanwhile(server, lambda tx: charges.settle(tx, [dear.charge(26)])):
        late = asyncio.create_task(server.write(reservations.reserve, [ask(visit)], NO_CAPS))
    (refusal,) = await late
    assert isinstance(refusal, BudgetRefusal)
    assert (refusal.why, refusal.used) == (Why.CLOSED, 26)
    await assert_books_balance(server)


async def test_what_was_asked_over_a_broken_connection_and_done_meanwhile_is_not_done_again(
    server: PostgresDatabase,
) -> None:
    job, (visit,) = await server.write(make_capped, Cap(100))
    await server.write(reservations.reserve, [ask(visit, "cheap")], NO_CAPS)
    today = (await server.read(lambda tx: tx.now)).date()
    same = ask(visit)
    async with meanwhile(server, lambda tx: reservations.reserve_all(tx, [same], NO_CAPS, today)):
        again = asyncio.create_task(server.write_one(reservations.reserve_all, [same], NO_CAPS, today))
    assert await again is None
    (answer,) = await server.write(reservations.reserve, [same], NO_CAPS)
    assert isinstance(answer, Reservation)
    assert (await request_budget(server, job))[0].credits == 26
    await assert_books_balance(server)


async def test_one_who_cannot_be_served_like_that_does_not_cost_the_others_their_room(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    poor, (elsewhere,) = await database.write(make_capped, Cap(3), "b.test")
    one = treasurer(database)
    rich, refused = await asyncio.gather(one.reserve(visit, "dear"), one.reserve(elsewhere, "dear"))
    assert isinstance(rich, Reservation)
    assert isinstance(refused, BudgetRefusal)
    assert (await request_budget(database, job))[0].credits == 25
    assert await request_budget(database, poor) == (NOTHING, NOTHING)
    await assert_books_balance(database)


class Deaf:
    """A database whose answers are lost: what it was told to do is done all the same."""

    def __init__(self, database: AnyDatabase) -> None:
        self.dialect = database.dialect
        self.is_deaf = True
        self.left_behind = False
        self._database = database

    async def write(self, *work: object) -> object:
        done: object = await self._database.write(*work)  # type: ignore[arg-type]
        if self.is_deaf:
            self.left_behind |= await self._database.read(reservations.any_left)
            raise StorageAway("no answer")
        return done

    write_one = write


async def test_a_grant_nobody_heard_of_is_given_back_when_the_database_is_there_again(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(100))
    await database.write(charges.release, [(await granted(treasurer(database), visit, "cheap")).id])
    deaf = Deaf(database)
    one = Treasurer(deaf, SystemClock(), PRICES, NO_CAPS)  # type: ignore[arg-type]
    with pytest.raises(StorageAway):
        await one.reserve(visit, "dear")
    assert deaf.left_behind
    deaf.is_deaf = False
    await one.close()
    assert await request_budget(database, job) == (NOTHING, NOTHING)
    assert await database.read(reservations.any_left) is False


async def test_a_treasurer_ends_though_the_database_is_away(database: AnyDatabase) -> None:
    _, (visit,) = await database.write(make_capped, Cap(100))
    deaf = Deaf(database)
    deaf.is_deaf = False
    one = Treasurer(deaf, FrozenClock(), PRICES, NO_CAPS)  # type: ignore[arg-type]
    reservation = await granted(one, visit, "dear")
    deaf.is_deaf = True
    one.release(reservation)
    async with asyncio.timeout(20):
        await one.close()
