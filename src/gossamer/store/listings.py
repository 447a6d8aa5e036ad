"""What a job has found and where it failed, a page at a time, from where the last one ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select

from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import site_of_url
from gossamer.store.events import Event, Line
from gossamer.store.tables import events, pages, records, sites
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Found:
    """A record and its place among the others of its kind."""

    kind: str
    key: bytes
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """A site or a page that was not had."""

    key: bytes  # its place among the others
    host: str
    url: str  # nothing: it is about the whole site
    trouble: Trouble | None


@dataclass(frozen=True, slots=True)
class Failures:
    """Some of them, and the place after which the next ones come; nothing if these were the last."""

    items: list[Failure]
    next: bytes = b""

    @classmethod
    def of(cls, found: list[Failure], limit: int) -> "Failures":
        """Of one more than are wanted."""
        return cls(found[:limit], found[limit - 1].key if len(found) > limit else b"")


def found(tx: Tx, job_id: UUID, kind: str, after: bytes, limit: int) -> list[Found]:
    """By key, which is by site."""
    wanted = (records.c.job_id == job_id) & (records.c.kind == kind) & (records.c.key > after)
    query = select(records.c.kind, records.c.key, records.c.data).where(wanted).order_by(records.c.key).limit(limit)
    return [Found(row.kind, bytes(row.key), row.data) for row in tx.run(query)]


def failed_pages(tx: Tx, job_id: UUID, after: bytes, limit: int) -> Failures:
    """By key. Of pages that a person has named, `scraped.failed_after` says more."""
    wanted = (pages.c.job_id == job_id) & (pages.c.state == PageState.FAILED) & (pages.c.key > after)
    columns = (pages.c.key, pages.c.url, pages.c.reason, pages.c.detail, pages.c.http_status)
    rows = tx.run(select(*columns).where(wanted).order_by(pages.c.key).limit(limit + 1))
    return Failures.of([Failure(bytes(row.key), site_of_url(row.url), row.url, _trouble(row)) for row in rows], limit)


def failed_sites(tx: Tx, job_id: UUID, after: bytes, limit: int) -> Failures:
    """By host."""
    wanted = (sites.c.job_id == job_id) & (sites.c.state == SiteState.FAILED) & (sites.c.host > after.decode())
    columns = (sites.c.host, sites.c.reason, sites.c.detail, sites.c.http_status)
    rows = tx.run(select(*columns).where(wanted).order_by(sites.c.host).limit(limit + 1))
    return Failures.of([Failure(row.host.encode(), row.host, "", _trouble(row)) for row in rows], limit)


def happened(tx: Tx, job_id: UUID, after: UUID | None, limit: int) -> list[Line]:
    """Events in their order, those of a job's visits left out: what people follow a job by."""
    wanted = (events.c.job_id == job_id) & events.c.visit_id.is_(None)
    if after:
        wanted &= events.c.id > after
    query = select(events, sites.c.host).join(sites, sites.c.id == events.c.site_id, isouter=True).where(wanted)
    rows = tx.run(query.order_by(events.c.id).limit(limit))
    return [Line(row.id, Event(row.at, row.kind, row.who, row.why, row.site_id), row.host or "") for row in rows]


def last_event(tx: Tx, job_id: UUID) -> UUID | None:
    query = select(events.c.id).where(events.c.job_id == job_id).order_by(events.c.id.desc()).limit(1)
    found: UUID | None = tx.run(query).scalar()
    return found


def _trouble(row: Any) -> Trouble | None:
    return Trouble(Reason[row.reason], row.detail, row.http_status) if row.reason else None
