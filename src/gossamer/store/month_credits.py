"""Account credits by month: kept as requests come and go, since every submit asks how many are left."""

from functools import cache

from sqlalchemy import Executable, bindparam, delete, func, insert, select, text, update

from gossamer.store.access_tables import month_credits, usage
from gossamer.store.dialect import Dialect
from gossamer.store.tx import Tx

_OF = (month_credits.c.account_id == bindparam("b_account")) & (month_credits.c.month == bindparam("b_month"))
_USED = select(month_credits.c.credits).where(_OF)
_CHANGE = update(month_credits).where(_OF).values(credits=month_credits.c.credits + bindparam("b_more"))


def used(tx: Tx, account: str, month: str) -> int:
    return int(tx.run(_USED, {"b_account": account, "b_month": month}).scalar() or 0)


def add(tx: Tx, account: str, month: str, credits: int) -> None:
    """What a new request is expected to take."""
    if credits:
        tx.run(_add(tx.dialect), {"account_id": account, "month": month, "credits": credits})


@cache
def _add(dialect: Dialect) -> Executable:
    fresh = dialect.insert(month_credits)
    grown = {"credits": month_credits.c.credits + fresh.excluded.credits}
    made: Executable = fresh.on_conflict_do_update(index_elements=["account_id", "month"], set_=grown)
    return made


def change(tx: Tx, account: str, month: str, by: int) -> None:
    """A request has taken more or less than was expected. Of a month that nobody asks for any more nothing is kept."""
    if by:
        tx.run(_CHANGE, {"b_account": account, "b_month": month, "b_more": by})


def set_anew(tx: Tx, month: str) -> None:
    """By what the requests of a month say, whatever was added or taken off by a program that knew nothing of it."""
    if tx.dialect.row_locks:
        # Whoever has written a request and not yet added it waits, and adds it to the new sum.
        tx.run(text("LOCK TABLE month_credits IN SHARE ROW EXCLUSIVE MODE"))
    sums = select(usage.c.account_id, usage.c.month, func.sum(usage.c.credits)).where(usage.c.month == month)
    tx.run(delete(month_credits).where(month_credits.c.month == month))
    columns = ["account_id", "month", "credits"]
    tx.run(insert(month_credits).from_select(columns, sums.group_by(usage.c.account_id, usage.c.month)))


def forget(tx: Tx, before: str) -> None:
    """All months before this one."""
    tx.run(delete(month_credits).where(month_credits.c.month < before))
