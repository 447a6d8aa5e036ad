"""Room for requests in one statement, which is a transaction by itself: every paid request waits for it.

On a server a transaction of several statements costs a round trip for each, with its budgets locked all the while. Here
the server locks them, looks, decides and writes in one go, and has committed when it answers. Only the plain case is
decided like this, which is nearly all of them: everybody gets what they ask for. If anything stands against any of them
nothing is changed, and `bookings.reserve` says who gets what.

What a statement reads is as old as the statement, but for rows it had to wait for. So the locked budgets also say
whether anything was taken above its price meanwhile (`excess`), which is what closes a rung.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Dialect, text
from sqlalchemy.exc import IntegrityError

from gossamer.model.money import NOTHING, Amount, BudgetKey, Cap, Reservation, Scope, keys_for
from gossamer.store.ledger_tables import PARTS
from gossamer.store.outlook import Asked
from gossamer.store.tx import Tx

_GRANT = text("""
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


def grant(tx: Tx, asked: Sequence[Asked], caps: Mapping[Scope, Cap], today: date) -> list[Reservation] | None:
    """For all of them the worst price in their budgets, in their order; None if it is not as simple as that.

    Only for a server, and the only statement of its transaction. `today` is what the caller thinks: a request belongs
    to the day that the server has.
    """
    given = {**_budgets(asked, caps, today), **_requests(asked), "day": today.isoformat(), "endless": _ENDLESS}
    sql, values_of = _prepared(tx.conn.dialect)
    try:
        rows = tx.conn.exec_driver_sql(sql, values_of(given)).all()
    except IntegrityError:
        return None  # the same was asked over a connection that broke, and was done while we waited for the budgets
    return [one.granted(today, rows[0].at) for one in asked] if rows else None


@lru_cache(maxsize=1)
def _prepared(dialect: Dialect) -> tuple[str, Callable[[Mapping[str, Any]], tuple[Any, ...]]]:
    """As the driver takes it, and the values in its order: made once, since the library would look at each anew."""
    compiled: Any = _GRANT.compile(dialect=dialect)
    return str(compiled), itemgetter(*compiled.positiontup)


def _budgets(asked: Sequence[Asked], caps: Mapping[Scope, Cap], today: date) -> dict[str, Any]:
    """What is asked of each of them, as columns. A job has its own cap in its row."""
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


def _requests(asked: Sequence[Asked]) -> dict[str, Any]:
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
