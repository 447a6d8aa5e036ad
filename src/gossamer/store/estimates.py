"""Estimates of jobs, the actual costs, and known facts about the sites of a new job."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, bindparam, func, insert, select, true

from gossamer.db.tables import budgets, charges, counters, estimates, jobs, memory, sites, visits
from gossamer.db.transactions import Tx
from gossamer.model.job import Comparable, Estimate, Past, Probed, TrackRecord
from gossamer.model.rungs import Experience
from gossamer.model.states import JobState, VisitState

MOST = 12  # past jobs that are used: with more, estimates would adapt slowly
_ENOUGH = 3  # jobs with the same limits; with fewer, jobs with other limits are used too
_AT_ONCE = 500  # names in one statement


def keep(tx: Tx, job_id: UUID, shown: Estimate) -> None:
    """Store an estimate as shown to the user, to compare it with the cost later."""
    like = shown.like
    row = {
        "job_id": job_id,
        "recipe": like.recipe,
        "ladder": ",".join(like.ladder),
        "pages_per_site": like.pages_per_site,
        "top_pages": like.top_pages,
        "probed": shown.probed.asked if shown.probed else 0,
        **{name: getattr(shown, name) for name in ("sites", "known", "similar", "expected", "low", "high")},
        **{name: getattr(shown, name) for name in ("low_micros", "high_micros")},
        "at": tx.now,
    }
    tx.run(insert(estimates), row)


def of_job(tx: Tx, job_id: UUID) -> Estimate | None:
    row = tx.run(select(estimates).where(estimates.c.job_id == job_id)).first()
    return _estimate(row) if row else None


def _sum(*names: str) -> ColumnElement[int]:
    """Return the sum of these columns over a job's counters."""
    total = sum((counters.c[name] for name in names[1:]), start=counters.c[names[0]])
    return func.coalesce(
        select(func.sum(total)).where(counters.c.job_id == jobs.c.id).correlate(jobs).scalar_subquery(), 0
    )


# A job that was cancelled, or stopped at its limit, does not show the full cost.
_SITES = _sum("sites_done", "sites_failed", "sites_partial")
_TO_ITS_END = jobs.c.state.in_((JobState.COMPLETED, JobState.ARCHIVED)) & (jobs.c.sites_total <= _SITES)
_SPENT = (
    select(estimates, budgets.c.spent_credits)
    .join(jobs, jobs.c.id == estimates.c.job_id)
    .join(budgets, budgets.c.job_id == estimates.c.job_id)
    .where(_TO_ITS_END)
    .order_by(estimates.c.job_id.desc())
)


def record(tx: Tx, account: str | None = None) -> TrackRecord:
    """Return the accuracy of the latest estimates, for all kinds of jobs, or for one account's."""
    rows = tx.rows(_SPENT.where(_whose(account)).limit(MOST), {})
    return TrackRecord(sum(row.low <= row.spent_credits <= row.high for row in rows), len(rows))


def _whose(account: str | None) -> ColumnElement[bool]:
    return true() if account is None else jobs.c.account_id == account


def similar(tx: Tx, like: Comparable, account: str | None = None) -> dict[UUID, Past]:
    """Return the latest jobs with the same ladder, and the same limits if there are enough; newest first."""
    wanted = (estimates.c.recipe == like.recipe) & (estimates.c.ladder == ",".join(like.ladder))
    rows = tx.rows(_SPENT.where(wanted, _whose(account)).limit(2 * MOST), {})
    same = [row for row in rows if (row.pages_per_site, row.top_pages) == (like.pages_per_site, like.top_pages)]
    chosen = same if len(same) >= _ENOUGH else rows
    return {row.job_id: Past(row.sites, int(row.spent_credits), row.expected) for row in chosen[:MOST]}


_PAYING = select(func.count(charges.c.site_id.distinct())).where(
    charges.c.job_id == bindparam("job", type_=charges.c.job_id.type)
)


def paying_sites(tx: Tx, job_id: UUID) -> int:
    """Count the sites of a job that cost something; 0 too if its charges are deleted."""
    return int(tx.run(_PAYING, {"job": job_id}).scalar_one())


def pages_per_site(tx: Tx, account: str | None = None) -> float | None:
    """Return the average pages per site of the latest jobs, on any ladder; None without such jobs."""
    query = select(_SITES.label("sites"), _sum("pages_done").label("pages")).where(_TO_ITS_END, _whose(account))
    rows = tx.rows(query.order_by(jobs.c.id.desc()).limit(MOST), {})
    read = sum(int(row.sites) for row in rows)
    return sum(int(row.pages) for row in rows) / read if read else None


def experiences(tx: Tx, domains: Sequence[str]) -> dict[str, dict[str, Experience]]:
    """Return statistics by domain and rung; unknown domains are left out."""
    found: dict[str, dict[str, Experience]] = defaultdict(dict)
    for some in _chunks(domains):
        query = select(memory.c.domain, memory.c.rung, memory.c.tries, memory.c.wins).where(memory.c.domain.in_(some))
        for row in tx.rows(query, {}):
            found[row.domain][row.rung] = Experience(row.tries, row.wins)
    return found


def sizes(tx: Tx, ids: Sequence[UUID], hosts: Sequence[str]) -> dict[str, int]:
    """Return the pages read of each site by the first of these jobs that had it."""
    found: dict[str, int] = {}
    for job_id in ids:
        for some in _chunks([host for host in hosts if host not in found]):
            here = (sites.c.job_id == job_id) & sites.c.host.in_(some)
            found |= {
                row.host: row.pages_done for row in tx.rows(select(sites.c.host, sites.c.pages_done).where(here), {})
            }
    return found


def busy_domains(tx: Tx, domains: Sequence[str]) -> set[str]:
    """Return which of these domains are still visited by a running job."""
    waiting = visits.c.state.in_((VisitState.READY, VisitState.ISSUED, VisitState.RUNNING))
    found: set[str] = set()
    for some in _chunks(domains):
        query = select(visits.c.domain).join(jobs, jobs.c.id == visits.c.job_id)
        going = jobs.c.state.in_((JobState.RUNNING, JobState.PAUSING))
        found |= set(tx.run(query.where(waiting, going, visits.c.domain.in_(some))).scalars())
    return found


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[begin : begin + _AT_ONCE] for begin in range(0, len(names), _AT_ONCE))


def _estimate(row: Row[Any]) -> Estimate:
    return Estimate(
        Comparable(row.recipe, tuple(row.ladder.split(",")), row.pages_per_site, row.top_pages),
        row.sites,
        row.expected,
        row.low,
        row.high,
        row.low_micros,
        row.high_micros,
        row.known,
        row.similar,
        Probed(row.probed, 0, 0) if row.probed else None,
    )
