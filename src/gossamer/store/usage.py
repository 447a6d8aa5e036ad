"""The usage of accounts: a row per request that led to a job, and its sum per month."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import Executable, Row, bindparam, delete, exists, func, insert, select, text, true, update

from gossamer.db.tables import QUEUED, budgets, counters, month_credits, pages, usage, visits
from gossamer.db.tables import jobs as job_rows
from gossamer.db.transactions import Dialect, Tx
from gossamer.model.account import Bill
from gossamer.model.job import Job
from gossamer.model.money import Scope
from gossamer.model.states import JobState, PageState, VisitState

_OF_MONTH = (month_credits.c.account_id == bindparam("b_account")) & (month_credits.c.month == bindparam("b_month"))
_CREDITS_OF_MONTH = select(month_credits.c.credits).where(_OF_MONTH)
_CHANGE_CREDITS = update(month_credits).where(_OF_MONTH).values(credits=month_credits.c.credits + bindparam("b_more"))


def credits_of_month(tx: Tx, account: str, month: str) -> int:
    return int(tx.run(_CREDITS_OF_MONTH, {"b_account": account, "b_month": month}).scalar() or 0)


def add_credits(tx: Tx, account: str, month: str, credits: int) -> None:
    """Add the expected credits of a new request."""
    if credits:
        tx.run(_add_credits(tx.dialect), {"account_id": account, "month": month, "credits": credits})


@cache
def _add_credits(dialect: Dialect) -> Executable:
    fresh = dialect.insert(month_credits)
    grown = {"credits": month_credits.c.credits + fresh.excluded.credits}
    made: Executable = fresh.on_conflict_do_update(index_elements=["account_id", "month"], set_=grown)
    return made


def change_credits(tx: Tx, account: str, month: str, by: int) -> None:
    """Correct the credits of a request that took more or less than expected; months without a row are ignored."""
    if by:
        tx.run(_CHANGE_CREDITS, {"b_account": account, "b_month": month, "b_more": by})


def set_month_anew(tx: Tx) -> None:
    """Recalculate the current month's credits of all accounts from their requests."""
    month = f"{tx.now:%Y-%m}"
    if tx.dialect.row_locks:
        # A transaction that has inserted a request and not yet added its credits waits, and adds them to the new sum.
        tx.run(text("LOCK TABLE month_credits IN SHARE ROW EXCLUSIVE MODE"))
    sums = select(usage.c.account_id, usage.c.month, func.sum(usage.c.credits)).where(usage.c.month == month)
    tx.run(delete(month_credits).where(month_credits.c.month == month))
    columns = ["account_id", "month", "credits"]
    tx.run(insert(month_credits).from_select(columns, sums.group_by(usage.c.account_id, usage.c.month)))


def forget_credits(tx: Tx, before: str) -> None:
    """Delete the sums of all months before this one."""
    tx.run(delete(month_credits).where(month_credits.c.month < before))


_ENDED = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED, JobState.ARCHIVED)


@dataclass(frozen=True, slots=True)
class JobUsage:
    """Usage of one request; an open one has its expected credits."""

    job_id: UUID
    at: datetime
    key_id: UUID | None
    door: str
    recipe: str
    urls: int
    credits: int
    micros: int
    pages: int
    failed: int
    ms: int | None
    outcome: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class UsageDay:
    """Total usage of a day."""

    day: str
    requests: int
    urls: int
    pages: int
    failed: int
    credits: int
    micros: int


_BEGIN = insert(usage)


def begin(tx: Tx, account: str, job: Job, bill: Bill, outcome: str) -> None:
    now = tx.now
    month = f"{now:%Y-%m}"
    add_credits(tx, account, month, bill.credits)
    tx.run(
        _BEGIN,
        {
            "account_id": account,
            "id": job.id,
            "month": month,
            "day": f"{now:%Y-%m-%d}",
            "key_id": bill.key,
            "door": bill.door,
            "recipe": job.recipe,
            "urls": bill.urls,
            "credits": bill.credits,
            "micros": 0,
            "pages": 0,
            "failed": 0,
            "outcome": outcome,
            "is_open": 1,
            "at": now,
        },
    )


def reopen(tx: Tx, account: str, job_id: UUID) -> None:
    """Mark a resumed job's usage as open; its cost is computed again when the job ends."""
    _set(tx, account, job_id, {"is_open": 1, "outcome": JobState.RUNNING})


_OF_JOB = (usage.c.account_id == bindparam("b_account")) & (usage.c.id == bindparam("b_job"))
_ONE = select(usage).where(_OF_JOB)
_SET = update(usage).where(_OF_JOB)


def _set(tx: Tx, account: str, job_id: UUID, values: Mapping[str, Any]) -> None:
    tx.run(_SET, {"b_account": account, "b_job": job_id, **values})


def one(tx: Tx, account: str, job_id: UUID) -> JobUsage | None:
    row = tx.run(_ONE, {"b_account": account, "b_job": job_id}).first()
    return _use(row) if row else None


def page(tx: Tx, account: str, first: str, last: str, before: UUID | None, limit: int) -> list[JobUsage]:
    """Return the requests of these days, newest first."""
    wanted = (usage.c.account_id == account) & usage.c.day.between(first, last)
    if before:
        wanted &= usage.c.id < before
    return [_use(row) for row in tx.run(select(usage).where(wanted).order_by(usage.c.id.desc()).limit(limit))]


_SUMS = ("urls", "pages", "failed", "credits", "micros")


