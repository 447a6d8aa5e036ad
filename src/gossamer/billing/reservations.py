"""Reserve the worst price of every request that costs something, before it is sent.

One `Treasurer` per process.

granted = await treasurer.reserve(visit, "scrapingbee-js", page=page.key)
    if isinstance(granted, Refusal): ...          the page waits; its job is being paused if the cap is reached
    response = await fetcher.fetch(...)
    Step(visit, ..., charges=(granted.charge(response.credits),))     booked together with the request's results
    treasurer.release(granted)                    instead of a charge, for a request that was never made

Reservations that wait at the same moment share one transaction, so that many visits of a job do not
queue for its budget row. On a database server that is a single statement while there is room for all
of them, otherwise a detailed check follows. A rung without a price is free and needs no reservation.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from gossamer.billing.prices import PriceList
from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.logging import get_logger
from gossamer.model.alert import PAUSES, AlertKind
from gossamer.model.ids import new_id, short
from gossamer.model.money import BudgetRefusal, Cap, Price, Reservation, Scope, Why, shown
from gossamer.model.page import Visit
from gossamer.store import charges, reservations
from gossamer.store.budgets import PaidRequest
from gossamer.store.jobs import pause_automatically

_KINDS = {
    Scope.SYSTEM: AlertKind.DAILY_BUDGET,
    Scope.ACCOUNT: AlertKind.ACCOUNT_BUDGET,
    Scope.JOB: AlertKind.BUDGET,
}


def pause_of(refusal: BudgetRefusal, price: Price, job_id: UUID) -> tuple[AlertKind, str] | None:
    """Return the reason to pause the job; None if it continues: a lease was lost, or the budget is crowded."""
    if refusal.why is Why.CLOSED:
        figures = {"rung": price.rung, "charged": refusal.used, "worst": price.worst}
        return AlertKind.OVERCHARGE, PAUSES[AlertKind.OVERCHARGE].format(**figures)
    if refusal.why is not Why.CAP or refusal.budget is None:
        return None
    period, used = refusal.budget.period, shown(refusal.part, refusal.used)
    kind = _KINDS[refusal.budget.scope]
    return kind, PAUSES[kind].format(used=used, day=period, month=period, job=short(job_id))


MOST_AT_ONCE = 200  # requests in one transaction
PATIENCE = timedelta(seconds=5)  # wait for reservations of others to be released
_AGAIN = 0.1  # seconds until a crowded budget is retried

Answer = Reservation | BudgetRefusal

log = get_logger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A pending reservation, and the time until which it waits for room."""

    asked: PaidRequest
    until: float
    answer: "asyncio.Future[Answer]" = field(repr=False)


