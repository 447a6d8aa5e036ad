"""Sites: one host of a job with its `www` twin."""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Text, bindparam, case, cast, exists, func, insert, literal_column, select, update

from gossamer.db.bulk import BulkQuery, BulkStatement, KeyQuery, in_order
from gossamer.db.tables import jobs, pages, sites, visits
from gossamer.db.transactions import Tx
from gossamer.model.ids import new_id
from gossamer.model.job import Target
from gossamer.model.rungs import HOME_LANE
from gossamer.model.states import SITE_MOVES, JobState, SiteState, VisitState, origins
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import domain_of, shard_of
from gossamer.store import events
from gossamer.store.events import Event

LISTED = "list"
"""The size source of a site whose pages were listed by the user."""


@dataclass(frozen=True, slots=True)
class SiteRow:
    """A locked site, as settling needs it."""

    id: UUID
    state: SiteState
    listed: bool
    whole: bool


@dataclass(slots=True)
class SiteChange:
    """Changes of one site in a batch. None leaves a column unchanged."""

    open_pages: int = 0
    pages_done: int = 0
    size: int | None = None
    size_source: str | None = None
    errands: Sequence[Any] | None = None
    not_before: datetime | None = None
    robots: Mapping[str, Any] | None = None
    notes: bytes | None = None
    attempted: bool = False


@dataclass(frozen=True, slots=True)
class SiteSummary:
    """A site for display."""

    host: str
    state: SiteState
    trouble: Trouble | None
    pages_done: int
    size: int
    size_source: str
    retries: int
    last_attempt_at: datetime | None


# Values that are the same for every new row are part of the statement: tens of thousands are created at once.
_CREATE_SITE = insert(sites).values(
    state=literal_column(f"'{SiteState.OPEN}'"),
    reason=literal_column("''"),
    detail=literal_column("''"),
    pages_done=literal_column("0"),
    retries=literal_column("0"),
    robots=literal_column("'{}'"),
    **{
        name: bindparam(name)
        for name in ("id", "job_id", "host", "domain", "given", "entries", "listed", "whole", "notes")
    },
    **{name: bindparam(name) for name in ("open_pages", "size", "size_source")},
)
_CREATE_VISIT = insert(visits).values(
    lane=literal_column(f"'{HOME_LANE}'"),
    state=literal_column(f"'{VisitState.READY}'"),
    deaths=literal_column("0"),
    walked_ms=literal_column("0"),
    last_error=literal_column("''"),
    **{name: bindparam(name) for name in ("id", "job_id", "site_id", "domain", "shard", "due_at", "open_pages")},
)


def create_many(
    tx: Tx, job_id: UUID, targets: Iterable[Target], *, listed: bool = True, whole: bool = True
) -> list[tuple[UUID, UUID]]:
    """Create sites with one ready `http` visit each; return the ids of both, in the order of the targets.

    Given pages are included in the counts: see store/given_pages.py.
    """
    site_rows, visit_rows, created = [], [], list[tuple[UUID, UUID]]()
    for target in targets:
        site_id, visit_id, domain = new_id(tx.now), new_id(tx.now), domain_of(target.host)
        created.append((site_id, visit_id))
        site_rows.append(
            {
                "id": site_id,
                "job_id": job_id,
                "host": target.host,
                "domain": domain,
                "given": target.given,
                "entries": list(target.entries),
                "listed": listed,
                "whole": whole and not target.pages,
                "notes": b"",
                "open_pages": len(target.pages),
                "size": len(target.pages),
                "size_source": LISTED if target.pages else "",
            }
        )
        visit_rows.append(
            {
                "id": visit_id,
                "job_id": job_id,
                "site_id": site_id,
                "domain": domain,
                "shard": shard_of(domain),
                "due_at": tx.now,
                "open_pages": len(target.pages),
            }
        )
    tx.run_many(_CREATE_SITE, site_rows)
    tx.run_many(_CREATE_VISIT, visit_rows)
    return created


