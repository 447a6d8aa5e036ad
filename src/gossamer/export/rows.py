"""Reading a job's records in an order people expect: by domain, then address, then keyword."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from gossamer.export.whole_site import completed
from gossamer.model.record import RecordKind
from gossamer.model.url import url_key
from gossamer.store import records, sites
from gossamer.store.database import Database
from gossamer.store.tx import Tx

_SITES_PER_READ = 200

Row = Mapping[str, Any]


async def rows_by_site(
    database: Database, job_id: UUID, kind: RecordKind, *, verdict: str = ""
) -> AsyncIterator[list[Row]]:
    """The rows of one site after the other, sites by name. Each step is a short read of its own.

    With a verdict, only rows that have it; what they say of the whole site is of all of it nevertheless.
    """
    after = ""
    while True:
        hosts, found = await database.read(_step, job_id, kind, after)
        for rows in found:
            wanted = [row for row in rows if row["verdict"] == verdict] if verdict else rows
            if wanted:
                yield wanted
        if len(hosts) < _SITES_PER_READ:
            return
        after = hosts[-1]


def _step(tx: Tx, job_id: UUID, kind: RecordKind, after: str) -> tuple[Sequence[str], list[list[Row]]]:
    step = sites.hosts(tx, job_id, after, _SITES_PER_READ)
    pages_read = sites.pages_read(tx, [site_id for _, site_id in step])
    found = []
    for host, site_id in step:
        rows = records.of_site(tx, job_id, kind.name, site_id, url_key(f"http://{host}/")[:4])
        if rows:
            whole = completed(rows, pages_read[site_id])
            found.append(sorted(whole, key=lambda row: tuple(str(row[column]) for column in kind.key)))
    return [host for host, _ in step], found