class Treasurer:
    """Reserves and releases amounts. `caps`: of the system per day, of an account per month, of a job by default."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        prices: PriceList,
        caps: Mapping[Scope, Cap],
        patience: timedelta = PATIENCE,
    ) -> None:
        self.prices = prices
        self._database = database
        self._clock = clock
        self._caps = caps
        self._patience = patience.total_seconds()
        self._waiting: list[_Waiting] = []
        self._crowded: list[_Waiting] = []
        self._released: list[UUID] = []
        self._ask_again = 0.0  # time of the next retry of crowded reservations
        self._news = asyncio.Event()
        self._closing = False
        self._serving: asyncio.Task[None] | None = None

    def is_paid(self, rung: str) -> bool:
        return self.prices.of(rung) is not None

    async def reserve(self, visit: Visit, rung: str, *, page: bytes | None = None, size: int = 0) -> Answer:
        """Reserve the price of one request, or return a refusal. A refusal at a cap has already paused the job.

        `size` is the most that may come through a proxy that charges by traffic. Do not call it after the lease's
        deadline, as no request may be made then.
        """
        price = self.prices.priced(rung)
        asked = PaidRequest(new_id(self._clock.now()), visit, page, price, price.worst_amount(size))
        until = self._clock.monotonic() + self._patience
        one = _Waiting(asked, until, asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        self._serve()
        try:
            return await asyncio.shield(one.answer)
        except asyncio.CancelledError:
            # The caller was cancelled: a reservation granted anyway is released.
            one.answer.add_done_callback(self._unwanted)
            raise

    def release(self, reservation: Reservation) -> None:
        """Release the reservation of a request that was not sent. Never waits."""
        self._released.append(reservation.id)
        self._serve()

    async def close(self) -> None:
        """Wait until all reservations are answered, and returned unless the database is down.

        Reservations that could not be returned are counted as spent.
        """
        self._closing = True
        while self._serving is not None:
            await asyncio.wait([self._serving])

    def _unwanted(self, answer: "asyncio.Future[Answer]") -> None:
        if not answer.cancelled() and answer.exception() is None and isinstance(answer.result(), Reservation):
            self._released.append(answer.result().id)  # type: ignore[union-attr]
            self._serve()

    def _serve(self) -> None:
        self._news.set()
        if self._serving is None:
            self._serving = asyncio.create_task(self._work())
            self._serving.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._serving = None
        if self._waiting or self._crowded or self._released:
            self._serve()

    async def _work(self) -> None:
        """Serve all waiting requests, one transaction per batch, until none is left."""
        while self._waiting or self._crowded or self._released:
            self._news.clear()
            if not self._waiting and not self._released:
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, self._ask_again - self._clock.monotonic())):
                        await self._news.wait()
            if self._clock.monotonic() >= self._ask_again:
                self._waiting, self._crowded = self._crowded + self._waiting, []
            batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
            released, self._released = self._released, []
            try:
                answers = await self._transact([one.asked for one in batch], released)
            except BaseException as error:
                self._released += released  # still to be released
                for one in batch:
                    _fail(one.answer, error)
                if not isinstance(error, Exception):
                    raise
                # The callers get an error and send nothing; but the transaction may have been committed.
                self._released = [] if self._closing else self._released + [one.asked.id for one in batch]
                await asyncio.sleep(_AGAIN)
                continue
            await self._answer(batch, answers)

    async def _transact(self, asked: Sequence[PaidRequest], released: Sequence[UUID]) -> Sequence[Answer]:
        if asked and not released and self._database.dialect.row_locks:
            today = self._clock.now().date()
            granted = await self._database.write_one(reservations.reserve_all, asked, self._caps, today)
            if granted is not None:
                return granted
        return await self._database.write(_reserve, asked, self._caps, released) if asked or released else ()

    async def _answer(self, batch: Sequence[_Waiting], answers: Sequence[Answer]) -> None:
        """Answer granted reservations at once, and refused ones after pausing their jobs, to prevent retries."""
        refused: list[tuple[_Waiting, BudgetRefusal]] = []
        for one, answer in zip(batch, answers, strict=True):
            if isinstance(answer, BudgetRefusal):
                refused.append((one, answer))
            elif not one.answer.done():
                one.answer.set_result(answer)
        await self._pause(refused)
        for one, refusal in refused:
            self._tell(one, refusal)

    def _tell(self, one: _Waiting, refusal: BudgetRefusal) -> None:
        now = self._clock.monotonic()
        if refusal.why is Why.CROWDED and now < one.until:
            if not self._crowded:
                self._ask_again = now + _AGAIN
            self._crowded.append(one)
        elif not one.answer.done():
            one.answer.set_result(refusal)

    async def _pause(self, refused: Sequence[tuple[_Waiting, BudgetRefusal]]) -> None:
        told: set[UUID] = set()
        for one, refusal in refused:
            job_id = one.asked.visit.job_id
            pause = pause_of(refusal, one.asked.price, job_id)
            if job_id in told or pause is None:
                continue
            told.add(job_id)
            try:
                if await self._database.write(pause_automatically, job_id, *pause):
                    log.warning("budget.reached", job=str(job_id), why=pause[1])
            except Exception as error:  # noqa: BLE001 - whoever asks next is refused as well, and pauses it then
                log.warning("budget.not_paused", job=str(job_id), error=str(error))


def _reserve(
    tx: Tx, asked: Sequence[PaidRequest], caps: Mapping[Scope, Cap], released: Sequence[UUID]
) -> Sequence[Answer]:
    if released:
        charges.release(tx, released)
    return reservations.reserve(tx, asked, caps) if asked else ()


def _fail(answer: "asyncio.Future[Answer]", error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())
        answer.exception()  # mark as retrieved: the caller may be gone
