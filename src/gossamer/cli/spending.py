"""`gossamer system credits` and `job cost-report`: costs of all jobs by provider, and of a job by domain."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from gossamer.billing.bill import sum_of
from gossamer.cli import costs, formatting, tables
from gossamer.cli.costs import spent_json
from gossamer.cli.export import ExportOptions, write_directly
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import ACCOUNT, MICROS, NOTHING, Amount, Budget, BudgetKey, Cap, Price, Scope, dollars, shown
from gossamer.model.rungs import provider_title, providers
from gossamer.questions.found import spent
from gossamer.questions.system import Spending, spending
from gossamer.recipes.tables import COSTS
from gossamer.store.charges import Expense

if TYPE_CHECKING:
    from gossamer.fetch.providers import ProviderAccount


async def show_spending(home: Home, limit: int, *, as_json: bool, ask: bool = True) -> None:
    """Print what was spent. With `ask`, query the providers for their remaining credits."""
    found = await home.ask(spending, ask=ask)
    if as_json:
        say_json({**_as_json(found), "accounts": balances_json(found.books)})
        return
    for line in (*_lines(found), *balance_lines(found.books)):
        say(line)
    if found.providers_month:
        say("")
        tables.show(_providers(found))
    if found.by_job:
        say("")
        tables.show(_jobs(found.by_job[:limit]))


def _lines(found: Spending) -> Iterator[str]:
    caps = found.caps
    yield f"Today ({found.day}, UTC): {_budget_text(found.today, caps[Scope.SYSTEM])}"
    month = f"This month ({found.day:%Y-%m})"
    if set(found.month) <= {ACCOUNT}:
        yield f"{month}: {_budget_text(_of_month(found), caps[Scope.ACCOUNT])}"
    else:
        yield f"{month}, all accounts: {_spent(_of_month(found))}"
        for account, budget in found.month.items():
            yield f"  {account}: {_budget_text(budget, caps[Scope.ACCOUNT])}"
    yield f"Prices as of {found.prices.read}; a credit costs {dollars(round(found.credit_usd * MICROS))}."


def _of_month(found: Spending) -> Budget:
    """The spending of all accounts in the month."""
    budgets_of_it = found.month.values()
    reserved, spent = (sum((getattr(one, part) for one in budgets_of_it), NOTHING) for part in ("reserved", "spent"))
    return Budget(BudgetKey(Scope.ACCOUNT, period=f"{found.day:%Y-%m}"), Cap(), reserved, spent)


def _spent(budget: Budget) -> str:
    more = f", {budget.reserved.credits:,} more reserved" if budget.reserved else ""
    return f"{shown('credits', budget.spent.credits)} ({dollars(budget.spent.micros)}){more}"


def _budget_text(budget: Budget, cap: Cap) -> str:
    text = _spent(budget)
    limits = [shown(part, most) for part in ("credits", "micros") if (most := getattr(cap, part)) is not None]
    return f"{text}, of at most {' and '.join(limits)}" if limits else f"{text}, no limit set"


def _providers(found: Spending) -> Any:
    titles = ["Provider", "Requests today", "Credits today", "Cost today", "Requests", "Credits", "Cost"]
    cells = []
    for provider, month in found.providers_month.items():
        today = found.providers_today.get(provider, Expense("", provider, 0, NOTHING, 0))
        figures = [f(one) for one in (today, month) for f in (_requests, _credits, _cost)]
        cells.append([provider_title(provider), *figures])
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
            formatting.printable(job.name) if job else "",
            str(job.state) if job else "",
            f"{amount.credits:,}",
            dollars(amount.micros),
        ]
        for job, job_id, amount in by_job
    ]
    return tables.plain(titles, cells, right=titles[3:])


def _as_json(found: Spending) -> dict[str, Any]:
    return {
        "day": found.day.isoformat(),
        "today": _budget_json(found.today, found.caps[Scope.SYSTEM], found.providers_today),
        "month": _budget_json(_of_month(found), found.caps[Scope.ACCOUNT], found.providers_month),
        "month_by_account": {
            account: {**spent_json(one.spent), "reserved_credits": one.reserved.credits}
            for account, one in found.month.items()
        },
        "jobs": [
            {"id": str(job_id), "short_id": short(job_id), "name": job.name if job else "", **spent_json(amount)}
            for job, job_id, amount in found.by_job
        ],
        "prices_read": found.prices.read.isoformat(),
        "prices": {
            rung: {"worst_credits": price.worst, "usual_credits": price.usual, "usd_per_credit": _usd(price)}
            for rung, price in found.prices.prices.items()
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


async def show_cost_report(
    home: Home, text: str, limit: int, form: str | None, output: Path | None, *, as_json: bool
) -> None:
    """Print the most expensive domains on a terminal; write all domains as CSV to a file or a pipe."""
    piped = not as_json and not sys.stdout.isatty()
    if form is not None or output or piped:
        await write_directly(home, text, ExportOptions("costs", form), output or Path("-"), as_json=as_json)
        return
    found = await home.ask(spent, text, limit)
    if as_json:
        names = [column.name for column in COSTS.columns]
        say_json([dict(zip(names, line, strict=True)) for line in found.rows])
        return
    cells = [
        [str(line[0]), *(f"{number:,}" for number in line[1:-1]), dollars(round(float(line[-1] or 0) * MICROS))]
        for line in found.rows
    ]
    titles = ["Domain", "Pages", "Direct", "Provider", "JS rendering", "Credits", "Cost"]
    tables.show(tables.plain(titles, cells, right=titles[1:]))
    more = " More of them: --limit." if found.total > limit else ""
    say(f"{len(cells):,} of {formatting.plural(found.total, 'domain')}, sorted by cost.{more}")
    say(f"Total: {sum_of(found.costs.budget.spent)}.")
    for line in (*costs.method_lines(found.costs.bill, tables.width()), *costs.detail_lines(found.costs.bill)):
        say(line)
    say(f"As a file:\n  gossamer job cost-report {short(found.job.id)} --output cost_report.csv")


_SAID = {
    "HTTP 401": "It does not accept the key (HTTP 401)",
    "HTTP 403": "It does not accept the key (HTTP 403)",
    "HTTP 429": "It was asked too often, try again in a minute (HTTP 429)",
}

Balances = Mapping[str, "ProviderAccount | str"]
"""The account by provider, or why it could not be read."""


def balance_lines(balances: Balances) -> list[str]:
    """`Left at ScrapingBee: 982 of 1,000 credits, until 2026-12-01.`"""
    return [_balance_line(name, one) for name, one in balances.items()]


def _balance_line(provider: str, one: "ProviderAccount | str") -> str:
    name, row = provider_title(provider), providers().get(provider)
    if isinstance(one, str):
        return f"Left at {name}: not known ({_SAID.get(one, one)})."
    if one.remaining is None:
        return f"Left at {name}: not known (it does not say)."
    of = f" of {one.limit:,}" if one.limit is not None else ""
    renews = _day(one.renews) if row and row.names_renewal else ""
    return f"Left at {name}: {one.remaining:,}{of} credits{f', until {renews}' if renews else ''}."


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return ""


def balances_json(balances: Balances) -> dict[str, Any]:
    return {
        name: {"error": one}
        if isinstance(one, str)
        else {
            "remaining": one.remaining,
            "used": one.used,
            "limit": one.limit,
            "at_once": one.at_once,
            "running": one.running,
            "error": None,
        }
        for name, one in balances.items()
    }
