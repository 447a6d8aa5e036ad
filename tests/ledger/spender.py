"""A process that spends: some workers, each walking a visit of its own, all asking one Treasurer for every request.

    python -m tests.ledger.spender DATABASE-URL JOB-ID SEED NUMBER WORKERS BILL

What a request really costs is decided by the seed and written to the bill, which plays the provider's part: at once,
and in one piece, so that it is there even if the next thing that happens to us is `kill -9`.
"""

import asyncio
import os
import random
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import select

from gossamer.clock import SystemClock
from gossamer.ledger.prices import PriceList
from gossamer.ledger.treasurer import Treasurer
from gossamer.model.money import Cap, Charge, Price, Refusal, Reservation, Scope, Why
from gossamer.model.page import Visit
from gossamer.settle.commit import commit
from gossamer.store import visits
from gossamer.store.database import Database, open_database
from gossamer.store.tables import visits as rows
from gossamer.store.tx import Tx
from tests.ledger.purse import paid

WORST = (1, 5, 10, 25, 75)
PRICES = PriceList({f"at-{worst}": Price(f"at-{worst}", "bee", worst) for worst in WORST})
LEASE = timedelta(minutes=5)
_MOST_REQUESTS = 400  # of a worker: the cap ends it long before


def main() -> None:
    url, job_id, seed, number, workers, bill = sys.argv[1:]
    asyncio.run(_spend(url, UUID(job_id), int(seed), int(number), int(workers), Path(bill)))


async def _spend(url: str, job_id: UUID, seed: int, number: int, workers: int, bill: Path) -> None:
    clock = SystemClock()
    database = open_database(url, clock)
    database.patience.lasts = timedelta(seconds=30)
    treasurer = Treasurer(database, clock, PRICES, {scope: Cap() for scope in Scope}, timedelta(seconds=1))
    ledger = os.open(bill, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        held = await database.write(_claim, job_id, number * workers, workers, f"spenders/{number}")
        chances = random.Random(f"{seed}/{number}")
        await asyncio.gather(
            *(Worker(database, treasurer, visit, random.Random(chances.random()), ledger).work() for visit in held)
        )
        await treasurer.close()
    finally:
        os.close(ledger)
        await database.close()


def _claim(tx: Tx, job_id: UUID, first: int, count: int, worker: str) -> list[Visit]:
    query = select(rows.c.id).where(rows.c.job_id == job_id).order_by(rows.c.id).offset(first).limit(count)
    return visits.claim(tx, {one: uuid4() for one in tx.run(query).scalars()}, worker, LEASE)


class Worker:
    """Asks, calls, and settles what it brought, until there is no money left."""

    def __init__(
        self, database: Database, treasurer: Treasurer, visit: Visit, chances: random.Random, ledger: int
    ) -> None:
        self._database = database
        self._treasurer = treasurer
        self._visit = visit
        self._chances = chances
        self._ledger = ledger

    async def work(self) -> None:
        for number in range(_MOST_REQUESTS):
            rung = f"at-{self._chances.choice(WORST)}"
            asking = asyncio.ensure_future(self._treasurer.reserve(self._visit, rung))
            if self._chances.random() < 0.05:
                # Somebody who loses patience just as the answer may come.
                await asyncio.wait([asking], timeout=self._chances.uniform(0, 0.02))
                asking.cancel()
                await asyncio.wait([asking])
                if not asking.cancelled() and isinstance(granted := asking.result(), Reservation):
                    self._treasurer.release(granted)
                continue
            answer = await asking
            if isinstance(answer, Reservation):
                await self._call(number, answer)
            elif _is_final(answer):
                return

    async def _call(self, number: int, granted: Reservation) -> None:
        fate = self._chances.random()
        if fate < 0.1:
            self._treasurer.release(granted)  # never sent
            return
        cost = 0 if fate < 0.25 else self._chances.randint(1, granted.worst.credits)
        os.write(self._ledger, f"{granted.id} {cost}\n".encode())  # the provider has charged it
        await asyncio.sleep(self._chances.uniform(0, 0.02))
        # Now and then nobody says what it cost.
        charge = granted.charge(None if fate > 0.95 else cost)
        await self._settle(number, (charge,))

    async def _settle(self, number: int, charges: Sequence[Charge]) -> None:
        await self._database.write(commit, [paid(self._visit, str(number), *charges)], 0)


def _is_final(refusal: Refusal) -> bool:
    return refusal.why is not Why.CROWDED


if __name__ == "__main__":
    main()