def days(tx: Tx, account: str, first: str, last: str) -> list[UsageDay]:
    wanted = (usage.c.account_id == account) & usage.c.day.between(first, last)
    sums = [func.coalesce(func.sum(usage.c[name]), 0).label(name) for name in _SUMS]
    query = select(usage.c.day, func.count().label("requests"), *sums).where(wanted)
    rows = tx.run(query.group_by(usage.c.day).order_by(usage.c.day))
    return [UsageDay(row.day, row.requests, *(int(getattr(row, name)) for name in _SUMS)) for row in rows]


_OPEN = (
    select(usage.c.account_id, usage.c.id, usage.c.outcome, job_rows.c.state)
    .join(job_rows, job_rows.c.id == usage.c.id)
    .where(usage.c.is_open == 1)
    .order_by(usage.c.id)
)


# A cancelled job may still have requests in flight, which are charged.
_BUSY = exists().where(visits.c.job_id == job_rows.c.id, visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING)))


_OVER = _OPEN.where(job_rows.c.state.in_(_ENDED), ~_BUSY).limit(bindparam("most"))
_WAITING = _OPEN.where(usage.c.outcome == QUEUED, job_rows.c.state == JobState.PENDING)


def ended(tx: Tx, limit: int = 100) -> list[tuple[str, UUID]]:
    """Return jobs that are over, without active workers, and whose requests are not closed yet."""
    rows = tx.run(_OVER, {"most": limit})
    return [(row.account_id, row.id) for row in rows]


def waiting(tx: Tx) -> list[tuple[str, UUID]]:
    """Return jobs that wait for another job of their account, oldest first."""
    rows = tx.run(_WAITING)
    return [(row.account_id, row.id) for row in rows]


def is_waiting(tx: Tx, account: str, job_id: UUID) -> bool:
    found = one(tx, account, job_id)
    return found is not None and found.outcome == QUEUED


def count_waiting(tx: Tx, account: str) -> int:
    waits = _WAITING.where(usage.c.account_id == account)
    return int(tx.run(select(func.count()).select_from(waits.order_by(None).subquery())).scalar_one())


def wait(tx: Tx, account: str, job_id: UUID) -> None:
    """Mark a job as waiting for another job of its account."""
    _set(tx, account, job_id, {"is_open": 1, "outcome": QUEUED})


def begun(tx: Tx, account: str, job_id: UUID) -> None:
    """Mark a waiting job as started."""
    _set(tx, account, job_id, {"outcome": JobState.RUNNING})


_BY_RUNG = (
    select(pages.c.rung, func.count().label("pages"))
    .where(pages.c.job_id == bindparam("job"), pages.c.state == PageState.DONE)
    .group_by(pages.c.rung)
)


_PAGES = select(func.sum(counters.c.pages_done).label("done"), func.sum(counters.c.pages_failed).label("not_done"))
_OF_COUNTERS = _PAGES.where(counters.c.job_id == bindparam("b_job")).subquery()
_OWN_BUDGET = (budgets.c.scope == Scope.JOB) & (budgets.c.subject == bindparam("b_subject")) & (budgets.c.period == "")
# All usage except the credits in one statement: it runs for every single-page request.
_TAKEN = (
    select(
        usage,
        *(job_rows.c[name] for name in ("state", "created_at", "finished_at")),
        func.coalesce(_OF_COUNTERS.c.done, 0).label("done"),
        func.coalesce(_OF_COUNTERS.c.not_done, 0).label("not_done"),
        func.coalesce(budgets.c.spent_micros, 0).label("spent"),
    )
    .select_from(
        usage.join(job_rows, job_rows.c.id == usage.c.id)
        .outerjoin(_OF_COUNTERS, true())
        .outerjoin(budgets, _OWN_BUDGET)
    )
    .where(_OF_JOB)
)
# Locked: of two that close it at once, the second must see the correction of the first.
_TAKEN_HELD = _TAKEN.with_for_update(of=usage)


def close(tx: Tx, account: str, job_id: UUID, prices: Mapping[str, int]) -> JobUsage | None:
    """Store the actual usage of an ended job: credits by the pages read on each rung."""
    taken = _TAKEN_HELD if tx.dialect.row_locks else _TAKEN
    found = tx.run(taken, {"b_account": account, "b_job": job_id, "b_subject": job_id.hex}).first()
    if found is None:
        return None
    credits = sum(prices.get(row.rung, 1) * int(row.pages) for row in tx.run(_BY_RUNG, {"job": job_id}))
    took = (found.finished_at or tx.now) - found.created_at
    values = {
        "credits": credits,
        "micros": int(found.spent),
        "pages": int(found.done),
        "failed": int(found.not_done),
        "ms": round(took.total_seconds() * 1000),
        "outcome": found.state,
        "is_open": 0,
    }
    _set(tx, account, job_id, values)
    change_credits(tx, account, found.month, credits - int(found.credits))
    return replace(_use(found), **{**values, "is_open": False})


def forget(tx: Tx, before: datetime) -> int:
    forget_credits(tx, f"{before:%Y-%m}")
    return tx.run(delete(usage).where(usage.c.at < before, usage.c.is_open == 0)).rowcount


def _use(row: Row[Any]) -> JobUsage:
    return JobUsage(
        row.id,
        row.at,
        row.key_id,
        row.door,
        row.recipe,
        row.urls,
        int(row.credits),
        int(row.micros),
        int(row.pages),
        int(row.failed),
        row.ms,
        row.outcome,
        bool(row.is_open),
    )
