"""What is asked about many sites at once besides their records: how much failed, what an earlier job had."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import bindparam, func, select

from gossamer.model.states import PageState
from gossamer.model.url import url_key
from gossamer.store import sites
from gossamer.store.tables import pages, records
from gossamer.store.tx import Tx

_UNTIL = b"\xff" * 16
_HOSTS = 1_000  # asked for at once

# By ranges of the primary key, a site at a time: neither table has an index by site.
_FAILED = select(func.count()).where(
    pages.c.job_id == bindparam("job", type_=pages.c.job_id.type),
    pages.c.key >= bindparam("low"),
    pages.c.key <= bindparam("high"),
    pages.c.site_id == bindparam("site", type_=pages.c.site_id.type),
    pages.c.state == PageState.FAILED,
)
_BY_STATE = (
    select(pages.c.state, func.count().label("found"), func.sum(pages.c.bytes_in).label("size"))
    .where(
        pages.c.job_id == bindparam("job", type_=pages.c.job_id.type),
        pages.c.key >= bindparam("low"),
        pages.c.key <= bindparam("high"),
        pages.c.site_id == bindparam("site", type_=pages.c.site_id.type),
    )
    .group_by(pages.c.state)
)
_ANY_RECORD = (
    select(records.c.key)
    .where(
        records.c.job_id == bindparam("job", type_=records.c.job_id.type),
        records.c.kind == bindparam("kind"),
        records.c.key >= bindparam("low"),
        records.c.key <= bindparam("high"),
        records.c.site_id == bindparam("site", type_=records.c.site_id.type),
    )
    .limit(1)
)


def pages_failed(tx: Tx, job_id: UUID, hosts: Sequence[str]) -> dict[str, int]:
    """How many pages of each of these sites could not be read."""
    found = sites.by_host(tx, job_id, hosts)
    return {
        host: int(tx.run(_FAILED, {"job": job_id, "site": site_id, **_range(host)}).scalar_one())
        for host, site_id in found.items()
    }


def pages_of(tx: Tx, job_id: UUID, hosts: Sequence[str]) -> tuple[Counter[PageState], int]:
    """How many pages these sites have together in each state, and their bytes."""
    counted: Counter[PageState] = Counter()
    size = 0
    for start in range(0, len(hosts), _HOSTS):
        for host, site_id in sites.by_host(tx, job_id, hosts[start : start + _HOSTS]).items():
            for row in tx.run(_BY_STATE, {"job": job_id, "site": site_id, **_range(host)}):
                counted[PageState(row.state)] += int(row.found)
                size += int(row.size)
    return counted, size


def with_records(tx: Tx, job_id: UUID, kind: str, hosts: Sequence[str]) -> set[str]:
    """Those of these sites of which a job has a record."""
    found = sites.by_host(tx, job_id, hosts)
    return {
        host
        for host, site_id in found.items()
        if tx.run(_ANY_RECORD, {"job": job_id, "kind": kind, "site": site_id, **_range(host)}).first()
    }


def _range(host: str) -> dict[str, bytes]:
    prefix = url_key(f"http://{host}/")[:4]
    return {"low": prefix, "high": prefix + _UNTIL}
