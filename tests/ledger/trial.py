"""One trial: twenty workers in four processes spend a cap of 1,000 at random prices, and one process is killed."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from gossamer.clock import SystemClock
from gossamer.model.job import Job
from gossamer.model.money import Amount, Budget, Cap
from gossamer.store import audit_money, bookings, budgets, reclaim, reservations
from gossamer.store import ledger_tables as t
from gossamer.store.database import Database, open_database
from gossamer.store.tx import Tx
from tests.jobs import make_job

CAP = 1_000
PROCESSES, WORKERS = 4, 5
_LONGEST = 120.0  # seconds of one trial
ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True, slots=True)
class Booked:
    credits: int
    assumed: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the ledger says when everybody is gone, and what the provider does."""

    budget: Budget
    charges: Mapping[UUID, Booked]
    bill: Mapping[UUID, int]
    faults: list[str]
    killed_after: int  # requests


async def spend(url: str, seed: int, folder: Path) -> Outcome:
    """The schema is there already. Whoever breaks a cap is refused by the database, and ends with an error."""
    chances = random.Random(seed)
    database = open_database(url, SystemClock())
    try:
        job = await database.write(_make)
        bill = folder / f"bill-{seed}"
        bill.touch()
        crew = [_start(url, job, seed, number, bill) for number in range(PROCESSES)]
        try:
            killed_after = chances.randint(3, 60)
            await _until(lambda: len(_read(bill)) >= killed_after or crew[0].poll() is not None)
            crew[0].send_signal(signal.SIGKILL)
            crew[0].wait()
            await _sweep(database, 0)  # while the others go on
            await _until(lambda: all(one.poll() is not None for one in crew))
        finally:
            for one in crew:
                one.kill()
                one.wait()
        assert [one.returncode for one in crew[1:]] == [0] * (PROCESSES - 1)
        for number in range(PROCESSES):
            await _sweep(database, number)
        return Outcome(
            await database.read(budgets.of_job, job.id),
            await database.read(_charges, job.id),
            _read(bill),
            await database.read(audit_money.everything),
            killed_after,
        )
    finally:
        await database.close()


async def _sweep(database: Database, number: int) -> None:
    """What the sweeper does once it is sure that a process is gone."""
    await database.write(reclaim.void_worker, f"spenders/{number}", "it is gone", deadly=True)
    await database.write(bookings.assume, await database.read(reservations.orphans))


def check(found: Outcome) -> None:
    """Never above the cap, and the ledger is the bill: but for what was assumed, which is never below it."""
    assert found.faults == []
    assert found.budget.excess == Amount()
    assert found.budget.reserved == Amount()
    assert found.budget.spent.credits == sum(one.credits for one in found.charges.values()) <= CAP
    assert {one for one, cost in found.bill.items() if cost} <= set(found.charges)
    for one, booked in found.charges.items():
        if booked.assumed:
            assert booked.credits >= found.bill.get(one, 0)
        else:
            assert booked.credits == found.bill[one]
    assert len(found.bill) > found.killed_after / 2  # they have really spent


def _make(tx: Tx) -> Job:
    job = make_job(tx, *(f"{number}.test" for number in range(PROCESSES * WORKERS)))
    budgets.open_job(tx, job.id, Cap(CAP))
    return job


def _start(url: str, job: Job, seed: int, number: int, bill: Path) -> "subprocess.Popen[bytes]":
    given = (url, str(job.id), str(seed), str(number), str(WORKERS), str(bill))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-m", "tests.ledger.spender", *given], cwd=ROOT, env=environment)


async def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _LONGEST
    while not holds():
        assert time.monotonic() < end, "the spenders hang"
        await asyncio.sleep(0.01)


def _read(bill: Path) -> dict[UUID, int]:
    lines = (line.split() for line in bill.read_text().splitlines())
    return {UUID(identifier): int(cost) for identifier, cost in lines}


def _charges(tx: Tx, job_id: UUID) -> dict[UUID, Booked]:
    rows = tx.run(select(t.charges).where(t.charges.c.job_id == job_id))
    return {row.id: Booked(row.credits, row.assumed) for row in rows}
