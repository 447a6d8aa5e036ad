"""What a job has cost so far: in its status, in the list, and when it ends. Domain by domain: cli/cost_report.py."""

from dataclasses import dataclass
from typing import Any

from gossamer.assembly import App
from gossamer.cli import words
from gossamer.intake.limits import OPTIONS
from gossamer.ledger.methods import breakdown, by_dearness, method_name, provider_name
from gossamer.model.fetching import DIRECT
from gossamer.model.job import Job, Progress
from gossamer.model.money import MEGABYTE, MICROS, NOTHING, Amount, Budget, dollars, shown
from gossamer.store import budgets, charges
from gossamer.store.charges import Expense


@dataclass(frozen=True, slots=True)
class Costs:
    """What a job has spent, of what it may spend; and the domains that succeeded by their dearest method."""

    budget: Budget
    by_rung: tuple[Expense, ...]
    domains: dict[str, int]

    @property
    def assumed(self) -> int:
        return sum(one.assumed for one in self.by_rung)


async def read_costs(app: App, job: Job, progress: Progress) -> Costs:
    budget = await app.database.read(budgets.of_job, job.id)
    by_rung = await app.database.read(charges.by_rung, job.id)
    paid: dict[str, int] = {}
    if by_rung:
        dearness = {rung: price.usual for rung, price in app.prices.prices.items()}
        found = await app.database.read(charges.dearest_rungs, job.id, dearness)
        paid = {rung: found[rung] for rung in by_dearness(found)}
    free = progress.sites_done + progress.sites_partial - sum(paid.values())
    return Costs(budget, tuple(by_rung), {**({DIRECT.name: free} if free > 0 else {}), **paid})


def status_lines(costs: Costs) -> list[str]:
    """`Cost so far: 4,832 ScrapingBee credits used ($48.32)`, of which limits, and by which methods."""
    budget = costs.budget
    lines = [f"Cost so far: {_spent(costs)}"]
    if budget.reserved:
        lines.append(f"Reserved: {shown('credits', budget.reserved.credits)} for requests under way")
    limits = [
        f"{shown(part, most)} ({option})"
        for part, option in OPTIONS.items()
        if (most := getattr(budget.cap, part)) is not None
    ]
    if limits:
        lines.append(f"Limits: {', '.join(limits)}")
    return [*lines, *_methods(costs)]


def ending_lines(costs: Costs) -> list[str]:
    """`ScrapingBee credits used: 6,247 ($62.47)` and the breakdown; nothing for a job that was free."""
    if not costs.by_rung:
        return []
    used = (f"{name} credits used: {one.credits:,} ({dollars(one.micros)})" for name, one in _by_provider(costs))
    return [*used, *_methods(costs)]


def _methods(costs: Costs) -> list[str]:
    if not costs.by_rung:
        return []
    lines = [breakdown(costs.domains)] if costs.domains else []
    if costs.assumed:
        lines.append(
            f"Assumed: {words.several(costs.assumed, 'request')} whose price nobody said, booked at the worst price"
        )
    return lines


def _spent(costs: Costs) -> str:
    named = [f"{one.credits:,} {name} credits used ({dollars(one.micros)})" for name, one in _by_provider(costs)]
    return ", ".join(named) or f"0 credits used ({dollars(0)})"


def _by_provider(costs: Costs) -> list[tuple[str, Amount]]:
    sums: dict[str, Amount] = {}
    for one in costs.by_rung:
        sums[one.provider] = sums.get(one.provider, NOTHING) + one.amount
    return [(provider_name(provider), amount) for provider, amount in sums.items()]


def as_json(costs: Costs) -> dict[str, Any]:
    budget = costs.budget
    return {
        **spent_json(budget.spent),
        "reserved_credits": budget.reserved.credits,
        "limits": {
            "credits": budget.cap.credits,
            "usd": None if budget.cap.micros is None else budget.cap.micros / MICROS,
            "mb": None if budget.cap.traffic is None else budget.cap.traffic // MEGABYTE,
            "residential_mb": None if budget.cap.bytes is None else budget.cap.bytes // MEGABYTE,
        },
        "methods": [
            {
                "method": one.rung,
                "name": method_name(one.rung),
                "provider": one.provider,
                "requests": one.requests,
                "assumed": one.assumed,
                **spent_json(one.amount),
            }
            for one in costs.by_rung
        ],
        "domains_by_method": costs.domains,
    }


def spent_json(amount: Amount) -> dict[str, Any]:
    return {"credits": amount.credits, "usd": amount.micros / MICROS, "residential_bytes": amount.bytes}
