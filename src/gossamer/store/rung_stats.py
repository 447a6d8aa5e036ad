"""Success of each rung per domain: shared by all jobs, learned in the settle of the pages that taught it."""

from collections.abc import Mapping
from functools import cache

from sqlalchemy import Executable, bindparam, case, delete, func, select

from gossamer.db.tables import memory
from gossamer.db.transactions import Dialect, Tx
from gossamer.model.rungs import Experience

_MANY = 100  # tries after which what is older counts half
_OLD = memory.c.tries > _MANY


_OF_DOMAIN = select(memory.c.rung, memory.c.tries, memory.c.wins).where(memory.c.domain == bindparam("of"))


def of(tx: Tx, domain: str) -> dict[str, Experience]:
    """By rung."""
    return {row.rung: Experience(row.tries, row.wins) for row in tx.run(_OF_DOMAIN, {"of": domain})}


def overall(tx: Tx, rung: str) -> Experience:
    """Return the statistics of a rung over all domains with data on it."""
    sums = [func.coalesce(func.sum(memory.c[name]), 0).label(name) for name in ("tries", "wins")]
    row = tx.run(select(*sums).where(memory.c.rung == rung)).one()
    return Experience(int(row.tries), int(row.wins))


def learn(tx: Tx, lessons: Mapping[tuple[str, str], Experience]) -> None:
    """Add statistics of domains and rungs, in the lock order of all transactions."""
    rows = [
        {"domain": domain, "rung": rung, "tries": met.tries, "wins": met.wins, "tried_at": tx.now}
        for (domain, rung), met in sorted(lessons.items())
    ]
    tx.run_many(_add(tx.dialect), rows)


@cache
def _add(dialect: Dialect) -> Executable:
    fresh = dialect.insert(memory)
    grown = {
        name: case((_OLD, memory.c[name] // 2), else_=memory.c[name]) + fresh.excluded[name]
        for name in ("tries", "wins")
    }
    made: Executable = fresh.on_conflict_do_update(
        index_elements=["domain", "rung"], set_={**grown, "tried_at": fresh.excluded.tried_at}
    )
    return made


def forget(tx: Tx, domain: str) -> None:
    tx.run(delete(memory).where(memory.c.domain == domain))
