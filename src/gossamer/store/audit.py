"""The audit of a job: sums over its rows, and the first few invalid rows.

A job of one page is checked with a single query instead (`is_whole`). It accepts one case, in which every
check holds: one domain that has ended, its one visit, its one page, at most one record of that page,
counters that match these, and nothing paid. Anything else is left to the audit.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache, reduce
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
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
)
from sqlalchemy import union_all as together

from gossamer.db.tables import (
    PARTS,
    charges,
    checkpoints,
    counters,
    expenses,
    jobs,
    pages,
    records,
    reservations,
    sites,
    visits,
)
from gossamer.db.tables import budgets as budget_rows
from gossamer.db.transactions import Tx
from gossamer.model.ids import short
from gossamer.model.job import Checkpoint, Progress
from gossamer.model.money import NOTHING, Amount, Budget, BudgetKey, Cap, Scope, keys_for, shown
from gossamer.model.record import RecordKind
from gossamer.model.rungs import HOME_LANE
from gossamer.model.states import JobState, PageState, SiteState, VisitState
from gossamer.store import budgets
from gossamer.store import counters as counter_store
from gossamer.store.counters import NAMES, OF_PAGE, OF_SITE

_MoneySums = dict[tuple[UUID, date], Amount]


@dataclass(frozen=True, slots=True)
class MoneyTally:
    """Totals of a job's part of the ledger, and a sentence for each inconsistency."""

    figures: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


def money_of_job(tx: Tx, job_id: UUID) -> MoneyTally:
    """Compare a job's ledger rows with its budget and with the budgets of its days and months."""
    booked, held, kept = (_sums(tx, table, job_id) for table in (charges, reservations, expenses))
    if not booked and not held and not kept:
        return MoneyTally(faults=tuple(_faults(tx, [budgets.job_key(job_id)], {}, {})))
    figures = {
        "charged": _total(booked).credits,
        "reserved": _total(held).credits,
        "spent": budgets.of_job(tx, job_id).spent.credits,
    }
    account = budgets.accounts_of(tx, [job_id])[job_id]
    keys = {key for _, day in (*booked, *held, *kept) for key in keys_for(job_id, day, account)}
    # Other jobs have spent on the same days, so those budgets are compared with the sums over all jobs.
    faults = _faults(tx, sorted(keys, key=lambda key: key.rank), _sums(tx, expenses), _sums(tx, reservations))
    return MoneyTally(figures, (*faults, *_money_unequal(job_id, booked, kept)))


def money_faults(tx: Tx) -> list[str]:
    """Return the inconsistencies of the whole ledger: all budgets, and all jobs' charges."""
    kept, held = _sums(tx, expenses), _sums(tx, reservations)
    keys = [budget.key for budget in budgets.everything(tx)]
    named = {*_by_budget(tx, kept), *_by_budget(tx, held)}
    faults = _faults(tx, sorted({*keys, *named}, key=lambda key: key.rank), kept, held)
    # The charges of an archived job are deleted, its expenses are kept.
    for job_id in tx.run(select(jobs.c.id).where(jobs.c.state != JobState.ARCHIVED).order_by(jobs.c.id)).scalars():
        faults += _money_unequal(job_id, _sums(tx, charges, job_id), _of(kept, job_id))
    return faults


def _faults(tx: Tx, keys: list[BudgetKey], kept: _MoneySums, held: _MoneySums) -> list[str]:
    spent, reserved = _by_budget(tx, kept), _by_budget(tx, held)
    faults = []
    for key in keys:
        budget = budgets.get(tx, key) or Budget(key, Cap())
        faults += _compared(key, "spent", budget.spent, spent[key])
        faults += _compared(key, "reserved", budget.reserved, reserved[key])
        part = budget.cap.crossed(budget.used - budget.excess)
        # The operator's caps may have been lowered since; a job's cap cannot.
        if part and key.scope is Scope.JOB:
            faults.append(f"budget {_name(key)}: above its cap in {part}")
    return faults


def _money_unequal(job_id: UUID, booked: _MoneySums, kept: _MoneySums) -> list[str]:
    one, other = _total(booked), _total(kept)
    if one == other:
        return []
    return [f"charges of job {short(job_id)} come to {_told(one)}, and {_told(other)} are kept as spent"]


def _compared(key: BudgetKey, what: str, said: Amount, found: Amount) -> list[str]:
    if said == found:
        return []
    return [f"budget {_name(key)}: it says {_told(said)} {what}, the rows say {_told(found)}"]


def _name(key: BudgetKey) -> str:
    if key.job_id:
        return f"of job {short(key.job_id)}"
    return f"of the {key.scope}{f' {key.subject}' if key.subject else ''} in {key.period}"


