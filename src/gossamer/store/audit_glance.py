"""Whether nothing can be wrong with the rows of a job of one page: one question instead of the many of an audit.

It knows one picture, in which every check of the audit holds: one domain that has ended, its one visit, its one page,
at most one record of that page, counters that say just this, and nothing paid. Of anything else it knows nothing.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Table, bindparam, exists, func, or_, select

from gossamer.model.fetching import HOME_LANE
from gossamer.model.money import Scope
from gossamer.model.states import JobState, PageState, SiteState, VisitState
from gossamer.store.audit import JOB
from gossamer.store.counters import NAMES, OF_PAGE, OF_SITE
from gossamer.store.ledger_tables import PARTS, budgets, charges, expenses, reservations
from gossamer.store.tables import checkpoints, counters, jobs, pages, records, sites, visits
from gossamer.store.tx import Tx


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
    budgets.c.scope == Scope.JOB,
    budgets.c.subject == bindparam("subject"),
    budgets.c.period == "",
    or_(
        *(budgets.c[f"{of}_{part}"] != 0 for of in ("spent", "reserved", "excess") for part in PARTS),
        *(budgets.c[f"cap_{part}"] < 0 for part in PARTS),
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
    """Whether an audit would find nothing; False wherever that is not plain to see."""
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
