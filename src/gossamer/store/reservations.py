"""Reservations: the worst price of requests in flight, each tied to the lease of its visit.

On a server, a transaction of several statements costs a round trip for each, with its budgets locked all
the while. So `reserve_all` locks, reads, decides and writes in one statement, which is a transaction of its
own. It handles only the plain case, which is nearly every case: each request gets its full reservation. If
any of them has to be refused, nothing is changed, and `reserve` decides which of them get theirs.

A statement reads a snapshot from its start, except for rows it had to wait for. So the locked budgets also
record whether anything was charged above its price meanwhile (`excess`), which closes a rung.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from operator import itemgetter
from typing import Any
from uuid import UUID

from sqlalchemy import Dialect, bindparam, delete, func, insert, or_, select, text
from sqlalchemy.exc import IntegrityError

from gossamer.db.bulk import BulkStatement
from gossamer.db.tables import PARTS, closed_rungs, reservations, visits
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.money import (
    NOTHING,
    Amount,
    Budget,
    BudgetKey,
    BudgetRefusal,
    Cap,
    Reservation,
    Scope,
    Why,
    keys_for,
)
from gossamer.store import alerts, budgets
from gossamer.store.budgets import BudgetCheck, PaidRequest, check


@dataclass(frozen=True, slots=True)
class Taken:
    """A reservation row that was deleted; the caller books or releases it."""

    id: UUID
    job_id: UUID
    site_id: UUID
    page: bytes | None
    rung: str
    provider: str
    worst: Amount
    day: str


_ADD = BulkStatement(insert(reservations))


def add(tx: Tx, fresh: Sequence[Reservation]) -> None:
    _ADD.run(
        tx,
        [
            {
                "id": one.id,
                "job_id": one.job_id,
                "site_id": one.site_id,
                "visit_id": one.visit_id,
                "lease": one.lease,
                "page_key": one.page,
                "rung": one.price.rung,
                "provider": one.price.provider,
                **{part: getattr(one.worst, part) for part in PARTS},
                "day": one.day.isoformat(),
                "at": one.at,
            }
            for one in fresh
        ],
    )


_TAKE = delete(reservations).where(reservations.c.id.in_(bindparam("ids", expanding=True))).returning(reservations)


def take(tx: Tx, ids: Sequence[UUID]) -> list[Taken]:
    """Delete and return reservations; of several calls for one reservation, only the first gets it."""
    return [_taken(row) for row in tx.rows(_TAKE, {"ids": list(ids)})]


_GONE = (
    select(reservations.c.id)
    .outerjoin(visits, visits.c.id == reservations.c.visit_id)
    .where(or_(visits.c.lease.is_(None), visits.c.lease != reservations.c.lease))
    .order_by(reservations.c.id)
)


def orphans(tx: Tx) -> list[UUID]:
    """Return the reservations whose lease is gone, so that the outcome of their request is unknown.

    A lease never comes back.
    """
    return list(tx.run(_GONE).scalars())


def under_way(tx: Tx, job_id: UUID) -> int:
    """Count the reservations of a job."""
    return int(tx.run(select(func.count()).where(reservations.c.job_id == job_id)).scalar_one())


def any_left(tx: Tx) -> bool:
    return tx.run(select(reservations.c.id).limit(1)).first() is not None


def _taken(row: Any) -> Taken:
    return Taken(
        row.id,
        row.job_id,
        row.site_id,
        bytes(row.page_key) if row.page_key is not None else None,
        row.rung,
        row.provider,
        Amount(*(int(getattr(row, part)) for part in PARTS)),
        row.day,
    )


def reserve(tx: Tx, asked: Sequence[PaidRequest], caps: Mapping[Scope, Cap]) -> list[Reservation | BudgetRefusal]:
    """Reserve the worst price of each request in all three budgets, or give the refusal; in input order.

    `caps` are the operator's: those of the system and of accounts apply with their current values, that of a
    job only to a job created without a cap.
    """
    checked = check(tx, asked, caps)
    day = checked.day
    held = {key: _capped(budget, caps) for key, budget in checked.budgets.items()}
    taken: dict[BudgetKey, Amount] = defaultdict(lambda: NOTHING)
    answers: list[Reservation | BudgetRefusal] = []
    fresh: list[Reservation] = []
    for one in asked:
        granted = one.granted(day, tx.now)
        if one.id in checked.known:
            answers.append(granted)
            continue
        wanted = keys_for(one.visit.job_id, day, one.visit.account)
        refusal = _unfit(one, checked) or _too_much(one, [(held[key], taken[key]) for key in wanted])
        answers.append(refusal or granted)
        if refusal is None:
            fresh.append(granted)
            for key in wanted:
                taken[key] += one.worst
    more = sorted(((key, amount) for key, amount in taken.items() if amount), key=lambda one: one[0].rank)
    budgets.reserve(tx, {key: (held[key].cap, amount) for key, amount in more})
    add(tx, fresh)
    _reopen(tx, asked, checked)
    return answers


def _capped(budget: Budget, caps: Mapping[Scope, Cap]) -> Budget:
    return budget if budget.key.scope is Scope.JOB else replace(budget, cap=caps[budget.key.scope])


def _unfit(one: PaidRequest, checked: BudgetCheck) -> BudgetRefusal | None:
    if one.visit.lease in checked.lost:
        return BudgetRefusal(Why.LEASE)
    charged = checked.closed.get(one.price.rung, 0)
    return BudgetRefusal(Why.CLOSED, part=one.price.rung, used=charged) if charged > one.price.worst else None


def _too_much(one: PaidRequest, budgets_of_it: Iterable[tuple[Budget, Amount]]) -> BudgetRefusal | None:
    for budget, taken in budgets_of_it:
        used = budget.used + taken
        part = budget.cap.crossed(used + one.worst)
        if part:
            # Reservations may be released again.
            why = Why.CAP if budget.cap.crossed(budget.spent + one.worst) else Why.CROWDED
            return BudgetRefusal(why, budget.key, part, getattr(used, part))
    return None


def _reopen(tx: Tx, asked: Sequence[PaidRequest], checked: BudgetCheck) -> None:
    """Reopen rungs whose price was corrected."""
    prices = {one.price.rung: one.price for one in asked}
    for rung, charged in checked.closed.items():
        if rung in prices and charged <= prices[rung].worst:
            tx.run(delete(closed_rungs).where(closed_rungs.c.rung == rung))
            alerts.clear(tx, AlertKind.OVERCHARGE, rung)


_RESERVE_ALL = text("""
WITH given AS (
    SELECT *
    FROM unnest(
        CAST(:scopes AS text[]), CAST(:subjects AS text[]), CAST(:periods AS text[]),
        CAST(:more_credits AS bigint[]), CAST(:more_micros AS bigint[]), CAST(:more_bytes AS bigint[]),
        CAST(:most_credits AS bigint[]), CAST(:most_micros AS bigint[]), CAST(:most_bytes AS bigint[])
    ) AS given (scope, subject, period, credits, micros, bytes, most_credits, most_micros, most_bytes)
), asked AS (
    SELECT *
    FROM unnest(
        CAST(:ids AS uuid[]), CAST(:jobs AS uuid[]), CAST(:sites AS uuid[]), CAST(:visits AS uuid[]),
        CAST(:leases AS uuid[]), CAST(:pages AS bytea[]), CAST(:rungs AS text[]), CAST(:providers AS text[]),
        CAST(:credits AS bigint[]), CAST(:micros AS bigint[]), CAST(:bytes AS bigint[])
    ) AS asked (id, job_id, site_id, visit_id, lease, page_key, rung, provider, credits, micros, bytes)
), held AS MATERIALIZED (
    SELECT *
    FROM budgets
    WHERE (scope, subject, period) IN (SELECT scope, subject, period FROM given)
    ORDER BY CASE scope WHEN 'system' THEN 0 WHEN 'account' THEN 1 ELSE 2 END, subject, period
    FOR UPDATE
), verdict AS MATERIALIZED (
    SELECT date_trunc('milliseconds', clock_timestamp()) AS at
    FROM held JOIN given USING (scope, subject, period)
    HAVING count(*) = (SELECT count(*) FROM given)
        AND bool_and(
            reserved_credits + spent_credits + credits
                <= coalesce(CASE scope WHEN 'job' THEN cap_credits ELSE most_credits END, :endless)
            AND reserved_micros + spent_micros + micros
                <= coalesce(CASE scope WHEN 'job' THEN cap_micros ELSE most_micros END, :endless)
            AND reserved_bytes + spent_bytes + bytes
                <= coalesce(CASE scope WHEN 'job' THEN cap_bytes ELSE most_bytes END, :endless)
        )
        AND sum(excess_credits) = (SELECT sum(excess_credits) FROM budgets JOIN given USING (scope, subject, period))
        AND NOT EXISTS (
            SELECT FROM asked LEFT JOIN visits ON visits.id = asked.visit_id AND visits.lease = asked.lease
            WHERE visits.id IS NULL
        )
        AND NOT EXISTS (SELECT FROM closed_rungs)
        AND NOT EXISTS (SELECT FROM reservations JOIN asked USING (id))
        AND to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD') = :day
), taken AS (
    UPDATE budgets
    SET reserved_credits = reserved_credits + credits,
        reserved_micros = reserved_micros + micros,
        reserved_bytes = reserved_bytes + bytes,
        cap_credits = CASE given.scope WHEN 'job' THEN cap_credits ELSE most_credits END,
        cap_micros = CASE given.scope WHEN 'job' THEN cap_micros ELSE most_micros END,
        cap_bytes = CASE given.scope WHEN 'job' THEN cap_bytes ELSE most_bytes END
    FROM given, verdict
    WHERE budgets.scope = given.scope AND budgets.subject = given.subject AND budgets.period = given.period
)
INSERT INTO reservations
    (id, job_id, site_id, visit_id, lease, page_key, rung, provider, credits, micros, bytes, day, at)