_BY_HOST = KeyQuery(sites, [sites.c.host, sites.c.id], ["job_id"], by=sites.c.host)


def by_host(tx: Tx, job_id: UUID, hosts: Sequence[str]) -> dict[str, UUID]:
    return dict(_BY_HOST.rows(tx, {"job_id": job_id}, hosts)) if hosts else {}


_LOCK = BulkQuery(
    select(sites.c.id, sites.c.state, sites.c.listed, sites.c.whole)
    .where(sites.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(sites.c.id)
)


def lock(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, SiteRow]:
    """Lock and return these sites until commit, in the common lock order."""
    rows = _LOCK.rows(tx, {"ids": list(ids)})
    return {site_id: SiteRow(site_id, SiteState(state), listed, whole) for site_id, state, listed, whole in rows}


def _kept(column: str) -> Any:
    """Return the new value, or the stored one for None."""
    return func.coalesce(bindparam(f"b_{column}", type_=sites.c[column].type), sites.c[column])


_REPLACED = ("size", "size_source", "not_before", "robots", "errands", "notes", "last_attempt_at")
_APPLY = BulkStatement(
    update(sites)
    .where(sites.c.id == bindparam("b_id"))
    .values(
        open_pages=sites.c.open_pages + bindparam("b_open"),
        pages_done=sites.c.pages_done + bindparam("b_done"),
        **{name: _kept(name) for name in _REPLACED},
    ),
    together=True,
)


def apply(tx: Tx, changes: Mapping[UUID, SiteChange]) -> None:
    """Write a batch's changes, one statement per site."""
    _APPLY.run(
        tx,
        [
            {
                "b_id": site_id,
                "b_open": change.open_pages,
                "b_done": change.pages_done,
                "b_size": change.size,
                "b_size_source": change.size_source,
                "b_errands": change.errands,
                "b_not_before": change.not_before,
                "b_robots": change.robots,
                "b_notes": change.notes,
                "b_last_attempt_at": tx.now if change.attempted else None,
            }
            for site_id, change in in_order(changes)
        ],
    )


def summaries(
    tx: Tx,
    job_id: UUID,
    state: SiteState | None = None,
    *,
    reasons: Sequence[Reason] = (),
    after: str = "",
    limit: int = 1000,
) -> list[SiteSummary]:
    """Return listed sites, sorted by host, up to `limit`; optionally only those with one of these reasons."""
    wanted = (sites.c.job_id == job_id) & (sites.c.host > after) & sites.c.listed
    query = select(sites).where(wanted).order_by(sites.c.host).limit(limit)
    if state:
        query = query.where(sites.c.state == state)
    if reasons:
        query = query.where(sites.c.reason.in_([reason.name for reason in reasons]))
    return [
        SiteSummary(
            row.host,
            SiteState(row.state),
            Trouble(Reason[row.reason], row.detail, row.http_status) if row.reason else None,
            row.pages_done,
            row.size,
            row.size_source,
            row.retries,
            row.last_attempt_at,
        )
        for row in tx.run(query)
    ]


class GivenSite(NamedTuple):
    """A site as the user listed it."""

    id: UUID
    host: str
    given: str
    entries: tuple[str, ...]


def given(tx: Tx, job_id: UUID) -> list[GivenSite]:
    """Return the sites of a job as listed by the user, without those that its recipe opened."""
    columns = (sites.c.id, sites.c.host, sites.c.given, sites.c.entries)
    listed = (sites.c.job_id == job_id) & sites.c.listed & sites.c.step.is_(None)
    query = select(*columns).where(listed).order_by(sites.c.id)
    return [GivenSite(row.id, row.host, row.given, tuple(row.entries)) for row in tx.run(query)]


def given_pages(tx: Tx, job_id: UUID) -> dict[UUID, list[str]]:
    """Return the listed pages of a job by site, in their order, without other spellings that were tried."""
    columns = (pages.c.site_id, pages.c.url)
    listed = (pages.c.job_id == job_id) & (pages.c.handed == 0) & (pages.c.found_on == "") & (pages.c.depth == 0)
    found: dict[UUID, list[str]] = {}
    for row in tx.run(select(*columns).where(listed).order_by(pages.c.rank, pages.c.key)):
        found.setdefault(row.site_id, []).append(row.url)
    return found


class OpenSite(NamedTuple):
    """Remaining work of an open site, as far as its row shows."""

    domain: str
    pages_done: int
    open_pages: int
    size: int
    size_source: str
    robots: str | None  # its stored robots.txt files, if they contain a delay


_ROBOTS = cast(sites.c.robots, Text)
_OPEN = BulkQuery(
    select(
        *(sites.c.domain, sites.c.pages_done, sites.c.open_pages, sites.c.size, sites.c.size_source),
        case((func.lower(_ROBOTS).like("%delay%"), _ROBOTS), else_=None).label("robots"),
    ).where(sites.c.job_id == bindparam("job"), sites.c.state == SiteState.OPEN)
)


def open_of_job(tx: Tx, job_id: UUID) -> list[OpenSite]:
    """Return all open sites of a job; this may be many rows, so it is for occasional estimates only."""
    return [OpenSite(*row) for row in _OPEN.rows(tx, {"job": job_id}, hold=False)]


def endings(tx: Tx, job_id: UUID) -> list[tuple[str, SiteState, Reason | None]]:
    """Return the outcome of every site the user listed: its host, its state and the reason of its failure."""
    query = select(sites.c.host, sites.c.state, sites.c.reason).where(sites.c.job_id == job_id, sites.c.listed)
    return [(row.host, SiteState(row.state), Reason[row.reason] if row.reason else None) for row in tx.run(query)]


def failed_hosts(tx: Tx, job_id: UUID, limit: int) -> list[tuple[str, Reason | None]]:
    """Listed sites that failed and why, in alphabetical order."""
    query = (
        select(sites.c.host, sites.c.reason)
        .where(sites.c.job_id == job_id, sites.c.state == SiteState.FAILED, sites.c.listed)
        .order_by(sites.c.host)
        .limit(limit)
    )
    return [(row.host, Reason[row.reason] if row.reason else None) for row in tx.run(query)]


def failure_reasons(tx: Tx, job_id: UUID) -> list[tuple[Reason, int]]:
    """Return the reasons for failures of listed sites, most frequent first."""
    failed = (sites.c.job_id == job_id) & (sites.c.state == SiteState.FAILED) & sites.c.listed & (sites.c.reason != "")
    count = func.count().label("failed")
    query = select(sites.c.reason, count).where(failed).group_by(sites.c.reason).order_by(count.desc(), sites.c.reason)
    return [(Reason[row.reason], int(row.failed)) for row in tx.run(query)]


def hosts(tx: Tx, job_id: UUID, after: str, limit: int) -> list[tuple[str, UUID]]:
    """Return hosts with their ids, in alphabetical order, in steps."""
    query = (
        select(sites.c.host, sites.c.id)
        .where(sites.c.job_id == job_id, sites.c.host > after)
        .order_by(sites.c.host)
        .limit(limit)
    )
    return [(row.host, row.id) for row in tx.run(query)]


_RUNNING = select(jobs.c.id).where(jobs.c.state == JobState.RUNNING)
_THAT_WAITS = (
    select(sites.c.entries)
    .join(visits, visits.c.site_id == sites.c.id)
    .where(visits.c.job_id == bindparam("job"), visits.c.state == VisitState.READY)
    .limit(1)
)


def that_wait(tx: Tx, most: int) -> list[str]:
    """Return entry URLs of waiting sites: one per running job, for up to `most` random jobs."""
    running = list(tx.run(_RUNNING).scalars())
    some = random.sample(running, min(most, len(running)))
    entries = (tx.run(_THAT_WAITS, {"job": job_id}).scalar() for job_id in some)
    return [random.choice(one) for one in entries if one]


class SiteEnding(NamedTuple):
    """The outcome of a site."""

    id: UUID
    state: SiteState
    reason: str = ""
    detail: str = ""
    http_status: int | None = None
    retries: int = 0


# A visit in another lane may have no pages left without having ended: it ends first.
_WALKED = exists().where(
    visits.c.site_id == sites.c.id,
    visits.c.state.in_((VisitState.READY, VisitState.ISSUED, VisitState.RUNNING)),
)
_CLOSABLE = select(sites.c.id).where(
    sites.c.id.in_(bindparam("ids", expanding=True)),
    sites.c.state == SiteState.OPEN,
    sites.c.open_pages == 0,
    ~_WALKED,
)
_CLOSE_SITE = BulkStatement(
    update(sites)
    .where(sites.c.id == bindparam("b_id"), sites.c.state == bindparam("b_open"))
    .values(
        **{
            name: bindparam(f"b_{name}", type_=sites.c[name].type)
            for name in ("state", "reason", "detail", "http_status", "retries", "finished_at")
        }
    )
)


def close(tx: Tx, closings: Sequence[SiteEnding]) -> set[UUID]:
    """Close the sites that are open, have no open page, and have no visit left to walk; return their ids."""
    if not closings:
        return set()
    free = set(tx.run(tx.locked(_CLOSABLE), {"ids": sorted(closing.id for closing in closings)}).scalars())
    _CLOSE_SITE.run(
        tx,
        [
            {
                "b_id": closing.id,
                "b_open": SiteState.OPEN,
                "b_state": closing.state,
                "b_reason": closing.reason,
                "b_detail": closing.detail,
                "b_http_status": closing.http_status,
                "b_retries": closing.retries,
                "b_finished_at": tx.now,
            }
            for closing in closings
            if closing.id in free and SiteState.OPEN in origins(SITE_MOVES, closing.state)
        ],
    )
    return free


_CLOSE_AGAIN = (
    update(sites)
    .where(sites.c.id.in_(bindparam("ids", expanding=True)), sites.c.before.is_not(None))
    .values(state=sites.c.before, before=None, finished_at=bindparam("now", type_=sites.c.finished_at.type))
)


def close_again(tx: Tx, ids: Collection[UUID]) -> set[UUID]:
    """Restore the earlier outcome of sites that were open only for pages after the crawl; return the closed ones."""
    if not ids:
        return set()
    free = set(tx.run(tx.locked(_CLOSABLE), {"ids": sorted(ids)}).scalars())
    if free:
        tx.run(_CLOSE_AGAIN, {"ids": sorted(free), "now": tx.now})
    return free


_ANEW = {"reason": "", "detail": "", "http_status": None, "retries": 0, "finished_at": None, "before": None}
# The earlier outcome is kept and restored later.
_FOR_A_MOMENT = {"before": sites.c.state, "finished_at": None}


def reopen(
    tx: Tx,
    ids: Collection[UUID],
    why: str = "a page was handed over to it",
    *,
    who: str = "",
    last: bool = False,
) -> set[UUID]:
    """Reopen sites that have ended, each with an event; other sites are unchanged. Returns the reopened ids.

    `last`: only for pages that are requested after the crawl.
    """
    over = sites.c.id.in_(ids) & sites.c.state.in_(origins(SITE_MOVES, SiteState.OPEN))
    changed = _FOR_A_MOMENT if last else _ANEW
    opened = update(sites).where(over).values(state=SiteState.OPEN, **changed).returning(sites.c.id, sites.c.job_id)
    found = sorted(tx.rows(opened, {})) if ids else []
    events.add_many(tx, [(job_id, Event(tx.now, "site.open", who, why, site_id)) for site_id, job_id in found])
    return {site_id for site_id, _ in found}


def want_whole(tx: Tx, ids: Collection[UUID]) -> None:
    """Crawl whole sites of which only single pages were wanted so far."""
    if ids:
        tx.run(update(sites).where(sites.c.id.in_(ids)).values(whole=True))