def _told(amount: Amount) -> str:
    return ", ".join(shown(part, getattr(amount, part)) for part in PARTS)


def _by_budget(tx: Tx, sums: _MoneySums) -> dict[BudgetKey, Amount]:
    found: dict[BudgetKey, Amount] = defaultdict(lambda: NOTHING)
    whose = budgets.accounts_of(tx, {job_id for job_id, _ in sums})
    for (job_id, day), amount in sums.items():
        for key in keys_for(job_id, day, whose[job_id]):
            found[key] += amount
    return found


def _sums(tx: Tx, table: Table, job_id: UUID | None = None) -> _MoneySums:
    if job_id is not None:
        return {(job_id, day): amount for day, amount in _amounts(tx.rows(_SUMS_OF_JOB[table.name], {"job": job_id}))}
    query = select(table.c.job_id, table.c.day, *_parts(table)).group_by(table.c.job_id, table.c.day)
    rows: Any = tx.run(query).all()
    return {(row.job_id, day): amount for row, (day, amount) in zip(rows, _amounts(rows), strict=True)}


def _amounts(rows: Iterable[Any]) -> Iterator[tuple[date, Amount]]:
    for row in rows:
        yield date.fromisoformat(row.day), Amount(*(int(getattr(row, part)) for part in PARTS))


def _parts(table: Table) -> list[Any]:
    return [func.sum(table.c[part]).label(part) for part in PARTS]


_SUMS_OF_JOB = {
    table.name: select(table.c.day, *_parts(table))
    .where(table.c.job_id == bindparam("job", type_=table.c.job_id.type))
    .group_by(table.c.day)
    for table in (charges, reservations, expenses)
}


def _of(sums: _MoneySums, job_id: UUID) -> _MoneySums:
    return {key: amount for key, amount in sums.items() if key[0] == job_id}


def _total(sums: _MoneySums) -> Amount:
    return sum(sums.values(), NOTHING)


FEW = 3

JOB = bindparam("job", type_=jobs.c.id.type)
_JOB_ROW = select(jobs.c.state, jobs.c.hidden_at, jobs.c.params).where(jobs.c.id == JOB)
ONE: ColumnElement[Any] = literal_column("1")
_ZERO: ColumnElement[Any] = literal_column("0")
_IN_HAND = visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING))
_TO_WALK = visits.c.state.in_((VisitState.READY, VisitState.ISSUED, VisitState.RUNNING))
# States that a visit of an ended site must have. Visits in other lanes only read the pages they were given.
_FITS = case(
    (visits.c.lane != HOME_LANE, visits.c.state.in_((VisitState.DONE, VisitState.DEAD))),
    (sites.c.state == SiteState.FAILED, visits.c.state.in_((VisitState.FAILED, VisitState.DEAD))),
    else_=visits.c.state == VisitState.DONE,
)


@dataclass(frozen=True, slots=True)
class Offenders:
    """Invalid rows: their number, and the names of the first few."""

    total: int = 0
    some: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """Totals of a job's rows, for comparison with its counters."""

    state: JobState
    pages: Mapping[str, int]  # by state
    bytes_in: int
    sites: Mapping[str, int]  # listed sites, by state
    visits: Mapping[str, int]
    counted: Progress
    checkpoint: Checkpoint | None
    is_hidden: bool  # an archived job whose rows are being deleted
    offenders: Mapping[str, Offenders]
    records: int = 0
    money: MoneyTally = MoneyTally()
    lines_skipped: int = 0  # in the lists given to the job


def tally(tx: Tx, job_id: UUID) -> Tally | None:
    """Return everything but the job's records, which may be as many as its pages; None if there is no such job."""
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
        counted=counter_store.progress(tx, job_id),
        checkpoint=counter_store.last(tx, job_id),
        is_hidden=job.hidden_at is not None,
        offenders={**offenders, **_elsewhere(tx, job_id, JobState(job.state))},
        money=money_of_job(tx, job_id),
        lines_skipped=int(job.params.get("lines_skipped", 0)),
    )


def take_room(tx: Tx) -> None:
    """Raise `work_mem` for the transaction on Postgres, so that a million rows are sorted and joined in memory."""
    if tx.dialect.row_locks:
        tx.run(text("SET LOCAL work_mem = '64MB'"))


def _of_pages(tx: Tx, job_id: UUID) -> tuple[dict[str, int], int, dict[str, Offenders]]:
    """Return the checks of pages: number by state, bytes, and invalid rows."""
    kinds, query = _about_pages()
    rows = tx.rows(query, {"job": job_id})
    totals = [row for row in rows if not row.what]
    return (
        {row.name: int(row.total) for row in totals},
        sum(int(row.bytes_in) for row in totals),
        {what: offenders_of([row for row in rows if row.what == what]) for what in kinds},
    )


