"""History of single pages and sites, and all recorded requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, func, literal, select

from gossamer.db.tables import jobs, pages, records, sites
from gossamer.db.transactions import Tx
from gossamer.model.page import Attempt, Errand
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import url_key

_UNTIL = b"\xff" * 8
_UNTIL_RECORD = b"\xff" * 16


@dataclass(frozen=True, slots=True)
class SiteHistory:
    """A site of a job with its crawl data."""

    id: UUID
    host: str
    domain: str
    given: str
    entries: tuple[str, ...]
    listed: bool
    whole: bool
    state: SiteState
    trouble: Trouble | None
    pages_done: int
    size: int
    size_source: str
    not_before: datetime | None
    robots: Mapping[str, Any]
    errands: tuple[Errand, ...]
    notes: bytes
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class PageHistory:
    """A page of a job with all its attempts."""

    key: bytes
    url: str
    state: PageState
    trouble: Trouble | None
    http_status: int | None
    depth: int
    rank: int
    handed: int
    found_on: str
    attempts: tuple[Attempt, ...]
    due_at: datetime | None
    identity: bytes | None
    bytes_in: int
    settled_at: datetime | None


def site(tx: Tx, job_id: UUID, host: str) -> SiteHistory | None:
    row = tx.run(select(sites).where(sites.c.job_id == job_id, sites.c.host == host)).first()
    if row is None:
        return None
    return SiteHistory(
        id=row.id,
        host=row.host,
        domain=row.domain,
        given=row.given,
        entries=tuple(row.entries),
        listed=row.listed and row.step is None,
        whole=row.whole,
        state=SiteState(row.state),
        trouble=_trouble(row),
        pages_done=row.pages_done,
        size=row.size,
        size_source=row.size_source,
        not_before=row.not_before,
        robots=row.robots,
        errands=tuple(Errand(*errand) for errand in row.errands),
        notes=bytes(row.notes),
        finished_at=row.finished_at,
    )


# Prepared once: callers that wait for a page ask for it.
_AT = (
    select(pages)
    .where(pages.c.job_id == bindparam("job"), pages.c.key.in_(bindparam("keys", expanding=True)))
    .order_by(pages.c.key)
)


def pages_at(tx: Tx, job_id: UUID, keys: Sequence[bytes]) -> list[PageHistory]:
    """Return the existing pages of these keys."""
    return [_page(row) for row in tx.run(_AT, {"job": job_id, "keys": keys})]


def pages_by_key(
    tx: Tx, job_id: UUID, after: bytes, limit: int, *, state: PageState | None = None, site: SiteHistory | None = None
) -> list[PageHistory]:
    """Return pages of a job, or of one of its sites, ordered by key, so that pages of a site are adjacent."""
    query = select(pages).where(pages.c.job_id == job_id, pages.c.key > after).order_by(pages.c.key).limit(limit)
    if state:
        query = query.where(pages.c.state == state)
    if site:
        query = query.where(_of_site(url_key(site.entries[0])), pages.c.site_id == site.id)
    return [_page(row) for row in tx.run(query)]


def given_pages(tx: Tx, job_id: UUID, after: bytes, limit: int, states: Sequence[PageState] = ()) -> list[PageHistory]:
    """Return pages that were not handed over by other sites, ordered by key, optionally only in some states."""
    mine = (pages.c.job_id == job_id) & (pages.c.key > after) & (pages.c.handed == 0)
    if states:
        mine &= pages.c.state.in_(states)
    return [_page(row) for row in tx.run(select(pages).where(mine).order_by(pages.c.key).limit(limit))]


def spellings(tx: Tx, job_id: UUID, keys: Sequence[bytes]) -> dict[bytes, tuple[str, ...]]:
    """Return the entry URLs of these pages' sites, for sites that have several spellings."""
    joined = pages.join(sites, sites.c.id == pages.c.site_id)
    query = select(pages.c.key, sites.c.entries).select_from(joined)
    mine = (pages.c.job_id == job_id) & pages.c.key.in_(list(keys))
    return {row.key: tuple(row.entries) for row in tx.run(query.where(mine)) if len(row.entries) > 1}


