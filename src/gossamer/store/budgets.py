"""Budgets: caps, and the amounts reserved and spent of them. Locked in one order: system, accounts, jobs.

Budgets are locked after leases and rungs: a transaction that changes a lease or closes a rung may be
about to lock the budgets, and we may have to wait for them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, Row, bindparam, case, func, literal_column, select, tuple_, update

from gossamer.db.bulk import BulkStatement
from gossamer.db.tables import PARTS, budgets, closed_rungs, counters, jobs, reservations
from gossamer.db.transactions import Tx
from gossamer.model.money import ACCOUNT, NOTHING, Amount, Budget, BudgetKey, Cap, Price, Reservation, Scope, keys_for
from gossamer.model.page import Visit
from gossamer.model.states import JobState
from gossamer.store import visits

NO_CAPS: Mapping[Scope, Cap] = {scope: Cap() for scope in Scope}
_NO_LIMIT: ColumnElement[int] = literal_column(str(2**62))


@dataclass(slots=True)
class BudgetChange:
    """Changes of one budget in a transaction."""

    reserved: Amount = NOTHING
    spent: Amount = NOTHING
    excess: Amount = NOTHING


_KEY = tuple_(budgets.c.scope, budgets.c.subject, budgets.c.period)
_RANK = case({str(scope): number for number, scope in enumerate(Scope)}, value=budgets.c.scope)
HOLD = (
    select(budgets)
    .where(_KEY.in_(bindparam("keys", expanding=True)))
    .order_by(_RANK, budgets.c.subject, budgets.c.period)
)


def hold(tx: Tx, keys: Collection[BudgetKey], caps: Mapping[Scope, Cap] = NO_CAPS) -> dict[BudgetKey, Budget]:
    """Lock and return these budgets until commit. A missing one is created with its cap."""
    wanted = [(key.scope, key.subject, key.period) for key in keys]
    found = {budget.key: budget for budget in map(budget_of, tx.run(tx.locked(HOLD), {"keys": wanted}))}
    missing = sorted((key for key in keys if key not in found), key=lambda key: key.rank)
    if missing:
        _open(tx, {key: caps[key.scope] for key in missing})
        found = {budget.key: budget for budget in map(budget_of, tx.run(tx.locked(HOLD), {"keys": wanted}))}
    return found


def _open(tx: Tx, caps: Mapping[BudgetKey, Cap]) -> None:
    fresh = tx.dialect.insert_new(budgets)
    rows = [
        {"scope": key.scope, "subject": key.subject, "period": key.period, "job_id": key.job_id, **_cap_columns(cap)}
        for key, cap in caps.items()
    ]
    tx.run_many(fresh, rows)


def open_job(tx: Tx, job_id: UUID, cap: Cap) -> None:
    _open(tx, {job_key(job_id): cap})


_AT_ONCE = 1_000  # jobs
_ACCOUNTS = select(jobs.c.id, jobs.c.account_id).where(jobs.c.id.in_(bindparam("ids", expanding=True)))


def accounts_of(tx: Tx, ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the accounts of these jobs, which never change."""
    found: dict[UUID, str] = {}
    wanted = list(ids)
    for start in range(0, len(wanted), _AT_ONCE):
        rows = tx.run(_ACCOUNTS, {"ids": wanted[start : start + _AT_ONCE]})
        found |= {row.id: row.account_id for row in rows}
    return found


def job_key(job_id: UUID) -> BudgetKey:
    return BudgetKey(Scope.JOB, job_id.hex)


def _cap_columns(cap: Cap) -> dict[str, int | None]:
    return {f"cap_{part}": getattr(cap, part) for part in (*PARTS, "traffic")}


def _number(name: str) -> Any:
    return bindparam(f"b_{name}", type_=BigInteger)


