"""What worked on a domain: shared by all jobs, learned in the settle of the pages that taught it."""

from collections.abc import Mapping

from sqlalchemy import case, delete, func, select

from gossamer.model.experience import Experience
from gossamer.store.tables import memory
from gossamer.store.tx import Tx

_MANY = 100  # tries after which what is older counts half
_OLD = memory.c.tries > _MANY


def of(tx: Tx, domain: str) -> dict[str, Experience]:
    """By rung."""
    query = select(memory.c.rung, memory.c.tries, memory.c.wins).where(memory.c.domain == domain)
    return {row.rung: Experience(row.tries, row.wins) for row in tx.run(query)}


def overall(tx: Tx, rung: str) -> Experience:
    """What a rung has come to on all domains that remember it."""
    sums = [func.coalesce(func.sum(memory.c[name]), 0).label(name) for name in ("tries", "wins")]
    row = tx.run(select(*sums).where(memory.c.rung == rung)).one()
    return Experience(int(row.tries), int(row.wins))


def learn(tx: Tx, lessons: Mapping[tuple[str, str], Experience]) -> None:
    """What was met of domains and rungs; in the order every transaction takes them."""
    for (domain, rung), met in sorted(lessons.items()):
        fresh = tx.dialect.insert(memory).values(
            domain=domain, rung=rung, tries=met.tries, wins=met.wins, tried_at=tx.now
        )
        grown = {
            name: case((_OLD, memory.c[name] // 2), else_=memory.c[name]) + fresh.excluded[name]
            for name in ("tries", "wins")
        }
        again = fresh.on_conflict_do_update(
            index_elements=["domain", "rung"], set_={**grown, "tried_at": fresh.excluded.tried_at}
        )
        tx.run(again)


def forget(tx: Tx, domain: str) -> None:
    tx.run(delete(memory).where(memory.c.domain == domain))
