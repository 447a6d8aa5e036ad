"""Charges: the cost of reserved requests, and totals by job, day and rung."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Integer, Row, bindparam, cast, func, insert, select

from gossamer.db.bulk import BulkStatement
from gossamer.db.tables import PARTS, charges, closed_rungs, expenses, sites
from gossamer.db.transactions import Tx
from gossamer.model.alert import ALERTS, PAUSES, AlertKind
from gossamer.model.ids import short
from gossamer.model.money import NOTHING, Amount, Budget, BudgetKey, Charge, keys_for, shown
from gossamer.model.states import OVER, SiteState
from gossamer.store import alerts, budgets, jobs, outbox, reservations
from gossamer.store.budgets import BudgetChange
from gossamer.store.jobs import pause_automatically
from gossamer.store.reservations import Taken


@dataclass(frozen=True, slots=True)
class Expense:
    """Spending on one rung."""

    rung: str
    provider: str
    requests: int
    amount: Amount
    assumed: int  # requests whose price was not reported

    def plus(self, other: "Expense") -> "Expense":
        amount = self.amount + other.amount
        return replace(
            self, requests=self.requests + other.requests, amount=amount, assumed=self.assumed + other.assumed
        )

    def less(self, other: "Expense") -> "Expense":
        amount = self.amount - other.amount
        return replace(
            self, requests=self.requests - other.requests, amount=amount, assumed=self.assumed - other.assumed
        )


_ADD = BulkStatement(insert(charges))


def add(tx: Tx, booked: Sequence[tuple[Taken, Charge]]) -> None:
    """Insert charges under the ids of their reservations, so that none can be booked twice."""
    _ADD.run(
        tx,
        [
            {
                "job_id": taken.job_id,
                "id": taken.id,
                "site_id": taken.site_id,
                "page_key": taken.page,
                "rung": taken.rung,
                "provider": taken.provider,
                **{part: getattr(charge.amount, part) for part in PARTS},
                "assumed": charge.assumed,
                "day": taken.day,
                "at": tx.now,
            }
            for taken, charge in booked
        ],
    )
    _add_expenses(tx, booked)


def _add_expenses(tx: Tx, booked: Sequence[tuple[Taken, Charge]]) -> None:
    amounts: dict[tuple[UUID, str, str, str], Amount] = defaultdict(lambda: NOTHING)
    requests: Counter[tuple[UUID, str, str, str]] = Counter()
    assumed: Counter[tuple[UUID, str, str, str]] = Counter()
    for taken, charge in booked:
        key = (taken.job_id, taken.day, taken.rung, taken.provider)
        amounts[key] += charge.amount
        requests[key] += 1
        assumed[key] += charge.assumed
    upsert = tx.dialect.insert(expenses)
    upsert = upsert.on_conflict_do_update(
        index_elements=["job_id", "day", "rung"],
        set_={name: expenses.c[name] + upsert.excluded[name] for name in ("requests", "assumed", *PARTS)},
    )
    rows = [
        {
            "job_id": key[0],
            "day": key[1],
            "rung": key[2],
            "provider": key[3],
            "requests": requests[key],
            "assumed": assumed[key],
            **{part: getattr(amount, part) for part in PARTS},
        }
        for key, amount in sorted(amounts.items())
    ]
    tx.run_many(upsert, rows)


def _sums(*by: ColumnElement[Any]) -> Any:
    names = ("requests", "assumed", *PARTS)
    return select(*by, *(func.sum(expenses.c[name]).label(name) for name in names)).group_by(*by)


def by_rung(tx: Tx, job_id: UUID) -> list[Expense]:
    """Return a job's spending, most expensive rung first: a few rows however many pages it has."""
    query = _sums(expenses.c.rung, expenses.c.provider).where(expenses.c.job_id == job_id)
    found = [_expense(row) for row in tx.run(query)]
    return sorted(found, key=lambda one: (-one.amount.credits, one.rung))


def by_provider(tx: Tx, first: date, last: date) -> dict[str, Expense]:
    """Return the spending of all jobs on these days."""
    days = expenses.c.day.between(first.isoformat(), last.isoformat())
    rows = tx.run(_sums(expenses.c.provider).where(days).order_by(expenses.c.provider))
    return {row.provider: Expense("", row.provider, int(row.requests), _amount(row), int(row.assumed)) for row in rows}


def by_job(tx: Tx, first: date, last: date) -> dict[UUID, Amount]:
    days = expenses.c.day.between(first.isoformat(), last.isoformat())
    return {row.job_id: _amount(row) for row in tx.run(_sums(expenses.c.job_id).where(days))}


def by_site(tx: Tx, job_id: UUID) -> dict[UUID, Amount]:
    """Return the cost of each site of a job; free sites are left out."""
    sums = (func.sum(charges.c[part]).label(part) for part in PARTS)
    query = select(charges.c.site_id, *sums).where(charges.c.job_id == job_id).group_by(charges.c.site_id)
    return {row.site_id: _amount(row) for row in tx.run(query)}


_AT_ONCE = 1_000  # sites


def of_sites(tx: Tx, job_id: UUID, ids: Sequence[UUID]) -> list[Expense]:
    """Return the total cost of these sites of a job, by rung."""
    sums = (func.sum(charges.c[part]).label(part) for part in PARTS)
    counts = (func.count().label("requests"), func.sum(cast(charges.c.assumed, Integer)).label("assumed"))
    query = (
        select(charges.c.rung, charges.c.provider, *counts, *sums)
        .where(charges.c.job_id == job_id, charges.c.site_id.in_(bindparam("ids", expanding=True)))
        .group_by(charges.c.rung, charges.c.provider)
    )
    found: dict[str, Expense] = {}
    for start in range(0, len(ids), _AT_ONCE):
        for one in map(_expense, tx.run(query, {"ids": ids[start : start + _AT_ONCE]})):
            found[one.rung] = found[one.rung].plus(one) if one.rung in found else one
    return list(found.values())


