"""One trial: twenty workers in four processes spend a cap of 1,000 at an emulated provider, and processes are killed.

Prices, failures and the moments of the kills are the seed's. Every process that is killed is followed by another, which
takes up its visits. The database looks at every change (`watch.py`); in the end the ledger is held against the bill.
"""

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select

from gossamer.clock import SystemClock
from gossamer.db import tables as t
from gossamer.db.database import Database, open_database
from gossamer.db.transactions import Tx
from gossamer.model.job import Job
from gossamer.model.money import Amount, Budget, Cap
from gossamer.store import audit, budgets, charges, reclaim, reservations
from gossamer_sandbox.providers import Running, emulate
from gossamer_sandbox.providers.storms import Kind, Storm
from gossamer_sandbox.providers.wire import Answer, Request, serve
from tests.jobs import make_job
from tests.ledger.nursery import Nursery
from tests.ledger.spender import WORST
from tests.ledger.watch import begin_watch, watched

CAP = 1_000
PROCESSES, WORKERS = 4, 5
_LONGEST = 900.0  # seconds of one trial, on whatever machine
_CALM = 0.85  # of the calls
_BAD_DAYS = (Storm(Kind.STATUS, status=500), Storm(Kind.MALFORMED), Storm(Kind.CUT), Storm(Kind.NOT_HTTP))


@dataclass(frozen=True, slots=True)
class Booked:
    credits: int
    assumed: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the ledger says when everybody is gone, and what the provider does."""

    budget: Budget
    charges: Mapping[UUID, Booked]
    bill: Mapping[UUID, int]  # credits by reservation
    faults: list[str]
    looks: int  # at the ledger, by the database itself
    most: int  # reserved and spent at any of them
    kills: int


async def spend(url: str, seed: int, kills: int = 1) -> Outcome:
    """The schema is there already. Whoever breaks a cap is refused by the database, and ends with an error."""
    chances = random.Random(seed)
    database = open_database(url, SystemClock())
    try:
        await database.write(begin_watch)
        job = await database.write(_make)
        async with serve(_site) as port, _provider(f"*.test=127.0.0.1:{port}", chances) as provider:
            process_pool = ProcessPool(url, job, seed, provider, f"*.test=127.0.0.1:{port}")
            try:
                await process_pool.work(database, chances, kills)
            finally:
                process_pool.end()
            for number in range(PROCESSES):
                await _sweep(database, number)
            await _until(lambda: not provider.emulator.shop.running)  # whoever was killed is charged all the same
            bill = {UUID(one.target.rpartition("/")[2]): one.credits for one in provider.bill.entries if one.target}
        return Outcome(
            await database.read(budgets.of_job, job.id),
            await database.read(_charges, job.id),
            bill,
            await database.read(audit.money_faults),
            *await database.read(watched),
            kills,
        )
    finally:
        await database.close()


class ProcessPool:
    """The processes of a trial."""

    def __init__(self, url: str, job: Job, seed: int, provider: Running, connect_to: str) -> None:
        self._given = (url, str(job.id), str(seed))
        self._provider = provider
        self._connect_to = connect_to
        self._nursery = Nursery()
        self._lives = [self._start(number, 0) for number in range(PROCESSES)]

    async def work(self, database: Database, chances: random.Random, kills: int) -> None:
        """Until there is no money left."""
        for life in range(1, kills + 1):
            number = chances.randrange(PROCESSES)
            await self._kill(self._lives[number], chances)
            await _sweep(database, number)  # while the others go on
            self._lives[number] = self._start(number, life)
        await _until(lambda: all(map(self._is_over, self._lives)))
        assert [self._nursery.ended(one) for one in self._lives] == [0] * PROCESSES

    async def _kill(self, victim: int, chances: random.Random) -> None:
        """In the middle of something: after some requests, and at whatever moment that is."""
        bill = self._provider.bill.entries
        after = len(bill) + chances.randint(3, 40)
        await _until(lambda: len(bill) >= after or self._is_over(victim))
        await asyncio.sleep(chances.uniform(0, 0.05))
        if not self._is_over(victim):
            os.kill(victim, signal.SIGKILL)
        await _until(lambda: self._is_over(victim))

    def _is_over(self, process: int) -> bool:
        return self._nursery.ended(process) is not None

    def end(self) -> None:
        for one in self._lives:
            if not self._is_over(one):
                os.kill(one, signal.SIGKILL)
        self._nursery.close()

    def _start(self, number: int, life: int) -> int:
        place = f"{self._provider.key}@{self._provider.url}"
        return self._nursery.start(*self._given, str(number), str(life), str(WORKERS), place, self._connect_to)


async def _site(request: Request) -> Answer:
    """Every site of the trial: an address says how it is answered."""
    return Answer(int(request.path.split("/")[1]), (("Content-Type", "text/html"),), b"<p>a page</p>")


@asynccontextmanager
async def _provider(connect_to: str, chances: random.Random) -> AsyncIterator[Running]:
    """Some of its calls fail, are not answered in full, or do not say what they cost."""
    async with emulate("scrapingbee", connect_to, at_once=100) as provider:
        for _ in range(2_000):
            calm = Storm(Kind.SLOW, seconds=chances.uniform(0, 0.03))
            provider.storms.add(calm if chances.random() < _CALM else chances.choice(_BAD_DAYS))
        yield provider


async def _sweep(database: Database, number: int) -> None:
    """What the sweeper does once it is sure that a process is gone."""
    await database.write(reclaim.void_worker, f"spenders/{number}", "it is gone", deadly=True)
    await database.write(charges.assume, await database.read(reservations.orphans))


def check(found: Outcome) -> None:
    """Never above the cap, and the ledger is the bill: but for what was assumed, which is never below it."""
    assert found.faults == []
    assert found.budget.excess == Amount()
    assert found.budget.reserved == Amount()
    assert found.budget.spent.credits == sum(one.credits for one in found.charges.values())
    assert sum(found.bill.values()) <= found.budget.spent.credits <= CAP
    assert {one for one, cost in found.bill.items() if cost} <= set(found.charges)
    for one, booked in found.charges.items():
        assert booked.credits >= found.bill.get(one, 0) if booked.assumed else booked.credits == found.bill[one]
    # They have really spent, to the last credits, and the database has really looked.
    assert CAP - max(WORST.values()) < found.most <= CAP
    assert found.looks > len(found.charges)


def _make(tx: Tx) -> Job:
    job = make_job(tx, *(f"{number}.test" for number in range(PROCESSES * WORKERS)))
    budgets.open_job(tx, job.id, Cap(CAP))
    return job


async def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _LONGEST
    while not holds():
        assert time.monotonic() < end, "the spenders hang"
        await asyncio.sleep(0.01)


def _charges(tx: Tx, job_id: UUID) -> dict[UUID, Booked]:
    rows = tx.run(select(t.charges).where(t.charges.c.job_id == job_id))
    return {row.id: Booked(row.credits, row.assumed) for row in rows}
