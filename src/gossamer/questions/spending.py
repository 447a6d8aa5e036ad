"""The operator's query for the total spending of all jobs and the balances at the providers."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from gossamer.app import App, provider_desk, provider_rungs
from gossamer.billing.prices import PriceList
from gossamer.db.transactions import Tx
from gossamer.fetch.providers import Account, Unread
from gossamer.gate.local import MemoryPlaces
from gossamer.model.job import Job
from gossamer.model.money import Amount, Budget, Cap, Scope
from gossamer.model.rungs import provider_of
from gossamer.questions.view import View
from gossamer.store import budgets, charges, jobs
from gossamer.store.charges import Expense

_LONGEST = 12.0  # seconds for the books of all providers together


@dataclass(frozen=True, slots=True)
class Spending:
    day: date
    today: Budget  # of the whole system
    month: Mapping[str, Budget]  # of each account
    providers_today: Mapping[str, Expense]
    providers_month: Mapping[str, Expense]
    by_job: tuple[tuple[Job | None, UUID, Amount], ...]  # of this month, the dearest first
    caps: Mapping[Scope, Cap]
    prices: PriceList
    credit_usd: float
    books: Mapping[str, Account | str]  # of providers, or why they cannot be read


async def spending(view: View, *, ask: bool = True) -> Spending:
    """Return the current spending. With `ask`, the balances are requested from the providers."""
    app = view.house()
    return await app.database.read(_spending, app, await _read_books(app) if ask else {})


def _spending(tx: Tx, app: App, books: Mapping[str, Account | str]) -> Spending:
    day = tx.now.date()
    today, month = budgets.today(tx)
    first = day.replace(day=1)
    spent = sorted(charges.by_job(tx, first, day).items(), key=lambda one: (-one[1].micros, one[0]))
    return Spending(
        day,
        today,
        month,
        charges.by_provider(tx, day, day),
        charges.by_provider(tx, first, day),
        tuple((jobs.get(tx, job_id), job_id, amount) for job_id, amount in spent),
        app.caps,
        app.prices,
        app.settings.credit_usd,
        books,
    )


async def _read_books(app: App) -> dict[str, Account | str]:
    """Query, concurrently, the accounts of all configured providers that offer one."""
    names = list(dict.fromkeys(provider_of(rung) for rung in provider_rungs(app.settings)))
    if not names:
        return {}
    # No page is fetched, so no place is taken that others would have to know of.
    desk = provider_desk(app.settings, app.clock, MemoryPlaces(app.clock), "accounts")

    async def ask(name: str) -> Account | str | None:
        try:
            async with asyncio.timeout(_LONGEST):
                return await desk.read_books(name)
        except Unread as error:
            return str(error)
        except TimeoutError:
            return f"No answer in {_LONGEST:g} s"

    told = await asyncio.gather(*map(ask, names))
    return {name: one for name, one in zip(names, told, strict=True) if one is not None}