def dearest_rungs(
    tx: Tx, job_id: UUID, dearness: Mapping[str, int], without: Collection[UUID] = frozenset()
) -> Counter[str]:
    """Count the successful domains by their most expensive rung; domains without cost are left out."""
    ended = sites.c.listed & sites.c.state.in_((SiteState.DONE, SiteState.PARTIAL))
    query = (
        select(charges.c.site_id, charges.c.rung)
        .join(sites, sites.c.id == charges.c.site_id)
        .where(charges.c.job_id == job_id, ended)
        .distinct()
    )
    best: dict[UUID, str] = {}
    for row in tx.run(query):
        known = best.get(row.site_id)
        if known is None or (dearness.get(row.rung, 0), row.rung) > (dearness.get(known, 0), known):
            best[row.site_id] = row.rung
    return Counter(rung for site_id, rung in best.items() if site_id not in without)


def _expense(row: Row[Any]) -> Expense:
    return Expense(row.rung, row.provider, int(row.requests), _amount(row), int(row.assumed))


def _amount(row: Row[Any]) -> Amount:
    return Amount(*(int(getattr(row, part)) for part in PARTS))


def settle(tx: Tx, booked: Sequence[Charge]) -> None:
    """Replace reservations by charges. A charge without reservation was booked before, or assumed, and is skipped."""
    by_id = {charge.reservation: charge for charge in booked}
    _close(tx, reservations.take(tx, sorted(by_id)), by_id)


def release(tx: Tx, ids: Sequence[UUID]) -> int:
    """Release reservations of requests that were never sent, or cost nothing; return their number."""
    taken = reservations.take(tx, ids)
    _close(tx, taken, {})
    return len(taken)


def assume(tx: Tx, ids: Sequence[UUID]) -> int:
    """Charge the worst price for requests of unknown cost, and mark the charges as assumed."""
    taken = reservations.take(tx, ids)
    _close(tx, taken, {one.id: Charge(one.id, one.worst, assumed=True) for one in taken})
    return len(taken)


def _close(tx: Tx, taken: Sequence[Taken], costs: Mapping[UUID, Charge]) -> None:
    if not taken:
        return
    changes: dict[BudgetKey, BudgetChange] = defaultdict(BudgetChange)
    booked: list[tuple[Taken, Charge]] = []
    whose = budgets.accounts_of(tx, {one.job_id for one in taken})
    for one in taken:
        charge = costs.get(one.id)
        cost = charge.amount if charge else NOTHING
        if charge and cost:
            booked.append((one, charge))
        for key in keys_for(one.job_id, date.fromisoformat(one.day), whose[one.job_id]):
            change = changes[key]
            change.reserved -= one.worst
            change.spent += cost
            change.excess += cost.above(one.worst)
    add(tx, booked)
    # As late as possible: every paid request of all jobs waits for these rows.
    for budget in budgets.close(tx, budgets.hold(tx, list(changes)), changes):
        _tell(tx, budget)
    for one, charge in booked:
        if charge.amount.credits > one.worst.credits:
            _overcharged(tx, one, charge)


def _tell(tx: Tx, budget: Budget) -> None:
    """Report that spending passed a further warning level of a cap."""
    part = max(
        (part for part in PARTS if getattr(budget.cap, part)),
        key=lambda part: getattr(budget.spent, part) / getattr(budget.cap, part),
    )
    job_id = budget.key.job_id
    whose = f"of job {short(job_id)}" if job_id else f"of {budget.key.period}"
    spent, most = (shown(part, getattr(of, part)) for of in (budget.spent, budget.cap))
    sentence = ALERTS[AlertKind.SPENDING].format(percent=budget.told, whose=whose, spent=spent, most=most)
    # Requests in flight when a job is cancelled are still charged, but need no alert.
    if job_id is None or jobs.states(tx, [job_id]).get(job_id) not in OVER:
        alerts.fire(tx, AlertKind.SPENDING, alerts.spending_subject(budget.key, budget.told), sentence, job_id=job_id)
    outbox.budget_reached(tx, budget, sentence)


def _overcharged(tx: Tx, one: Taken, charge: Charge) -> None:
    """Handle a request that cost more than its worst price: it is charged, and the rung is closed.

    With a key of the job's own, the charge is between its owner and the provider: only that job pauses.
    """
    figures = {"rung": one.rung, "charged": charge.amount.credits, "worst": one.worst.credits}
    if jobs.has_own_key(tx, one.job_id, one.provider):
        kind = AlertKind.JOB_OVERCHARGE
        pause_automatically(tx, one.job_id, kind, PAUSES[kind].format(**figures, job=short(one.job_id)))
        return
    _shut(tx, one, charge)
    alerts.fire(tx, AlertKind.OVERCHARGE, one.rung, ALERTS[AlertKind.OVERCHARGE].format(**figures))


def _shut(tx: Tx, one: Taken, charge: Charge) -> None:
    upsert = tx.dialect.insert(closed_rungs)
    dearer = upsert.on_conflict_do_update(
        index_elements=["rung"],
        set_={"charged": upsert.excluded.charged, "at": upsert.excluded.at},
        where=closed_rungs.c.charged < upsert.excluded.charged,
    )
    tx.run(dearer, {"rung": one.rung, "charged": charge.amount.credits, "at": tx.now})
