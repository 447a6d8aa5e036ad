"""Retention: hide, archive and delete results a few rows at a time, or rewrite them without a name.

An archived job can change its state no more, so it is archived before the first row is deleted: a job that
is half deleted cannot be resumed. As long as its `hidden_at` is set, there are rows left to delete.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Table, Text, bindparam, cast, delete, exists, func, select, tuple_, update

from gossamer.db import tables as t
from gossamer.db.tables import budgets, charges, deliveries, estimates
from gossamer.db.transactions import Tx
from gossamer.model.states import JobState, PageState, VisitState
from gossamer.model.webhook import DeliveryState
from gossamer.store import events, exports, jobs
from gossamer.store.visit_transitions import FREED, Moving, moving, tell

_ENDED = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED)
_RESTING = (*_ENDED, JobState.PAUSED)


@dataclass(frozen=True, slots=True)
class KeptJob:
    """A job with results, or with rows left of them."""

    id: UUID
    name: str
    recipe: str
    state: JobState
    since: datetime  # its completion, else its last activity
    hidden_at: datetime | None
    records: int


def kept_jobs(tx: Tx, *, created_before: datetime | None = None, archived_too: Sequence[str] = ()) -> list[KeptJob]:
    """Return jobs that have ended or are paused, oldest first, and all that are hidden or partly deleted.

    `created_before` leaves out younger ones that are not hidden. For recipes in `archived_too`, archived jobs
    of which only the job's own row is left are included.
    """
    wanted: ColumnElement[bool] = t.jobs.c.state.in_(_RESTING)
    if archived_too:
        wanted |= (t.jobs.c.state == JobState.ARCHIVED) & t.jobs.c.recipe.in_(archived_too)
    if created_before:
        wanted &= t.jobs.c.created_at <= created_before
    return _kept(tx, (wanted & ~_IS_COMPARED_WITH) | t.jobs.c.hidden_at.is_not(None))


_others = t.jobs.alias()
_UNFINISHED = (JobState.PENDING, JobState.RUNNING, JobState.PAUSING, JobState.PAUSED)
_IS_COMPARED_WITH = exists().where(
    t.conclusions.c.baseline_id == t.jobs.c.id,
    _others.c.id == t.conclusions.c.job_id,
    _others.c.state.in_(_UNFINISHED),
)
"""Condition that an unfinished job is compared with this one."""


def kept_job(tx: Tx, job_id: UUID) -> KeptJob | None:
    return next(iter(_kept(tx, t.jobs.c.id == job_id)), None)


def _kept(tx: Tx, which: ColumnElement[bool]) -> list[KeptJob]:
    sums = (
        select(
            t.counters.c.job_id,
            func.max(t.counters.c.last_at).label("last_at"),
            func.sum(t.counters.c.records).label("records"),
        )
        .group_by(t.counters.c.job_id)
        .subquery()
    )
    query = (
        select(t.jobs, sums.c.last_at, sums.c.records)
        .join(sums, sums.c.job_id == t.jobs.c.id)
        .where(which)
        .order_by(t.jobs.c.id)
    )
    return [
        KeptJob(row.id, row.name, row.recipe, JobState(row.state), _since(row), row.hidden_at, int(row.records))
        for row in tx.run(query)
    ]


def _since(row: Any) -> datetime:
    completed = row.finished_at if row.state == JobState.COMPLETED else None
    since: datetime = completed or row.last_at or row.started_at or row.created_at
    return since


def hide(tx: Tx, job: KeptJob, at: datetime, why: str) -> bool:
    """Hide a job's results. A paused job is cancelled, so that its results have an end as well."""
    if job.state is JobState.PAUSED and not jobs.move(tx, job.id, JobState.CANCELLED, why, who="retention"):
        return False
    ended = (t.jobs.c.id == job.id) & t.jobs.c.state.in_(_ENDED) & t.jobs.c.hidden_at.is_(None)
    if not tx.run(update(t.jobs).where(ended).values(hidden_at=at)).rowcount:
        return False
    exports.expire_of_job(tx, job.id)
    events.add(tx, job.id, "job.hidden", why, who="retention")
    return True


def show(tx: Tx, job: KeptJob) -> bool:
    """Show hidden results again, after a resume or a change of the retention period."""
    hidden = (t.jobs.c.id == job.id) & (t.jobs.c.state != JobState.ARCHIVED) & t.jobs.c.hidden_at.is_not(None)
    if not tx.run(update(t.jobs).where(hidden).values(hidden_at=None)).rowcount:
        return False
    events.add(tx, job.id, "job.shown", who="retention")
    return True