_THIS = (
    budgets.c.scope == bindparam("b_scope"),
    budgets.c.subject == bindparam("b_subject"),
    budgets.c.period == bindparam("b_period"),
)
_RESERVE = BulkStatement(
    update(budgets)
    .where(
        *_THIS,
        *(
            budgets.c[f"reserved_{part}"] + budgets.c[f"spent_{part}"] + _number(part)
            <= func.coalesce(_number(f"cap_{part}"), _NO_LIMIT)
            for part in PARTS
        ),
    )
    .values(
        **{f"reserved_{part}": budgets.c[f"reserved_{part}"] + _number(part) for part in PARTS},
        **{f"cap_{part}": _number(f"cap_{part}") for part in PARTS},
    )
)


def reserve(tx: Tx, more: Mapping[BudgetKey, tuple[Cap, Amount]]) -> None:
    """Reserve amounts in locked budgets under these caps; an amount that does not fit is not reserved."""
    rows = [
        {
            **_place(key),
            **{f"b_cap_{part}": getattr(cap, part) for part in PARTS},
            **{f"b_{part}": getattr(amount, part) for part in PARTS},
        }
        for key, (cap, amount) in more.items()
    ]
    _RESERVE.run(tx, rows)


_CLOSE = BulkStatement(
    update(budgets)
    .where(*_THIS)
    .values(
        **{
            f"{kind}_{part}": budgets.c[f"{kind}_{part}"] + _number(f"{kind}_{part}")
            for kind in ("reserved", "spent", "excess")
            for part in PARTS
        },
        told=_number("told"),
    )
)


def close(tx: Tx, held: Mapping[BudgetKey, Budget], changes: Mapping[BudgetKey, BudgetChange]) -> list[Budget]:
    """Release reservations and book charges; return budgets that passed a further warning level of their cap."""
    after = {key: _after(held[key], changes[key]) for key in sorted(changes, key=lambda key: key.rank)}
    _CLOSE.run(tx, [{**_place(key), **_additions(changes[key]), "b_told": now.told} for key, now in after.items()])
    return [now for key, now in after.items() if now.told > held[key].told]


def _after(budget: Budget, change: BudgetChange) -> Budget:
    spent = budget.spent + change.spent
    told = max(budget.told, budget.cap.level(spent))
    return replace(budget, reserved=budget.reserved + change.reserved, spent=spent, told=told)


def _additions(change: BudgetChange) -> dict[str, int]:
    kinds = {"reserved": change.reserved, "spent": change.spent, "excess": change.excess}
    return {f"b_{kind}_{part}": getattr(amount, part) for kind, amount in kinds.items() for part in PARTS}


def _place(key: BudgetKey) -> dict[str, str]:
    return {"b_scope": key.scope, "b_subject": key.subject, "b_period": key.period}


def set_cap(tx: Tx, job_id: UUID, cap: Cap) -> Budget:
    """Change the given limits of a job; return its budget from before.

    Limits below the amounts already used are ignored: the caller checks the returned budget.
    """
    key = job_key(job_id)
    before = hold(tx, [key])[key]
    wanted = {part: getattr(cap, part) for part in (*PARTS, "traffic") if getattr(cap, part) is not None}
    if not wanted or Cap(**{part: wanted[part] for part in PARTS if part in wanted}).crossed(before.used):
        return before
    # Warnings start again, as percentages of the new limit.
    changed = {**{f"cap_{part}": value for part, value in wanted.items()}, "told": 0}
    tx.run(update(budgets).where(budgets.c.job_id == job_id).values(**changed))
    return before


def get(tx: Tx, key: BudgetKey) -> Budget | None:
    return next(map(budget_of, tx.run(HOLD, {"keys": [(key.scope, key.subject, key.period)]})), None)


def everything(tx: Tx) -> list[Budget]:
    return [budget_of(row) for row in tx.run(select(budgets))]


def of_job(tx: Tx, job_id: UUID) -> Budget:
    """Return the budget of a job; one without limits if its row was deleted with the job's results."""
    return get(tx, job_key(job_id)) or Budget(job_key(job_id), Cap())


def spent_by_jobs(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, Amount]:
    """Return the spending of these jobs; jobs without spending are left out."""
    wanted = budgets.c.job_id.in_(ids) & (budgets.c.spent_micros + budgets.c.spent_credits > 0)
    return {row.job_id: _amount(row, "spent_") for row in tx.run(select(budgets).where(wanted))}


