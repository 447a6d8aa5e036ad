"""What a worker is given together with a lease."""

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from sqlalchemy import bindparam, select

from gossamer.model.page import Errand, Visit
from gossamer.store.tables import jobs, sites, visits
from gossamer.store.tx import Tx

_OF_SITE = ("host", "entries", "whole", "not_before", "notes", "robots", "errands")
_LOAD = (
    select(visits, jobs.c.account_id, *(sites.c[name] for name in _OF_SITE))
    .join(sites, sites.c.id == visits.c.site_id)
    .join(jobs, jobs.c.id == visits.c.job_id)
    .where(visits.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(visits.c.id)
)


def load(tx: Tx, ids: Collection[UUID]) -> list[Visit]:
    """Visits that were leased in this transaction, with what is known of their sites."""
    rows = tx.run(_LOAD, {"ids": list(ids)})
    return [
        Visit(
            id=row.id,
            job_id=row.job_id,
            site_id=row.site_id,
            host=row.host,
            domain=row.domain,
            entries=tuple(row.entries),
            lane=row.lane,
            lease=row.lease,
            deaths=row.deaths,
            walked=timedelta(milliseconds=row.walked_ms),
            not_before=row.not_before,
            whole=row.whole,
            notes=bytes(row.notes),
            robots=dict(row.robots),
            errands=tuple(Errand(*errand) for errand in row.errands),
            account=row.account_id,
        )
        for row in rows
    ]