# Built once: for a job of one page, building the query takes longer than running it.
@cache
def _about_pages() -> tuple[tuple[str, ...], CompoundSelect[Any]]:
    """Return all checks of pages as one query that reads the table once: there may be a million rows."""
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
    """Select pages whose site or visit does not belong to this job, or whose visit does not belong to the site."""
    placed = held.outerjoin(sites, (sites.c.id == held.c.site_id) & (sites.c.job_id == JOB)).outerjoin(
        visits, (visits.c.id == held.c.visit_id) & (visits.c.job_id == JOB) & (visits.c.site_id == held.c.site_id)
    )
    host = func.coalesce(sites.c.host, "no domain of this job")
    return named(host, held.c.pages).select_from(placed).where(sites.c.id.is_(None) | visits.c.id.is_(None))


def _unequal(held: CTE, which: ColumnElement[bool], owner: ColumnElement[UUID], number: Column[int]) -> Select[Any]:
    """Select sites or visits whose stored number of pages differs from the count of the rows."""
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
    """Return the inconsistencies outside the states of pages, including duplicate pages."""
    # When a job is cancelled or fails, its workers have a few seconds to hand back their visits.
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
        .group_by(pages.c.url, pages.c.request)
        .having(func.count() > 1),
    }
    return tuple(wrong), together(*(select(few(what, query).subquery()) for what, query in wrong.items()))


def named(name: ColumnElement[Any], weight: ColumnElement[Any] = ONE) -> Select[Any]:
    return select(name.label("name"), weight.label("weight"))


def few(what: str, query: Select[Any]) -> Select[Any]:
    """Limit a query to the first few rows, each with the total number."""
    found = query.subquery()
    # Damaged rows may have no name either.
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


LOOSE = "loose records"

_SOURCE = records.outerjoin(pages, (pages.c.job_id == JOB) & (pages.c.key == records.c.page_key))


def _site_part(key: ColumnElement[bytes]) -> ColumnElement[bytes]:
    return func.substr(key, 1, 4)


_ELSEWHERE = (pages.c.site_id != records.c.site_id) | (_site_part(records.c.key) != _site_part(pages.c.key))
# Concluded records come from many pages and belong to none.
_NOWHERE = records.c.generation.is_(None) & (pages.c.state.is_(None) | (pages.c.state != PageState.DONE) | _ELSEWHERE)
# Both numbers in one pass over the records and their pages.
_COUNTED = (
    select(func.count().label("records"), func.coalesce(func.sum(case((_NOWHERE, 1), else_=0)), 0).label("loose"))
    .select_from(_SOURCE)
    .where(records.c.job_id == JOB)
)
_RECIPE = select(jobs.c.recipe).where(jobs.c.id == JOB)
_LOOSE = (
    named(func.coalesce(pages.c.url, "no page of this job"))
    .select_from(_SOURCE)
    .where(records.c.job_id == JOB, _NOWHERE)
)


def count(tx: Tx, job_id: UUID) -> tuple[int, Offenders]:
    """Count the records, and those whose page is missing, not done, or of another domain."""
    take_room(tx)
    (found,) = tx.rows(_COUNTED, {"job": job_id})
    some = tx.rows(few(LOOSE, _LOOSE), {"job": job_id}) if found.loose else ()
    return int(found.records), offenders_of(some)


def doubles(tx: Tx, job_id: UUID, kinds: Mapping[str, Sequence[RecordKind]]) -> dict[str, Offenders]:
    """Find records with equal identifying fields but different keys. `kinds` are those of the known recipes."""
    take_room(tx)
    recipe = next((row.recipe for row in tx.rows(_RECIPE, {"job": job_id})), None)
    return {f"double {kind.name}": _doubles_of(tx, job_id, kind) for kind in kinds.get(recipe or "", ())}


def _doubles_of(tx: Tx, job_id: UUID, kind: RecordKind) -> Offenders:
    if tx.dialect.row_locks and not tx.run(_any_alike(kind), {"job": job_id}).scalar():
        return Offenders()
    return offenders_of(tx.rows(_doubles(kind), {"job": job_id}))


def _said(kind: RecordKind) -> Select[Any]:
    """Select the site of each record, from the first bytes of its key, and the fields that identify it.

    OFFSET 0 keeps both databases from flattening this subquery: they then sort these columns, not the whole
    record.
    """
    identity = (records.c.data[name].as_string().label(f"said_{place}") for place, name in enumerate(kind.key))
    mine = (records.c.job_id == JOB) & (records.c.kind == kind.name)
    return select(_site_part(records.c.key).label("site"), *identity).where(mine).offset(literal_column("0"))


