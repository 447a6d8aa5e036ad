"""Sites: one host of a job with its `www` twin."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, insert, select, update

from gossamer.model.ids import new_id
from gossamer.model.job import Target
from gossamer.model.states import SITE_MOVES, SiteState, VisitState, origins
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import domain_of, shard_of
from gossamer.store.tables import sites, visits
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class SiteRow:
    """A site as settling sees it, locked."""

    id: UUID
    job_id: UUID
    host: str
    state: SiteState
    listed: bool
    whole: bool
    open_pages: int


@dataclass(slots=True)
class SiteChange:
    """What a batch does to one site. None leaves a column as it is."""

    open_pages: int = 0
    pages_done: int = 0
    size: int | None = None
    not_before: datetime | None = None
    robots: Mapping[str, Any] | None = None
    notes: bytes | None = None
    attempted: bool = False


@dataclass(frozen=True, slots=True)
class SiteSummary:
    """A site as people see it."""

    host: str
    state: SiteState
    trouble: Trouble | None
    pages_done: int
    retries: int
    last_attempt_at: datetime | None


def create_many(tx: Tx, job_id: UUID, targets: Iterable[Target], *, listed: bool = True, whole: bool = True) -> None:
    """Sites with one ready `http` visit each. A host the job already has is left as it is."""
    site_rows, visit_rows = [], []
    for target in targets:
        site_id, domain = new_id(tx.now), domain_of(target.host)
        site_rows.append(
            {
                "id": site_id,
                "job_id": job_id,
                "host": target.host,
                "domain": domain,
                "given": target.given,
                "entries": list(target.entries),
                "listed": listed,
                "whole": whole,
                "state": SiteState.OPEN,
                "reason": "",
                "detail": "",
                "open_pages": 0,
                "pages_done": 0,
                "size": 0,
                "retries": 0,
                "robots": {},
                "notes": b"",
            }
        )
        visit_rows.append(
            {
                "id": new_id(tx.now),
                "job_id": job_id,
                "site_id": site_id,
                "lane": "http",
                "domain": domain,
                "shard": shard_of(domain),
                "state": VisitState.READY,
                "due_at": tx.now,
                "deaths": 0,
                "open_pages": 0,
                "walked_ms": 0,
                "last_error": "",
            }
        )
    tx.run_many(insert(sites), site_rows)
    tx.run_many(insert(visits), visit_rows)


def by_host(tx: Tx, job_id: UUID, hosts: Sequence[str]) -> dict[str, UUID]:
    query = select(sites.c.host, sites.c.id).where(sites.c.job_id == job_id, sites.c.host.in_(hosts))
    return {row.host: row.id for row in tx.run(query)}


def lock(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, SiteRow]:
    """These sites, held until commit, in the order every transaction takes them."""
    columns = (
        sites.c.id,
        sites.c.job_id,
        sites.c.host,
        sites.c.state,
        sites.c.listed,
        sites.c.whole,
        sites.c.open_pages,
    )
    query = tx.locked(select(*columns).where(sites.c.id.in_(sorted(ids))).order_by(sites.c.id))
    return {
        row.id: SiteRow(row.id, row.job_id, row.host, SiteState(row.state), row.listed, row.whole, row.open_pages)
        for row in tx.run(query)
    }


_APPLY = (
    update(sites)
    .where(sites.c.id == bindparam("b_id"))
    .values(
        open_pages=sites.c.open_pages + bindparam("b_open"),
        pages_done=sites.c.pages_done + bindparam("b_done"),
    )
)


def apply(tx: Tx, changes: Mapping[UUID, SiteChange]) -> None:
    """Write a batch's changes. What rarely changes has statements of its own, so the common one stays small."""
    ordered = sorted(changes.items())
    tx.run_many(
        _APPLY,
        [{"b_id": site_id, "b_open": change.open_pages, "b_done": change.pages_done} for site_id, change in ordered],
    )
    for column in ("size", "not_before", "robots", "notes"):
        tx.run_many(
            _set_one(column),
            [
                {"b_id": site_id, "b_value": getattr(change, column)}
                for site_id, change in ordered
                if getattr(change, column) is not None
            ],
        )
    tx.run_many(
        _set_one("last_attempt_at"),
        [{"b_id": site_id, "b_value": tx.now} for site_id, change in ordered if change.attempted],
    )


def _set_one(column: str) -> Any:
    return (
        update(sites)
        .where(sites.c.id == bindparam("b_id"))
        .values({column: bindparam("b_value", type_=sites.c[column].type)})
    )


def close(
    tx: Tx,
    site_id: UUID,
    state: SiteState,
    *,
    reason: str = "",
    detail: str = "",
    http_status: int | None = None,
    retries: int = 0,
) -> bool:
    """End an open site that has no open page left."""
    legal = sites.c.state.in_(origins(SITE_MOVES, state))
    ended = update(sites).where(sites.c.id == site_id, legal, sites.c.open_pages == 0)
    values = {
        "state": state,
        "reason": reason,
        "detail": detail,
        "http_status": http_status,
        "retries": retries,
        "finished_at": tx.now,
    }
    return bool(tx.run(ended.values(**values)).rowcount)


def reopen(tx: Tx, site_id: UUID, *, whole: bool) -> None:
    """A page was handed over to a site that may already have ended."""
    values: dict[str, Any] = {"state": SiteState.OPEN, "finished_at": None}
    if whole:
        values["whole"] = True
    tx.run(update(sites).where(sites.c.id == site_id).values(**values))


def summaries(
    tx: Tx, job_id: UUID, state: SiteState | None = None, *, after: str = "", limit: int = 1000
) -> list[SiteSummary]:
    """Sites a person listed, by host, in steps of `limit`."""
    wanted = (sites.c.job_id == job_id) & (sites.c.host > after) & sites.c.listed
    query = select(sites).where(wanted).order_by(sites.c.host).limit(limit)
    if state:
        query = query.where(sites.c.state == state)
    return [
        SiteSummary(
            row.host,
            SiteState(row.state),
            Trouble(Reason[row.reason], row.detail, row.http_status) if row.reason else None,
            row.pages_done,
            row.retries,
            row.last_attempt_at,
        )
        for row in tx.run(query)
    ]


def hosts(tx: Tx, job_id: UUID, after: str, limit: int) -> list[tuple[str, UUID]]:
    """Hosts with their ids in alphabetical order, a step at a time."""
    query = (
        select(sites.c.host, sites.c.id)
        .where(sites.c.job_id == job_id, sites.c.host > after)
        .order_by(sites.c.host)
        .limit(limit)
    )
    return [(row.host, row.id) for row in tx.run(query)]