def archive(tx: Tx, job_id: UUID, at: datetime, why: str, who: str) -> bool:
    """Archive a job, after which its rows are deleted: there is no way back.

    Refused unless the job has ended or is paused.
    """
    let_go(tx, job_id)
    state = jobs.states(tx, [job_id]).get(job_id)
    if state in (JobState.PENDING, JobState.PAUSED):
        jobs.move(tx, job_id, JobState.CANCELLED, why, who=who)
    if not jobs.move(tx, job_id, JobState.ARCHIVED, why, who=who):
        return False
    tx.run(update(t.jobs).where(t.jobs.c.id == job_id).values(hidden_at=at))
    exports.expire_of_job(tx, job_id)
    jobs.drop_provider_keys(tx, job_id)
    about = (t.alerts.c.job_id == job_id) & t.alerts.c.cleared_at.is_(None)
    tx.run(update(t.alerts).where(about).values(cleared_at=tx.now, holds=None))
    return True


def let_go(tx: Tx, job_id: UUID) -> None:
    """Take the running visits of a stopped job away from their workers, which can write nothing more."""
    in_hand = t.visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING))
    resting = t.visits.c.job_id.in_(select(t.jobs.c.id).where(t.jobs.c.id == job_id, t.jobs.c.state.in_(_RESTING)))
    lost = Moving.read(tx, tx.locked(moving(t.visits.c.job_id == job_id, resting, in_hand)))
    if lost:
        free = update(t.visits).where(t.visits.c.id.in_([one.id for one in lost]))
        tx.run(free.values(**FREED, state=VisitState.READY))
        tell(tx, VisitState.READY, lost, "its job is at rest")


def purge_step(tx: Tx, job_id: UUID, most: int, *, whole: bool = False) -> int:
    """Delete up to `most` rows of an archived job; return their number. The row of the job itself is kept.

    With `whole` it is deleted at last; the expenses and the usage of the account stay.
    """
    if jobs.states(tx, [job_id]).get(job_id) is not JobState.ARCHIVED:
        return 0
    for table in (
        t.records,
        t.pages,
        charges,
        t.events,
        t.minutes,
        t.checkpoints,
        t.visits,
        t.sites,
        t.exports,
        deliveries,
    ):
        gone = _delete(tx, table, job_id, most, whole=whole)
        if gone:
            return gone
    if whole:
        return _erase(tx, job_id)
    emptied = _empty_sites(tx, job_id, most)
    if not emptied:
        tx.run(update(t.jobs).where(t.jobs.c.id == job_id).values(hidden_at=None))
    return emptied


def deleted_at(tx: Tx, job_id: UUID) -> datetime | None:
    """Return when a job's results were deleted (event `job.archived`)."""
    query = select(t.events.c.at).where(t.events.c.job_id == job_id, t.events.c.kind == "job.archived")
    at: datetime | None = tx.run(query.limit(1)).scalar()
    return at


def _erase(tx: Tx, job_id: UUID) -> int:
    """Delete the job itself; return the number of rows. 0 while it has files, whose rows are needed to delete them."""
    if tx.run(select(t.exports.c.id).where(t.exports.c.job_id == job_id).limit(1)).first():
        return 0
    for table in (t.counters, t.alerts, estimates, budgets):
        tx.run(delete(table).where(table.c.job_id == job_id))
    return tx.run(delete(t.jobs).where(t.jobs.c.id == job_id)).rowcount


def _delete(tx: Tx, table: Table, job_id: UUID, most: int, *, whole: bool) -> int:
    wanted = table.c.job_id == job_id
    if table is t.events and not whole:
        wanted &= table.c.site_id.is_not(None) | table.c.visit_id.is_not(None)  # events of the job itself stay
    if table is t.exports:
        wanted &= table.c.blob_key.is_(None)  # the others are deleted with their files
    if table is deliveries:
        wanted &= table.c.state != DeliveryState.PENDING  # waiting messages stay
    if table is t.sites and not whole:
        wanted &= ~table.c.listed | table.c.step.is_not(None)  # listed sites stay
    key = list(table.primary_key)
    some = select(*key).where(wanted).limit(most)
    return tx.run(delete(table).where(table.c.job_id == job_id, tuple_(*key).in_(some))).rowcount


_EMPTY: dict[str, Any] = {"robots": {}, "errands": [], "notes": b""}


