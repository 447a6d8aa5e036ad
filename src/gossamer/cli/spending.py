"""What all jobs together have spent, as people and scripts read it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from gossamer.assembly import App
from gossamer.cli import provider_books, tables, words
from gossamer.cli.costs import spent_json
from gossamer.cli.session import say, say_json
from gossamer.ledger.methods import provider_name
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import MICROS, NOTHING, Amount, Budget, Cap, Price, Scope, dollars, shown
from gossamer.store import budgets, charges, jobs
from gossamer.store.charges import Expense
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Spending:
    day: date
    today: Budget  # of the whole system
    month: Budget  # of the account
    providers_today: Mapping[str, Expense]
    providers_month: Mapping[str, Expense]
    by_job: Sequence[tuple[Job | None, UUID, Amount]]  # of this month, the dearest first


async def show_spending(app: App, limit: int, *, as_json: bool, ask: bool = True) -> int:
    """With `ask`, providers are asked what is left there; without, nobody is."""
    found = await app.database.read(_read)
    left = await provider_books.read_books(app) if ask else {}
    if as_json:
        say_json({**_as_json(app, found), "accounts": provider_books.as_json(left)})
        return 0
    for line in (*_lines(app, found), *provider_books.lines(left)):
        say(line)
    if found.providers_month:
        say("")
        tables.show(_providers(found))
    if found.by_job:
        say("")
        tables.show(_jobs(found.by_job[:limit]))
    return 0


def _read(tx: Tx) -> Spending:
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
        [(jobs.get(tx, job_id), job_id, amount) for job_id, amount in spent],
    )


def _lines(app: App, found: Spending) -> Iterator[str]:
    caps = app.caps
    yield f"Today ({found.day}, UTC): {_told(found.today, caps[Scope.SYSTEM])}"
    yield f"This month ({found.month.key.period}): {_told(found.month, caps[Scope.ACCOUNT])}"
    yield f"Prices as of {app.prices.read}; a credit costs {dollars(round(app.settings.credit_usd * MICROS))}."


def _told(budget: Budget, cap: Cap) -> str:
    told = f"{shown('credits', budget.spent.credits)} ({dollars(budget.spent.micros)})"
    if budget.reserved:
        told += f", {budget.reserved.credits:,} more reserved"
    limits = [shown(part, most) for part in ("credits", "micros") if (most := getattr(cap, part)) is not None]
    return f"{told}, of at most {' and '.join(limits)}" if limits else f"{told}, no limit set"


def _providers(found: Spending) -> Any:
    titles = ["Provider", "Requests today", "Credits today", "Cost today", "Requests", "Credits", "Cost"]
    cells = []
    for provider, month in found.providers_month.items():
        today = found.providers_today.get(provider, Expense("", provider, 0, NOTHING, 0))
        figures = [f(one) for one in (today, month) for f in (_requests, _credits, _cost)]
        cells.append([provider_name(provider), *figures])
    return tables.plain(titles, cells, right=titles[1:])


def _requests(one: Expense) -> str:
    return f"{one.requests:,}"


def _credits(one: Expense) -> str:
    return f"{one.amount.credits:,}"


def _cost(one: Expense) -> str:
    return dollars(one.amount.micros)


def _jobs(by_job: Sequence[tuple[Job | None, UUID, Amount]]) -> Any:
    titles = ["Job", "Name", "State", "Credits this month", "Cost this month"]
    cells = [
        [
            short(job_id),
            words.printable(job.name) if job else "",
            str(job.state) if job else "",
            f"{amount.credits:,}",
            dollars(amount.micros),
        ]
        for job, job_id, amount in by_job
    ]
    return tables.plain(titles, cells, right=titles[3:])


def _as_json(app: App, found: Spending) -> dict[str, Any]:
    return {
        "day": found.day.isoformat(),
        "today": _budget_json(found.today, app.caps[Scope.SYSTEM], found.providers_today),
        "month": _budget_json(found.month, app.caps[Scope.ACCOUNT], found.providers_month),
        "jobs": [
            {"id": str(job_id), "short_id": short(job_id), "name": job.name if job else "", **spent_json(amount)}
            for job, job_id, amount in found.by_job
        ],
        "prices_read": app.prices.read.isoformat(),
        "prices": {
            rung: {"worst_credits": price.worst, "usual_credits": price.usual, "usd_per_credit": _usd(price)}
            for rung, price in app.prices.prices.items()
        },
    }


def _usd(price: Price) -> float:
    return price.micros_per_credit / MICROS


def _budget_json(budget: Budget, cap: Cap, providers: Mapping[str, Expense]) -> dict[str, Any]:
    return {
        **spent_json(budget.spent),
        "reserved_credits": budget.reserved.credits,
        "max_credits": cap.credits,
        "max_usd": None if cap.micros is None else cap.micros / MICROS,
        "providers": {
            name: {"requests": one.requests, "assumed": one.assumed, **spent_json(one.amount)}
            for name, one in providers.items()
        },
    }
