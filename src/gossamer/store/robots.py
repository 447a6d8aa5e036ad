"""robots.txt answers, shared by all jobs for a day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select

from gossamer.store.tables import robots
from gossamer.store.tx import Tx

FRESH = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """What a site said, as it arrived. Status 404 also stands for redirects that lead nowhere."""

    origin: str
    status: int
    body: str
    fetched_at: datetime


def fresh(tx: Tx, origins: Sequence[str]) -> dict[str, RobotsAnswer]:
    query = select(robots).where(robots.c.origin.in_(origins), robots.c.fetched_at > tx.now - FRESH)
    return {row.origin: RobotsAnswer(row.origin, row.status, row.body, row.fetched_at) for row in tx.run(query)}


def keep(tx: Tx, answers: Sequence[RobotsAnswer]) -> None:
    if not answers:
        return
    upsert = tx.dialect.insert(robots)
    upsert = upsert.on_conflict_do_update(
        index_elements=["origin"],
        set_={name: upsert.excluded[name] for name in ("status", "body", "fetched_at")},
    )
    tx.run_many(
        upsert,
        [
            {"origin": one.origin, "status": one.status, "body": one.body, "fetched_at": one.fetched_at}
            for _, one in sorted({one.origin: one for one in answers}.items())
        ],
    )


def forget_old(tx: Tx) -> int:
    return tx.run(delete(robots).where(robots.c.fetched_at <= tx.now - FRESH)).rowcount
