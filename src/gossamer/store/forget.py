"""Rows that name a page or a domain: found by a part of their text, and rewritten without it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Table, Text, bindparam, cast, delete, func, select, update

from gossamer.model.states import PageState
from gossamer.store import tables as t
from gossamer.store.tx import Tx
from gossamer.store.webhook_tables import deliveries

_UNTIL = b"\xff" * 16


@dataclass(frozen=True, slots=True)
class NamingPage:
    """A page with everything of it that may name an address."""

    key: bytes
    site_id: UUID
    host: str  # of its site
    visit_id: UUID
    url: str
    state: PageState
    reason: str
    detail: str
    found_on: str
    identity: bytes | None
    links: bytes


@dataclass(frozen=True, slots=True)
class NamingRecord:
    kind: str
    key: bytes
    page_key: bytes
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NamingSite:
    id: UUID
    host: str
    given: str
    listed: bool
    whole: bool
    detail: str
    robots: Mapping[str, Any]
    notes: bytes
    errands: Sequence[Any]


_PAGES = select(t.pages, t.sites.c.host).join(t.sites, t.sites.c.id == t.pages.c.site_id)


def pages_naming(tx: Tx, job_id: UUID, text: str, after: bytes, limit: int) -> list[NamingPage]:
    """Pages of a job in which the text stands, by key, a step at a time."""
    named = _any(t.pages, ("url", "found_on", "detail"), text)
    query = _PAGES.where(t.pages.c.job_id == job_id, t.pages.c.key > after, named)
    return [_page(row) for row in tx.run(query.order_by(t.pages.c.key).limit(limit))]


def pages_at(tx: Tx, job_id: UUID, keys: Sequence[bytes]) -> list[NamingPage]:
    query = _PAGES.where(t.pages.c.job_id == job_id, t.pages.c.key.in_(keys)).order_by(t.pages.c.key)
    return [_page(row) for row in tx.run(query)]


def _page(row: Any) -> NamingPage:
    return NamingPage(
        bytes(row.key),
        row.site_id,
        row.host,
        row.visit_id,
        row.url,
        PageState(row.state),
        row.reason,
        row.detail,
        row.found_on,
        bytes(row.identity) if row.identity is not None else None,
        bytes(row.links or b""),
    )


def kinds_of(tx: Tx, job_id: UUID) -> list[str]:
    """The kinds of records a job really has, by a step from each to the next: there may be a million of one."""
    found: list[str] = []
    while True:
        more = (t.records.c.job_id == job_id) & (t.records.c.kind > (found[-1] if found else ""))
        kind: str | None = tx.run(select(func.min(t.records.c.kind)).where(more)).scalar()
        if kind is None:
            return found
        found.append(kind)


def records_naming(tx: Tx, job_id: UUID, kind: str, text: str, after: bytes, limit: int) -> list[NamingRecord]:
    """Records of a kind in which the text stands, by key, a step at a time."""
    named = cast(t.records.c.data, Text).icontains(text, autoescape=True)
    mine = (t.records.c.job_id == job_id) & (t.records.c.kind == kind) & (t.records.c.key > after)
    query = select(t.records).where(mine, named).order_by(t.records.c.key).limit(limit)
    return [NamingRecord(row.kind, bytes(row.key), bytes(row.page_key), row.data) for row in tx.run(query)]


def sites_naming(tx: Tx, job_id: UUID, text: str) -> list[NamingSite]:
    """Sites whose name, origin or fate has the text in it."""
    query = select(t.sites).where(t.sites.c.job_id == job_id, _any(t.sites, ("host", "given", "detail"), text))
    return [
        NamingSite(
            row.id, row.host, row.given, row.listed, row.whole, row.detail, row.robots, bytes(row.notes), row.errands
        )
        for row in tx.run(query.order_by(t.sites.c.id))
    ]


_CHANGED = ("url", "state", "reason", "detail", "found_on", "links")
_PAGE = (
    update(t.pages)
    .where(t.pages.c.job_id == bindparam("b_job"), t.pages.c.key == bindparam("b_key"))
    .values({name: bindparam(f"b_{name}", type_=t.pages.c[name].type) for name in _CHANGED})
)


def rewrite_pages(tx: Tx, job_id: UUID, pages: Sequence[NamingPage]) -> None:
    rows = [
        {"b_job": job_id, "b_key": one.key, **{f"b_{name}": getattr(one, name) for name in _CHANGED}} for one in pages
    ]
    tx.run_many(_PAGE, rows)


def drop_tries(tx: Tx, job_id: UUID, keys: Sequence[bytes]) -> None:
    """What was tried with a page whose address is gone can be held against no robots.txt, and comes to nothing more."""
    wanted = (t.pages.c.job_id == job_id) & t.pages.c.key.in_(keys)
    tx.run(update(t.pages).where(wanted).values(attempts=[], due_at=None))


def delete_records(tx: Tx, job_id: UUID, kinds: Sequence[str], page_keys: Sequence[bytes]) -> int:
    """All that these pages yielded; how many there were. Records lie in the order of their pages' sites."""
    gone = 0
    for kind in kinds:
        near = (t.records.c.key >= min(page_keys)[:4]) & (t.records.c.key <= max(page_keys)[:4] + _UNTIL)
        mine = (t.records.c.job_id == job_id) & (t.records.c.kind == kind) & near
        gone += tx.run(delete(t.records).where(mine, t.records.c.page_key.in_(page_keys))).rowcount
    return gone