@cache
def _doubles(kind: RecordKind) -> Select[Any]:
    """Return the query for duplicates, grouped by site, because the rows are nearly in that order."""
    said = _said(kind).subquery()
    identity = [said.c[f"said_{place}"] for place in range(len(kind.key))]
    name: ColumnElement[str] = reduce(lambda left, right: left + ", " + right, identity)
    found = named(name, func.count() - 1).group_by(said.c.site, *identity).having(func.count() > 1)
    return few(f"double {kind.name}", found)


def _any_alike(kind: RecordKind) -> Select[Any]:
    """Return a query that checks if any two records have the same hash, which is faster than comparing URLs.

    Needs a database server, which has hash functions. Equal hashes are followed by a full comparison;
    without any, there are no duplicates.
    """
    texts = [func.coalesce(records.c.data[name].as_string(), "") for name in kind.key]
    whole: ColumnElement[str] = reduce(lambda left, right: left + "\x1f" + right, texts)
    mine = (records.c.job_id == JOB) & (records.c.kind == kind.name)
    alike: Select[Any] = (
        select(literal_column("1")).where(mine).group_by(func.hashtextextended(whole, literal_column("0")))
    )
    return select(exists(alike.having(func.count() > 1)))


def _number_of(table: Table) -> ColumnElement[int]:
    return select(func.count()).select_from(table).where(table.c.job_id == JOB).scalar_subquery()


def _any_of(*tables: Table) -> list[ColumnElement[bool]]:
    return [exists().where(table.c.job_id == JOB) for table in tables]


_SUMS = select(*(func.sum(counters.c[name]).label(name) for name in NAMES)).where(counters.c.job_id == JOB).subquery()
_OWN_RECORDS = (
    select(func.count())
    .select_from(records)
    .where(
        records.c.job_id == JOB,
        records.c.page_key == pages.c.key,
        records.c.site_id == pages.c.site_id,
        func.substr(records.c.key, 1, 4) == func.substr(pages.c.key, 1, 4),
    )
    .scalar_subquery()
)
_SPENT = exists().where(
    budget_rows.c.scope == Scope.JOB,
    budget_rows.c.subject == bindparam("subject"),
    budget_rows.c.period == "",
    or_(
        *(budget_rows.c[f"{of}_{part}"] != 0 for of in ("spent", "reserved", "excess") for part in PARTS),
        *(budget_rows.c[f"cap_{part}"] < 0 for part in PARTS),
    ),
)
_ALONE = [_number_of(table) == 1 for table in (sites, visits, pages)]
_GLANCE = (
    select(
        sites.c.state.label("site"),
        visits.c.state.label("visit"),
        pages.c.state.label("page"),
        pages.c.identity.is_not(None).label("identified"),
        sites.c.pages_done.label("read"),
        pages.c.bytes_in.label("size"),
        _number_of(records).label("found"),
        _OWN_RECORDS.label("own"),
        *(_SUMS.c[name].label(f"counted_{name}") for name in NAMES),
    )
    .select_from(jobs.join(sites, sites.c.job_id == JOB))
    .join(visits, (visits.c.job_id == JOB) & (visits.c.site_id == sites.c.id))
    .join(pages, (pages.c.job_id == JOB) & (pages.c.site_id == sites.c.id) & (pages.c.visit_id == visits.c.id))
    .join(_SUMS, _SUMS.c.records.is_not(None))
    .where(
        jobs.c.id == JOB,
        jobs.c.state == JobState.RUNNING,
        jobs.c.hidden_at.is_(None),
        jobs.c.sites_total == 1,
        sites.c.listed,
        sites.c.open_pages == 0,
        visits.c.open_pages == 0,
        visits.c.lane == HOME_LANE,
        *_ALONE,
        *(~there for there in (*_any_of(charges, reservations, expenses, checkpoints), _SPENT)),
    )
)


def is_whole(tx: Tx, job_id: UUID) -> bool:
    """Return True if an audit would find nothing; False if that is not evident."""
    row = tx.run(_GLANCE, {"job": job_id, "subject": job_id.hex}).first()
    return row is not None and _is_as_expected(row)


def _is_as_expected(row: Any) -> bool:
    if row.site not in OF_SITE or row.page not in OF_PAGE:
        return False
    is_read = row.page == PageState.DONE
    expected = dict.fromkeys(NAMES, 0) | {
        OF_SITE[row.site]: 1,
        OF_PAGE[row.page]: 1,
        "records": row.found,
        "bytes_in": row.size,
    }
    return (
        row.visit == (VisitState.FAILED if row.site == SiteState.FAILED else VisitState.DONE)
        and row.read == is_read
        and (row.identified or not is_read)
        and row.own == row.found <= is_read
        and all(getattr(row, f"counted_{name}") == number for name, number in expected.items())
    )
