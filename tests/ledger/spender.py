"""A process that spends: some workers, each walking a visit of its own, all asking one Treasurer for every request.

They make real requests to an emulated provider in another process, which keeps the bill. Every address has the id of
its reservation in it, so that each line of the bill can be held against the ledger.
"""

import asyncio
import random
from datetime import timedelta
from uuid import UUID, uuid4

from sqlalchemy import select

from gossamer.billing.prices import OwnPrice, price_list
from gossamer.billing.reservations import Treasurer
from gossamer.clock import SystemClock
from gossamer.db.database import Database, open_database
from gossamer.db.tables import visits as rows
from gossamer.db.transactions import Tx
from gossamer.fetch.errors import FetchError
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.providers import ProviderAccess, Providers
from gossamer.fetch.resolve import Resolver
from gossamer.gate.local import MemoryPlaces
from gossamer.model.money import BudgetRefusal, Cap, Charge, Reservation, Scope, Why
from gossamer.model.page import Page, Visit
from gossamer.model.states import PageState
from gossamer.settle.commit import commit
from gossamer.settle.step import PageStep, Step
from gossamer.store import visits

# What the operator takes for the worst is mostly more than what the provider takes in the end: 1, 5, 10, 25 and 75.
WORST = {
    "scrapingbee-standard": 4,
    "scrapingbee-js": 5,
    "scrapingbee-premium": 22,
    "scrapingbee-premium-js": 30,
    "scrapingbee-stealth": 80,
}
PRICES = price_list(0.01, {rung: OwnPrice(worst) for rung, worst in WORST.items()})
FATES = ("200", "200", "200", "200", "404", "503")  # what sites answer: all but the last are paid for
LEASE = timedelta(minutes=5)
_LONGEST = timedelta(seconds=30)
_MOST_REQUESTS = 400  # of a worker: the cap ends it long before


def main(
    url: str, job_id: str, seed: str, number: str, life: str, workers: str, provider: str, connect_to: str
) -> None:
    chances = random.Random(f"{seed}/{number}/{life}")
    asyncio.run(_spend(url, UUID(job_id), int(number), int(workers), chances, provider, connect_to))


async def _spend(
    url: str, job_id: UUID, number: int, workers: int, chances: random.Random, provider: str, connect_to: str
) -> None:
    clock = SystemClock()
    database = open_database(url, clock)
    database.retries.limit = timedelta(seconds=60)
    treasurer = Treasurer(database, clock, PRICES, {scope: Cap() for scope in Scope}, timedelta(seconds=0.5))
    key, _, place = provider.partition("@")
    desk = Providers(
        {"scrapingbee": ProviderAccess(key, place)}, clock, MemoryPlaces(clock), holder=str(number), at_once=50
    )
    resolver = Resolver(clock)
    guard = Guard(resolver, rules=parse_connect_to(connect_to))
    try:
        held = await database.write(_claim, job_id, number * workers, workers, f"spenders/{number}")
        spenders = (Worker(database, treasurer, desk, guard, visit, random.Random(chances.random())) for visit in held)
        await asyncio.gather(*(one.work() for one in spenders))
        await treasurer.close()
    finally:
        await resolver.close()
        await database.close()


def _claim(tx: Tx, job_id: UUID, first: int, count: int, worker: str) -> list[Visit]:
    query = select(rows.c.id).where(rows.c.job_id == job_id).order_by(rows.c.id).offset(first).limit(count)
    return visits.claim(tx, {one: uuid4() for one in tx.run(query).scalars()}, worker, LEASE)


class Worker:
    """Asks, calls, and settles what it brought, until there is no money left."""

    def __init__(
        self,
        database: Database,
        treasurer: Treasurer,
        desk: Providers,
        guard: Guard,
        visit: Visit,
        chances: random.Random,
    ) -> None:
        self._database = database
        self._treasurer = treasurer
        self._desk = desk
        self._guard = guard
        self._visit = visit
        self._chances = chances

    async def work(self) -> None:
        for _ in range(_MOST_REQUESTS):
            rung = self._chances.choice(tuple(WORST))
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
                await self._use(answer)
            elif _is_final(answer):
                return

    async def _use(self, granted: Reservation) -> None:
        if self._chances.random() < 0.1:
            self._treasurer.release(granted)  # never sent
            return
        url = f"http://{self._visit.host}/{self._chances.choice(FATES)}/{granted.id}"
        await self._settle(url, (granted.charge(await self._call(granted.price.rung, url)),))

    async def _call(self, rung: str, url: str) -> int | None:
        """What the provider says it cost; None if nobody knows."""
        session = self._desk.session(rung, self._guard)
        try:
            return (await session.fetch(url, timeout=_LONGEST, max_bytes=10_000)).credits
        except FetchError as error:
            return error.credits
        finally:
            await session.close()

    async def _settle(self, url: str, charges: tuple[Charge, ...]) -> None:
        page = Page.at(url, 1)
        ended = PageStep(page, PageState.DONE, http_status=200, identity=page.key, bytes_in=10)
        await self._database.write(commit, [Step(self._visit, ended, charges=charges)], 0)


def _is_final(refusal: BudgetRefusal) -> bool:
    return refusal.why is not Why.CROWDED