def page_with_identity(tx: Tx, job_id: UUID, identity: bytes) -> PageHistory | None:
    """Return the page that was read and had this identity."""
    found = _found(tx, job_id, _of_site(identity), pages.c.identity == identity)
    return found[0] if found else None


def pages_same_as(tx: Tx, job_id: UUID, key: bytes) -> list[PageHistory]:
    """Return all pages of a page's site that were skipped as duplicates."""
    return _found(tx, job_id, _of_site(key), pages.c.reason == Reason.SAME_AS.name)


def pages_handed_on(tx: Tx, job_id: UUID, url: str, site_key: bytes) -> list[PageHistory]:
    """Return the pages that a redirect from `url` became on another site, whose keys begin with `site_key`."""
    return _found(tx, job_id, _of_site(site_key), pages.c.found_on == url, pages.c.handed > 0)


def records_of(tx: Tx, job_id: UUID, kinds: Sequence[str], page_key: bytes) -> list[Mapping[str, Any]]:
    """Return a page's records of these kinds."""
    prefix = page_key[:4]
    query = select(records.c.data).where(
        records.c.job_id == job_id,
        records.c.kind.in_(kinds),
        records.c.key >= prefix,
        records.c.key <= prefix + _UNTIL_RECORD,
        records.c.page_key == page_key,
    )
    return list(tx.run(query).scalars())


def _of_site(key: bytes) -> ColumnElement[bool]:
    prefix = key[:4]
    return (pages.c.key >= prefix) & (pages.c.key <= prefix + _UNTIL)


def _found(tx: Tx, job_id: UUID, *conditions: ColumnElement[bool]) -> list[PageHistory]:
    query = select(pages).where(pages.c.job_id == job_id, *conditions).order_by(pages.c.key)
    return [_page(row) for row in tx.run(query)]


def _page(row: Any) -> PageHistory:
    return PageHistory(
        key=bytes(row.key),
        url=row.url,
        state=PageState(row.state),
        trouble=_trouble(row),
        http_status=row.http_status,
        depth=row.depth,
        rank=row.rank,
        handed=row.handed,
        found_on=row.found_on,
        attempts=attempts_of(row.attempts),
        due_at=row.due_at,
        identity=bytes(row.identity) if row.identity is not None else None,
        bytes_in=row.bytes_in,
        settled_at=row.settled_at,
    )


def attempts_of(kept: Sequence[Sequence[Any]]) -> tuple[Attempt, ...]:
    return tuple(Attempt(rung, status, reason, took, at, tuple(sent)) for rung, status, reason, took, at, sent in kept)


def _trouble(row: Any) -> Trouble | None:
    return Trouble(Reason[row.reason], row.detail, row.http_status) if row.reason else None


FIRST = b""
"""A key before all others."""


@dataclass(frozen=True, slots=True)
class SiteManners:
    """The rules a site was crawled by, and the requests besides its pages."""

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


def requests_of_pages(tx: Tx, job_id: UUID, after: bytes, limit: int) -> list[PageRequests]:
    """Return pages of a job with their requests, ordered by key, so that pages of a site are adjacent."""
    columns = (pages.c.key, pages.c.site_id, pages.c.url, pages.c.attempts)
    query = select(*columns).where(pages.c.job_id == job_id, pages.c.key > after).order_by(pages.c.key).limit(limit)
    return [PageRequests(bytes(row.key), row.site_id, row.url, attempts_of(row.attempts)) for row in tx.run(query)]


def manners_of_sites(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, SiteManners]:
    """Return the crawl rules of these sites; a robots.txt may be large, so ask for few at a time."""
    columns = (sites.c.id, sites.c.host, sites.c.domain, sites.c.robots, sites.c.errands)
    return {
        row.id: SiteManners(row.id, row.host, row.domain, row.robots, tuple(Errand(*errand) for errand in row.errands))
        for row in tx.run(select(*columns).where(sites.c.id.in_(ids)))
    }


def jobs_beside(tx: Tx, job_id: UUID) -> list[UUID]:
    """Return jobs that ran at the same time as this one; an unfinished job counts until now."""
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
