"""Reading a job's records in an order people expect: by domain, then address, then keyword."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from gossamer.model.record import RecordKind
from gossamer.model.url import url_key
from gossamer.store import records, sites
from gossamer.store.database import Database
from gossamer.store.tx import Tx

_SITES_PER_READ = 200

Row = Mapping[str, Any]


async def rows_by_site(database: Database, job_id: UUID, kind: RecordKind) -> AsyncIterator[list[Row]]:
    """The rows of one site after the other, sites by name. Each step is a short read of its own."""
    after = ""
    while True:
        hosts, found = await database.read(_step, job_id, kind, after)
        for rows in found:
            yield rows
        if len(hosts) < _SITES_PER_READ:
            return
        after = hosts[-1]


def _step(tx: Tx, job_id: UUID, kind: RecordKind, after: str) -> tuple[Sequence[str], list[list[Row]]]:
    step = sites.hosts(tx, job_id, after, _SITES_PER_READ)
    found = []
    for host, site_id in step:
        rows = records.of_site(tx, job_id, kind.name, site_id, url_key(f"http://{host}/")[:4])
        if rows:
            found.append(sorted(rows, key=lambda row: tuple(str(row[column]) for column in kind.key)))
    return [host for host, _ in step], found
