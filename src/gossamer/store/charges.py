"""Charges: what each request has cost, and what that comes to by job, day and rung."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Integer, Row, bindparam, cast, func, insert, select

from gossamer.model.money import NOTHING, Amount, Charge
from gossamer.model.states import SiteState
from gossamer.store.ledger_tables import PARTS, charges, expenses
from gossamer.store.many import Many
from gossamer.store.reservations import Taken
from gossamer.store.tables import sites
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Expense:
    """What was spent on one rung."""

    rung: str
    provider: str
    requests: int
    amount: Amount
    assumed: int  # of the requests, those whose price nobody said

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


_ADD = Many(insert(charges))


def add(tx: Tx, booked: Sequence[tuple[Taken, Charge]]) -> None:
    """Each under the id of its reservation, so that none can be booked twice."""
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
    """What a job has spent, the dearest rung first: a few rows however many pages it has."""
    query = _sums(expenses.c.rung, expenses.c.provider).where(expenses.c.job_id == job_id)
    found = [_expense(row) for row in tx.run(query)]
    return sorted(found, key=lambda one: (-one.amount.credits, one.rung))


def by_provider(tx: Tx, first: date, last: date) -> dict[str, Expense]:
    """What all jobs have spent on these days."""
    days = expenses.c.day.between(first.isoformat(), last.isoformat())
    rows = tx.run(_sums(expenses.c.provider).where(days).order_by(expenses.c.provider))
    return {row.provider: Expense("", row.provider, int(row.requests), _amount(row), int(row.assumed)) for row in rows}


def by_job(tx: Tx, first: date, last: date) -> dict[UUID, Amount]:
    days = expenses.c.day.between(first.isoformat(), last.isoformat())
    return {row.job_id: _amount(row) for row in tx.run(_sums(expenses.c.job_id).where(days))}


def by_site(tx: Tx, job_id: UUID) -> dict[UUID, Amount]:
    """What each site of a job has cost; those that were free are not in it."""
    sums = (func.sum(charges.c[part]).label(part) for part in PARTS)
    query = select(charges.c.site_id, *sums).where(charges.c.job_id == job_id).group_by(charges.c.site_id)
    return {row.site_id: _amount(row) for row in tx.run(query)}


_AT_ONCE = 1_000  # sites


def of_sites(tx: Tx, job_id: UUID, ids: Sequence[UUID]) -> list[Expense]:
    """What these sites of a job have cost together, by rung."""
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
    """How many of the domains that succeeded had which rung as their dearest; those that paid nothing are not in it."""
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
