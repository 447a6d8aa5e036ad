"""What pages were read with: asked only of jobs that have more than one way."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import bindparam, func, select

from gossamer.model.ladders import RUNGS
from gossamer.model.states import PageState
from gossamer.store.tables import pages, sites
from gossamer.store.tx import Tx

_AT_ONCE = 1_000  # sites
_RENDERING = [rung.name for rung in RUNGS.values() if rung.renders]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A site of which some pages were read by running their scripts."""

    host: str
    rendered: int
    read: int


def by_rung(tx: Tx, job_id: UUID, without: Sequence[UUID] = ()) -> dict[str, int]:
    """Pages read, by the rung that got them; those of some sites are left out if that is asked for."""
    done = (pages.c.job_id == job_id) & (pages.c.state == PageState.DONE)
    query = select(pages.c.rung, func.count().label("pages")).where(done).group_by(pages.c.rung)
    found = Counter({row.rung: int(row.pages) for row in tx.run(query)})
    some = query.where(pages.c.site_id.in_(bindparam("ids", expanding=True)))
    for start in range(0, len(without), _AT_ONCE):
        found -= Counter({row.rung: int(row.pages) for row in tx.run(some, {"ids": without[start : start + _AT_ONCE]})})
    return {name: found[name] for name in RUNGS if found[name]}


def rendered(tx: Tx, job_id: UUID, limit: int) -> list[Rendered]:
    """The sites with most such pages first."""
    done = (pages.c.job_id == job_id) & (pages.c.state == PageState.DONE) & pages.c.rung.in_(_RENDERING)
    counted = select(pages.c.site_id, func.count().label("pages")).where(done).group_by(pages.c.site_id).subquery()
    query = (
        select(sites.c.host, counted.c.pages, sites.c.pages_done)
        .join(counted, counted.c.site_id == sites.c.id)
        .order_by(counted.c.pages.desc(), sites.c.host)
        .limit(limit)
    )
    return [Rendered(row.host, int(row.pages), row.pages_done) for row in tx.run(query)]