_DATA = (
    update(t.records)
    .where(
        t.records.c.job_id == bindparam("b_job"),
        t.records.c.kind == bindparam("b_kind"),
        t.records.c.key == bindparam("b_key"),
    )
    .values(data=bindparam("b_data", type_=t.records.c.data.type))
)


def rewrite_records(tx: Tx, job_id: UUID, records: Sequence[NamingRecord]) -> None:
    rows = [{"b_job": job_id, "b_kind": one.kind, "b_key": one.key, "b_data": one.data} for one in records]
    tx.run_many(_DATA, rows)


def rewrite_site(tx: Tx, site_id: UUID, changes: Mapping[str, Any]) -> None:
    tx.run(update(t.sites).where(t.sites.c.id == site_id).values(**changes))


def rename_visits(tx: Tx, site_id: UUID, domain: str) -> None:
    tx.run(update(t.visits).where(t.visits.c.site_id == site_id).values(domain=domain))


# Whoever looks at an alert, or at a job that stopped, is told at least that something was said.
_TAKEN_OUT = "What was said here was forgotten."
_TEXTS = (
    (t.visits, "last_error", ""),
    (t.events, "why", ""),
    (t.alerts, "sentence", _TAKEN_OUT),
    (t.jobs, "reason", _TAKEN_OUT),
    (deliveries, "body", '{"forgotten":true}'),
)


def texts_naming(tx: Tx, job_id: UUID, text: str) -> dict[str, dict[UUID, str]]:
    """What was said about a job and its visits, and what happened to it, where the text stands in it: by table and row.

    Said whole it is taken out whole: what stands beside a name may tell as much as the name.
    """
    found = {}
    for table, column, _ in _TEXTS:
        query = select(table.c.id, table.c[column].label("said")).where(_job_of(table) == job_id)
        found[table.name] = {row.id: row.said for row in tx.run(query.where(_any(table, (column,), text)))}
    return found


def take_out_texts(tx: Tx, job_id: UUID, ids: Mapping[str, Sequence[UUID]]) -> None:
    for table, column, instead in _TEXTS:
        rows = [{"b_job": job_id, "b_id": identifier} for identifier in ids.get(table.name, ())]
        mine = (_job_of(table) == bindparam("b_job")) & (table.c.id == bindparam("b_id"))
        tx.run_many(update(table).where(mine).values({column: instead}), rows)


def _job_of(table: Table) -> ColumnElement[UUID]:
    return table.c.id if table is t.jobs else table.c.job_id


def forgot_at(tx: Tx, job_id: UUID) -> list[datetime]:
    """When something of a job was forgotten, each time."""
    query = select(t.events.c.at).where(t.events.c.job_id == job_id, t.events.c.kind == "job.forgot")
    return list(tx.run(query.order_by(t.events.c.id)).scalars())


def drop_robots(tx: Tx, origins: Sequence[str]) -> int:
    """Answers kept for other jobs; how many there were."""
    return tx.run(delete(t.robots).where(t.robots.c.origin.in_(origins))).rowcount


def robots_naming(tx: Tx, text: str) -> list[str]:
    return list(tx.run(select(t.robots.c.origin).where(_any(t.robots, ("origin",), text))).scalars())


def _any(table: Table, columns: Sequence[str], text: str) -> ColumnElement[bool]:
    first, *others = (table.c[name].icontains(text, autoescape=True) for name in columns)
    for other in others:
        first |= other
    return first
