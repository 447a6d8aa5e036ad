"""What tests of money share: a job with a cap, its visits in hand, and what the ledger says of it."""

from collections.abc import Mapping
from datetime import timedelta

from gossamer.billing.prices import PriceList
from gossamer.billing.reservations import Treasurer
from gossamer.clock import Clock, SystemClock
from gossamer.db.transactions import Tx
from gossamer.model.job import Job
from gossamer.model.money import Amount, Cap, Charge, Price, Reservation, Scope
from gossamer.model.page import Page, Visit
from gossamer.model.states import PageState
from gossamer.settle.step import PageStep, Step
from gossamer.store import budgets
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, make_job

PRICES = PriceList(
    {
        "cheap": Price("cheap", "bee", 1, {"ok": 1}),
        "dear": Price("dear", "bee", 25, {"ok": 25}),
        "residential": Price("residential", "proxies", 0, micros_per_gigabyte=8_000_000),
    }
)
NO_CAPS: Mapping[Scope, Cap] = {scope: Cap() for scope in Scope}


def make_capped(tx: Tx, cap: Cap, *hosts: str) -> tuple[Job, list[Visit]]:
    job = make_job(tx, *(hosts or ("a.test",)))
    budgets.open_job(tx, job.id, cap)
    return job, claim_all(tx)


def treasurer(
    database: AnyDatabase,
    caps: Mapping[Scope, Cap] | None = None,
    *,
    prices: PriceList = PRICES,
    clock: Clock | None = None,
    patience: float = 0.0,
) -> Treasurer:
    known = {**NO_CAPS, **(caps or {})}
    return Treasurer(database, clock or SystemClock(), prices, known, timedelta(seconds=patience))


async def granted(one: Treasurer, visit: Visit, rung: str, **more: int) -> Reservation:
    answer = await one.reserve(visit, rung, page=Page.at(f"http://{visit.host}/").key, **more)
    assert isinstance(answer, Reservation), answer
    return answer


def paid(visit: Visit, path: str, *charges: Charge) -> Step:
    page = Page.at(f"http://{visit.host}/{path}", 1)
    step = PageStep(page, PageState.DONE, http_status=200, identity=page.key, bytes_in=10)
    return Step(visit, step, charges=charges)


async def request_budget(database: AnyDatabase, job: Job) -> tuple[Amount, Amount]:
    """What is reserved and what is spent of a job."""
    budget = await database.read(budgets.of_job, job.id)
    return budget.reserved, budget.spent
