"""What the audit asks of the rows: sums, and the first few rows that should not be. Records: store/audit_records.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    Column,
    ColumnElement,
    CompoundSelect,
    Select,
    Table,
    bindparam,
    case,
    func,
    literal,
    literal_column,
    select,
    text,
)
from sqlalchemy import union_all as together

from gossamer.model.checkpoint import Checkpoint
from gossamer.model.fetching import HOME_LANE
from gossamer.model.job import Progress
from gossamer.model.states import JobState, PageState, SiteState, VisitState
from gossamer.store import audit_money, checkpoints, counters
from gossamer.store.audit_money import MoneyTally
from gossamer.store.tables import jobs, pages, sites, visits
from gossamer.store.tx import Tx

FEW = 3

JOB = bindparam("job", type_=jobs.c.id.type)
_JOB_ROW = select(jobs.c.state, jobs.c.hidden_at, jobs.c.params).where(jobs.c.id == JOB)
ONE: ColumnElement[Any] = literal_column("1")
_ZERO: ColumnElement[Any] = literal_column("0")
_IN_HAND = visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING))
_TO_WALK = visits.c.state.in_((VisitState.READY, VisitState.ISSUED, VisitState.RUNNING))
# How the visit to a site that has ended must have ended itself. In other lanes it only did what it was given.
_FITS = case(
    (visits.c.lane != HOME_LANE, visits.c.state.in_((VisitState.DONE, VisitState.DEAD))),
    (sites.c.state == SiteState.FAILED, visits.c.state.in_((VisitState.FAILED, VisitState.DEAD))),
    else_=visits.c.state == VisitState.DONE,
)


@dataclass(frozen=True, slots=True)
class Offenders:
    """Rows that should not be as they are: how many, and where the first few of them are."""

    total: int = 0
    some: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """What the rows of a job add up to, beside what its counters say."""

    state: JobState
    pages: Mapping[str, int]  # by state
    bytes_in: int
    sites: Mapping[str, int]  # the listed ones, by state
    visits: Mapping[str, int]
    counted: Progress
    checkpoint: Checkpoint | None
    is_hidden: bool  # of an archived job: its rows are being deleted
    offenders: Mapping[str, Offenders]
    records: int = 0
    money: MoneyTally = MoneyTally()
    lines_skipped: int = 0  # of the lists the job was given


def tally(tx: Tx, job_id: UUID) -> Tally | None:
    """Everything but its records, of which there may be as many as pages; None if there is no such job."""
    take_room(tx)
    job = tx.run(_JOB_ROW, {"job": job_id}).first()
    if job is None:
        return None
    by_state, bytes_in, offenders = _of_pages(tx, job_id)
    return Tally(
        state=JobState(job.state),
        pages=by_state,
        bytes_in=bytes_in,
        sites=_counted(tx, job_id, _SITES_BY_STATE),
        visits=_counted(tx, job_id, _VISITS_BY_STATE),
        counted=counters.progress(tx, job_id),
        checkpoint=checkpoints.last(tx, job_id),
        is_hidden=job.hidden_at is not None,
        offenders={**offenders, **_elsewhere(tx, job_id, JobState(job.state))},
        money=audit_money.of_job(tx, job_id),
        lines_skipped=int(job.params.get("lines_skipped", 0)),
    )


def take_room(tx: Tx) -> None:
    """A million rows are sorted and joined: a server does it in memory only if it is told that it may."""
    if tx.dialect.row_locks:
        tx.run(text("SET LOCAL work_mem = '64MB'"))


def _of_pages(tx: Tx, job_id: UUID) -> tuple[dict[str, int], int, dict[str, Offenders]]:
    """Everything that has to do with pages."""
    kinds, query = _about_pages()
    rows = tx.rows(query, {"job": job_id})
    totals = [row for row in rows if not row.what]
    return (
        {row.name: int(row.total) for row in totals},
        sum(int(row.bytes_in) for row in totals),
        {what: offenders_of([row for row in rows if row.what == what]) for what in kinds},
    )


# Questions are put together once: for a job of one page that would take longer than to answer them.
@cache
def _about_pages() -> tuple[tuple[str, ...], CompoundSelect[Any]]:
    """Everything by reading them once: there may be a million."""
    held = (
        select(
            pages.c.site_id,
            pages.c.visit_id,
            pages.c.state,
            func.count().label("pages"),
            func.sum(pages.c.bytes_in).label("bytes_in"),
            func.count(pages.c.identity).label("identified"),
        )
        .where(pages.c.job_id == JOB)
        .group_by(pages.c.site_id, pages.c.visit_id, pages.c.state)
        .cte("held")
    )
    sums = select(
        literal("").label("what"),
        held.c.state.label("name"),
        func.sum(held.c.pages).label("total"),
        func.sum(held.c.bytes_in).label("bytes_in"),
    ).group_by(held.c.state)
    waiting, read = held.c.state == PageState.PENDING, held.c.state == PageState.DONE
    ended_site = held.join(sites, sites.c.id == held.c.site_id)
    ended_visit = held.join(visits, visits.c.id == held.c.visit_id).join(sites, sites.c.id == visits.c.site_id)
    wrong = {
        "stray pages": _strays(held),
        "open pages of sites": _unequal(held, waiting, held.c.site_id, sites.c.open_pages),
        "open pages of visits": _unequal(held, waiting, held.c.visit_id, visits.c.open_pages),
        "pages read of sites": _unequal(held, read, held.c.site_id, sites.c.pages_done),
        "pages without identity": named(sites.c.host, held.c.pages - held.c.identified)
        .select_from(ended_site)
        .where(read, held.c.identified < held.c.pages),
        "pages of ended sites": named(sites.c.host, held.c.pages)
        .select_from(ended_site)
        .where(waiting, sites.c.state != SiteState.OPEN),
        "pages of ended visits": named(sites.c.host, held.c.pages).select_from(ended_visit).where(waiting, ~_TO_WALK),
    }
    found = [few(what, query).add_columns(_ZERO.label("bytes_in")).subquery() for what, query in wrong.items()]
    return tuple(wrong), together(sums, *(select(one) for one in found))


def _strays(held: CTE) -> Select[Any]:
    """Pages whose site or visit is not of this job, or whose visit is not of that site."""
    placed = held.outerjoin(sites, (sites.c.id == held.c.site_id) & (sites.c.job_id == JOB)).outerjoin(
        visits, (visits.c.id == held.c.visit_id) & (visits.c.job_id == JOB) & (visits.c.site_id == held.c.site_id)
    )
    host = func.coalesce(sites.c.host, "no domain of this job")
    return named(host, held.c.pages).select_from(placed).where(sites.c.id.is_(None) | visits.c.id.is_(None))


def _unequal(held: CTE, which: ColumnElement[bool], owner: ColumnElement[UUID], number: Column[int]) -> Select[Any]:
    """Sites or visits whose own number of certain pages is not how many of these there are."""
    kept = number.table
    both = together(
        select(owner.label("id"), held.c.pages.label("there"), _ZERO.label("kept")).where(which),
        select(kept.c.id, _ZERO, number).where(kept.c.job_id == JOB),
    ).subquery()
    wrong = select(both.c.id).group_by(both.c.id).having(func.sum(both.c.there) != func.sum(both.c.kept)).subquery()
    found = wrong.join(kept, kept.c.id == wrong.c.id)
    if kept is not sites:
        found = found.join(sites, sites.c.id == kept.c.site_id)
    return named(sites.c.host).select_from(found)


def _elsewhere(tx: Tx, job_id: UUID, state: JobState) -> dict[str, Offenders]:
    """What can be seen without the pages, and which of them are double."""
    # Who was walking when a job was cancelled, or failed, has a few seconds to hand back.
    kinds, query = _about_others(over_by_force=state in (JobState.CANCELLED, JobState.FAILED))
    rows = tx.rows(query, {"job": job_id, "now": tx.now})
    return {what: offenders_of([row for row in rows if row.what == what]) for what in kinds}


@cache
def _about_others(*, over_by_force: bool) -> tuple[tuple[str, ...], CompoundSelect[Any]]:
    homeless = visits.outerjoin(sites, (sites.c.id == visits.c.site_id) & (sites.c.job_id == JOB))
    mine = visits.join(sites, sites.c.id == visits.c.site_id)
    ended = (visits.c.job_id == JOB) & (sites.c.state != SiteState.OPEN)
    walked = select(ONE).where(visits.c.site_id == sites.c.id, _TO_WALK).exists()
    open_site = (sites.c.job_id == JOB) & (sites.c.state == SiteState.OPEN)
    now = bindparam("now", type_=visits.c.lease_until.type)
    left = _IN_HAND & (visits.c.lease_until < now) if over_by_force else _IN_HAND
    wrong = {
        "stray visits": named(visits.c.domain)
        .select_from(homeless)
        .where(visits.c.job_id == JOB, sites.c.id.is_(None)),
        "stuck sites": named(sites.c.host).where(open_site, ~walked),
        "open sites": named(sites.c.host).where(open_site),
        "visits to walk": named(sites.c.host).select_from(mine).where(visits.c.job_id == JOB, _TO_WALK),
        "visits in hand": named(sites.c.host).select_from(mine).where(visits.c.job_id == JOB, left),
        "visits to ended sites": named(sites.c.host).select_from(mine).where(ended, _TO_WALK),
        "unfit visits": named(sites.c.host).select_from(mine).where(ended, ~_TO_WALK, ~_FITS),
        "double pages": named(pages.c.url, func.count() - 1)
        .where(pages.c.job_id == JOB)
        .group_by(pages.c.url)
        .having(func.count() > 1),
    }
    return tuple(wrong), together(*(select(few(what, query).subquery()) for what, query in wrong.items()))


def named(name: ColumnElement[Any], weight: ColumnElement[Any] = ONE) -> Select[Any]:
    return select(name.label("name"), weight.label("weight"))


def few(what: str, query: Select[Any]) -> Select[Any]:
    """The first few of what a query finds, each with how many there are."""
    found = query.subquery()
    # Where rows are damaged, what they are called by may be missing too.
    name: ColumnElement[Any] = func.coalesce(found.c.name, "?").label("name")
    return select(literal(what).label("what"), name, func.sum(found.c.weight).over().label("total")).limit(FEW)


def offenders_of(rows: Sequence[Any]) -> Offenders:
    return Offenders(int(rows[0].total), tuple(row.name for row in rows)) if rows else Offenders()


def _counted(tx: Tx, job_id: UUID, query: Select[Any]) -> dict[str, int]:
    return {row.state: int(row.rows) for row in tx.rows(query, {"job": job_id})}


def _by_state(table: Table, *conditions: ColumnElement[bool]) -> Select[Any]:
    query = select(table.c.state, func.count().label("rows")).where(table.c.job_id == JOB, *conditions)
    return query.group_by(table.c.state)


_SITES_BY_STATE, _VISITS_BY_STATE = _by_state(sites, sites.c.listed), _by_state(visits)
