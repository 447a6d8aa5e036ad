"""What the audit asks of the ledger: charges and reservations held against what the budgets say."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import Table, bindparam, func, select

from gossamer.model.ids import short
from gossamer.model.money import NOTHING, Amount, Budget, BudgetKey, Cap, Scope, keys_for, shown
from gossamer.model.states import JobState
from gossamer.store import budgets
from gossamer.store.ledger_tables import PARTS, charges, expenses, reservations
from gossamer.store.tables import jobs
from gossamer.store.tx import Tx

_Sums = dict[tuple[UUID, date], Amount]


@dataclass(frozen=True, slots=True)
class MoneyTally:
    """What a job's part of the ledger adds up to, and a sentence for each thing that does not fit."""

    figures: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


def of_job(tx: Tx, job_id: UUID) -> MoneyTally:
    """A job's own budget, and those of the days and months in which it spent something."""
    booked, held, kept = (_sums(tx, table, job_id) for table in (charges, reservations, expenses))
    if not booked and not held and not kept:
        return MoneyTally(faults=tuple(_faults(tx, [budgets.job_key(job_id)], {}, {})))
    figures = {
        "charged": _total(booked).credits,
        "reserved": _total(held).credits,
        "spent": budgets.of_job(tx, job_id).spent.credits,
    }
    account = budgets.accounts_of(tx, [job_id])[job_id]
    keys = {key for _, day in (*booked, *held, *kept) for key in keys_for(job_id, day, account)}
    # Others have spent of the same days, so that these are held against what all of them have.
    faults = _faults(tx, sorted(keys, key=lambda key: key.rank), _sums(tx, expenses), _sums(tx, reservations))
    return MoneyTally(figures, (*faults, *_unequal(job_id, booked, kept)))


def everything(tx: Tx) -> list[str]:
    """What does not fit in the whole ledger: every budget there is, and every job's charges."""
    kept, held = _sums(tx, expenses), _sums(tx, reservations)
    keys = [budget.key for budget in budgets.everything(tx)]
    named = {*_by_budget(tx, kept), *_by_budget(tx, held)}
    faults = _faults(tx, sorted({*keys, *named}, key=lambda key: key.rank), kept, held)
    # The charges of an archived job are deleted, what it spent is not.
    for job_id in tx.run(select(jobs.c.id).where(jobs.c.state != JobState.ARCHIVED).order_by(jobs.c.id)).scalars():
        faults += _unequal(job_id, _sums(tx, charges, job_id), _of(kept, job_id))
    return faults


def _faults(tx: Tx, keys: list[BudgetKey], kept: _Sums, held: _Sums) -> list[str]:
    spent, reserved = _by_budget(tx, kept), _by_budget(tx, held)
    faults = []
    for key in keys:
        budget = budgets.get(tx, key) or Budget(key, Cap())
        faults += _compared(key, "spent", budget.spent, spent[key])
        faults += _compared(key, "reserved", budget.reserved, reserved[key])
        part = budget.cap.crossed(budget.used - budget.excess)
        # The operator's own caps may have been lowered since; a job's cannot.
        if part and key.scope is Scope.JOB:
            faults.append(f"budget {_name(key)}: above its cap in {part}")
    return faults


def _unequal(job_id: UUID, booked: _Sums, kept: _Sums) -> list[str]:
    one, other = _total(booked), _total(kept)
    if one == other:
        return []
    return [f"charges of job {short(job_id)} come to {_told(one)}, and {_told(other)} are kept as spent"]


def _compared(key: BudgetKey, what: str, said: Amount, found: Amount) -> list[str]:
    if said == found:
        return []
    return [f"budget {_name(key)}: it says {_told(said)} {what}, the rows say {_told(found)}"]


def _name(key: BudgetKey) -> str:
    if key.job_id:
        return f"of job {short(key.job_id)}"
    return f"of the {key.scope}{f' {key.subject}' if key.subject else ''} in {key.period}"


def _told(amount: Amount) -> str:
    return ", ".join(shown(part, getattr(amount, part)) for part in PARTS)


def _by_budget(tx: Tx, sums: _Sums) -> dict[BudgetKey, Amount]:
    found: dict[BudgetKey, Amount] = defaultdict(lambda: NOTHING)
    whose = budgets.accounts_of(tx, {job_id for job_id, _ in sums})
    for (job_id, day), amount in sums.items():
        for key in keys_for(job_id, day, whose[job_id]):
            found[key] += amount
    return found


def _sums(tx: Tx, table: Table, job_id: UUID | None = None) -> _Sums:
    if job_id is not None:
        return {(job_id, day): amount for day, amount in _amounts(tx.rows(_SUMS_OF_JOB[table.name], {"job": job_id}))}
    query = select(table.c.job_id, table.c.day, *_parts(table)).group_by(table.c.job_id, table.c.day)
    rows: Any = tx.run(query).all()
    return {(row.job_id, day): amount for row, (day, amount) in zip(rows, _amounts(rows), strict=True)}


def _amounts(rows: Iterable[Any]) -> Iterator[tuple[date, Amount]]:
    for row in rows:
        yield date.fromisoformat(row.day), Amount(*(int(getattr(row, part)) for part in PARTS))


def _parts(table: Table) -> list[Any]:
    return [func.sum(table.c[part]).label(part) for part in PARTS]


_SUMS_OF_JOB = {
    table.name: select(table.c.day, *_parts(table))
    .where(table.c.job_id == bindparam("job", type_=table.c.job_id.type))
    .group_by(table.c.day)
    for table in (charges, reservations, expenses)
}


def _of(sums: _Sums, job_id: UUID) -> _Sums:
    return {key: amount for key, amount in sums.items() if key[0] == job_id}


def _total(sums: _Sums) -> Amount:
    return sum(sums.values(), NOTHING)