_TRAFFIC = (
    select(func.coalesce(func.sum(counters.c.bytes_in), 0)).where(counters.c.job_id == jobs.c.id).scalar_subquery()
)
_OVER_TRAFFIC = (
    select(jobs.c.id, _TRAFFIC.label("traffic"))
    .join(budgets, budgets.c.job_id == jobs.c.id)
    .where(jobs.c.state == JobState.RUNNING, budgets.c.cap_traffic.is_not(None), budgets.c.cap_traffic <= _TRAFFIC)
    .order_by(jobs.c.id)
)


def over_traffic(tx: Tx) -> dict[UUID, int]:
    """Return the running jobs that have reached their traffic limit, with their bytes."""
    return {row.id: int(row.traffic) for row in tx.run(_OVER_TRAFFIC)}


def today(tx: Tx) -> tuple[Budget, dict[str, Budget]]:
    """Return the system's budget of today, and the budgets of accounts of this month."""
    system, account, _ = keys_for(UUID(int=0), tx.now.date(), ACCOUNT)
    mine = (budgets.c.scope == Scope.ACCOUNT) & (budgets.c.period == account.period)
    found = [budget_of(row) for row in tx.run(select(budgets).where(mine).order_by(budgets.c.subject))]
    return get(tx, system) or Budget(system, Cap()), {one.key.subject: one for one in found}


def budget_of(row: Row[Any]) -> Budget:
    return Budget(
        BudgetKey(Scope(row.scope), row.subject, row.period),
        Cap(row.cap_credits, row.cap_micros, row.cap_bytes, row.cap_traffic),
        _amount(row, "reserved_"),
        _amount(row, "spent_"),
        _amount(row, "excess_"),
        row.told,
    )


def _amount(row: Row[Any], kind: str) -> Amount:
    return Amount(*(int(getattr(row, f"{kind}{part}")) for part in PARTS))


@dataclass(frozen=True, slots=True)
class PaidRequest:
    """A reservation request. Its id is made by the caller, because the transaction may be repeated."""

    id: UUID
    visit: Visit
    page: bytes | None
    price: Price
    worst: Amount

    def granted(self, day: date, at: datetime) -> Reservation:
        visit = self.visit
        where = (visit.job_id, visit.site_id, visit.id, visit.lease)
        return Reservation(self.id, *where, self.page, self.price, self.worst, day, at)


@dataclass(frozen=True, slots=True)
class BudgetCheck:
    day: date
    budgets: Mapping[BudgetKey, Budget]  # locked until commit
    lost: frozenset[UUID]  # leases that were lost
    closed: Mapping[str, int]  # closed rungs, and their highest charge for one request
    known: frozenset[UUID]  # reserved before, by a transaction whose commit was not confirmed


def check(tx: Tx, asked: Sequence[PaidRequest], caps: Mapping[Scope, Cap]) -> BudgetCheck:
    """Lock and return the budgets that pay for these requests, and any obstacle to the requests."""
    day = tx.now.date()
    held = hold(tx, {key for one in asked for key in keys_for(one.visit.job_id, day, one.visit.account)}, caps)
    return BudgetCheck(day, held, _lost(tx, asked), _closed(tx), _known(tx, asked))


def _lost(tx: Tx, asked: Sequence[PaidRequest]) -> frozenset[UUID]:
    held = visits.leases(tx, [one.visit.id for one in asked])
    return frozenset(one.visit.lease for one in asked if held.get(one.visit.id) != one.visit.lease)


_CLOSED = select(closed_rungs.c.rung, closed_rungs.c.charged)
_KNOWN = select(reservations.c.id).where(reservations.c.id.in_(bindparam("ids", expanding=True)))


def _closed(tx: Tx) -> dict[str, int]:
    return {row.rung: row.charged for row in tx.run(_CLOSED)}


def _known(tx: Tx, asked: Sequence[PaidRequest]) -> frozenset[UUID]:
    return frozenset(tx.run(_KNOWN, {"ids": [one.id for one in asked]}).scalars())
