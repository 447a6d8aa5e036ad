"""Every request the rows know of, in steps short enough to stand in nobody's way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import func, literal, select

from gossamer.model.page import Attempt, Errand
from gossamer.store.history import attempts_of
from gossamer.store.tables import jobs, pages, sites
from gossamer.store.tx import Tx

FIRST = b""
"""Before the first key there is."""


@dataclass(frozen=True, slots=True)
class SiteManners:
    """What a site was walked by, and what was asked besides its pages."""

    id: UUID
    host: str
    domain: str
    robots: Mapping[str, Any]
    errands: tuple[Errand, ...]


class PageRequests(NamedTuple):
    """One page and its requests."""

    key: bytes
    site_id: UUID
    url: str
    attempts: tuple[Attempt, ...]


def of_pages(tx: Tx, job_id: UUID, after: bytes, limit: int) -> list[PageRequests]:
    """Pages of a job by key, a step at a time. The pages of a site lie together."""
    columns = (pages.c.key, pages.c.site_id, pages.c.url, pages.c.attempts)
    query = select(*columns).where(pages.c.job_id == job_id, pages.c.key > after).order_by(pages.c.key).limit(limit)
    return [PageRequests(bytes(row.key), row.site_id, row.url, attempts_of(row.attempts)) for row in tx.run(query)]


def of_sites(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, SiteManners]:
    """These sites. A robots.txt may be large, so they should not be many."""
    columns = (sites.c.id, sites.c.host, sites.c.domain, sites.c.robots, sites.c.errands)
    return {
        row.id: SiteManners(row.id, row.host, row.domain, row.robots, tuple(Errand(*errand) for errand in row.errands))
        for row in tx.run(select(*columns).where(sites.c.id.in_(ids)))
    }


def jobs_beside(tx: Tx, job_id: UUID) -> list[UUID]:
    """Other jobs that were worked in the time of this one, as far as their rows say. One not over counts until now."""
    until = func.coalesce(jobs.c.finished_at, literal(tx.now, jobs.c.finished_at.type))
    own = tx.run(select(jobs.c.started_at, until.label("until")).where(jobs.c.id == job_id)).first()
    if own is None or own.started_at is None:
        return []
    query = select(jobs.c.id).where(
        jobs.c.id != job_id,
        jobs.c.started_at.is_not(None),
        jobs.c.started_at <= own.until,
        until >= own.started_at,
    )
    return list(tx.run(query.order_by(jobs.c.id)).scalars())