SELECT asked.*, :day, at
FROM asked, verdict
RETURNING at
""")
_ENDLESS = 2**62


def reserve_all(
    tx: Tx, asked: Sequence[PaidRequest], caps: Mapping[Scope, Cap], today: date
) -> list[Reservation] | None:
    """Reserve the worst price of all requests in one statement; None if any of them needs a closer check.

    Only for a server, and the only statement of its transaction. `today` is the caller's date; if it differs from the
    server's, the result is None.
    """
    given = {**_budgets(asked, caps, today), **_requests(asked), "day": today.isoformat(), "endless": _ENDLESS}
    sql, values_of = _prepared(tx.conn.dialect)
    try:
        rows = tx.conn.exec_driver_sql(sql, values_of(given)).all()
    except IntegrityError:
        return None  # repeated after a broken connection: the first try was committed meanwhile
    return [one.granted(today, rows[0].at) for one in asked] if rows else None


@lru_cache(maxsize=1)
def _prepared(dialect: Dialect) -> tuple[str, Callable[[Mapping[str, Any]], tuple[Any, ...]]]:
    """Return the SQL for the driver and a getter of its values; compiled once."""
    compiled: Any = _RESERVE_ALL.compile(dialect=dialect)
    return str(compiled), itemgetter(*compiled.positiontup)


def _budgets(asked: Sequence[PaidRequest], caps: Mapping[Scope, Cap], today: date) -> dict[str, Any]:
    """Return the amounts requested from each budget, as columns. A job has its own cap in its row."""
    more: dict[BudgetKey, Amount] = defaultdict(lambda: NOTHING)
    for one in asked:
        for key in keys_for(one.visit.job_id, today, one.visit.account):
            more[key] += one.worst
    return {
        "scopes": [key.scope for key in more],
        "subjects": [key.subject for key in more],
        "periods": [key.period for key in more],
        **{f"more_{part}": [getattr(amount, part) for amount in more.values()] for part in PARTS},
        **{f"most_{part}": [getattr(caps[key.scope], part) for key in more] for part in PARTS},
    }


def _requests(asked: Sequence[PaidRequest]) -> dict[str, Any]:
    return {
        "ids": [one.id for one in asked],
        "jobs": [one.visit.job_id for one in asked],
        "sites": [one.visit.site_id for one in asked],
        "visits": [one.visit.id for one in asked],
        "leases": [one.visit.lease for one in asked],
        "pages": [one.page for one in asked],
        "rungs": [one.price.rung for one in asked],
        "providers": [one.price.provider for one in asked],
        **{part: [getattr(one.worst, part) for one in asked] for part in PARTS},
    }
