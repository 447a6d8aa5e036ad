"""robots.txt answers, shared by all jobs for a day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from sqlalchemy import Executable, bindparam, delete, select

from gossamer.db.tables import robots
from gossamer.db.transactions import Dialect, Tx

FRESH = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """A site's robots.txt as it arrived. Status 404 also stands for redirects that lead nowhere."""

    origin: str
    status: int
    body: str
    fetched_at: datetime


_FRESH = select(robots).where(
    robots.c.origin.in_(bindparam("origins", expanding=True)),
    robots.c.fetched_at > bindparam("since", type_=robots.c.fetched_at.type),
)


def fresh(tx: Tx, origins: Sequence[str]) -> dict[str, RobotsAnswer]:
    rows = tx.run(_FRESH, {"origins": list(origins), "since": tx.now - FRESH})
    return {row.origin: RobotsAnswer(row.origin, row.status, row.body, row.fetched_at) for row in rows}


def keep(tx: Tx, answers: Sequence[RobotsAnswer]) -> None:
    tx.run_many(
        _keep(tx.dialect),
        [
            {"origin": one.origin, "status": one.status, "body": one.body, "fetched_at": one.fetched_at}
            for _, one in sorted({one.origin: one for one in answers}.items())
        ],
    )


@cache
def _keep(dialect: Dialect) -> Executable:
    upsert = dialect.insert(robots)
    made: Executable = upsert.on_conflict_do_update(
        index_elements=["origin"],
        set_={name: upsert.excluded[name] for name in ("status", "body", "fetched_at")},
    )
    return made


def forget_old(tx: Tx) -> int:
    return tx.run(delete(robots).where(robots.c.fetched_at <= tx.now - FRESH)).rowcount