def _empty_sites(tx: Tx, job_id: UUID, most: int) -> int:
    """Delete the crawl data of a listed site; its entry and its outcome are kept."""
    # Postgres compares JSON as text only.
    packed = (cast(t.sites.c.errands, Text) != "[]") | (cast(t.sites.c.robots, Text) != "{}")
    filled = (t.sites.c.notes != b"") | packed
    some = select(t.sites.c.id).where(t.sites.c.job_id == job_id, filled).limit(most)
    return tx.run(update(t.sites).where(t.sites.c.id.in_(some)).values(**_EMPTY)).rowcount


_UNTIL = b"\xff" * 16


@dataclass(frozen=True, slots=True)
class NamingPage:
    """A page with all columns that may contain a URL."""

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
    carry: Mapping[str, Any] | None = None
    request: bytes | None = None


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
    """Return pages of a job that contain the text, ordered by key, up to `limit` per call."""
    named = _any(t.pages, ("url", "found_on", "detail"), text)
    # Requested pages are always returned: the caller searches their carried facts and request data.
    named |= t.pages.c.request.is_not(None)
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
        row.carry,
        bytes(row.request) if row.request is not None else None,
    )


def kinds_of(tx: Tx, job_id: UUID) -> list[str]:
    """Return the kinds of records that a job has, by index steps, since there may be a million records."""
    found: list[str] = []
    while True:
        more = (t.records.c.job_id == job_id) & (t.records.c.kind > (found[-1] if found else ""))
        kind: str | None = tx.run(select(func.min(t.records.c.kind)).where(more)).scalar()
        if kind is None:
            return found
        found.append(kind)


def records_naming(tx: Tx, job_id: UUID, kind: str, text: str, after: bytes, limit: int) -> list[NamingRecord]:
    """Return records of a kind that contain the text, ordered by key, up to `limit` per call."""
    named = cast(t.records.c.data, Text).icontains(text, autoescape=True)
    mine = (t.records.c.job_id == job_id) & (t.records.c.kind == kind) & (t.records.c.key > after)
    query = select(t.records).where(mine, named).order_by(t.records.c.key).limit(limit)
    return [NamingRecord(row.kind, bytes(row.key), bytes(row.page_key), row.data) for row in tx.run(query)]


def sites_naming(tx: Tx, job_id: UUID, text: str) -> list[NamingSite]:
    """Return sites with the text in their host, origin or detail."""
    query = select(t.sites).where(t.sites.c.job_id == job_id, _any(t.sites, ("host", "given", "detail"), text))
    return [
        NamingSite(
            row.id,
            row.host,
            row.given,
            row.listed and row.step is None,
            row.whole,
            row.detail,
            row.robots,
            bytes(row.notes),
            row.errands,
        )
        for row in tx.run(query.order_by(t.sites.c.id))
    ]


_CHANGED = ("url", "state", "reason", "detail", "found_on", "links", "carry", "request")
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
    """Delete the tries of an erased page and its next retry.

    They cannot be checked against robots.txt any more.
    """
    wanted = (t.pages.c.job_id == job_id) & t.pages.c.key.in_(keys)
    tx.run(update(t.pages).where(wanted).values(attempts=[], due_at=None))


def delete_records(tx: Tx, job_id: UUID, kinds: Sequence[str], page_keys: Sequence[bytes]) -> int:
    """Delete all records of these pages; return their number. Records are ordered by site."""
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


# Replacement in alerts and job reasons, which must not be empty.
_TAKEN_OUT = "What was said here was forgotten."
_TEXTS = (
    (t.visits, "last_error", ""),
    (t.events, "why", ""),
    (t.alerts, "sentence", _TAKEN_OUT),
    (t.jobs, "reason", _TAKEN_OUT),
    (deliveries, "body", '{"forgotten":true}'),
)


def texts_naming(tx: Tx, job_id: UUID, text: str) -> dict[str, dict[UUID, str]]:
    """Return the texts about a job, its visits and its history that contain the text: by table and row.

    Such a text is deleted entirely: the words next to a name may reveal as much as the name.
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


def drop_robots(tx: Tx, origins: Sequence[str]) -> int:
    """Delete shared robots.txt answers; return their number."""
    return tx.run(delete(t.robots).where(t.robots.c.origin.in_(origins))).rowcount


def robots_naming(tx: Tx, text: str) -> list[str]:
    return list(tx.run(select(t.robots.c.origin).where(_any(t.robots, ("origin",), text))).scalars())


def _any(table: Table, columns: Sequence[str], text: str) -> ColumnElement[bool]:
    first, *others = (table.c[name].icontains(text, autoescape=True) for name in columns)
    for other in others:
        first |= other
    return first
