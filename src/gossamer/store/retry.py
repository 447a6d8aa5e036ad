"""Reopen failed sites and pages of a job for a retry. Pages that were read are unchanged."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, delete, func, literal_column, null, select, update

from gossamer.clock import milliseconds
from gossamer.db.bulk import BulkStatement
from gossamer.db.tables import pages, sites, visits
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.job import CheckpointCause
from gossamer.model.page import ASKED_AGAIN, Attempt, Errand
from gossamer.model.rungs import HOME_LANE
from gossamer.model.states import PageState, SiteState, VisitState
from gossamer.model.trouble import NO_WAY_IN, NOT_REACHED, NOT_THERE, Cure, Reason
from gossamer.model.url import url_key
from gossamer.store import alerts, counters, jobs
from gossamer.store import sites as site_store
from gossamer.store.counters import CounterChange
from gossamer.store.history import attempts_of
from gossamer.store.sites import SiteChange
from gossamer.store.sites import apply as apply_to_sites
from gossamer.store.visit_transitions import Moving, tell

# Failures that may succeed later: network problems, and our own errors.
_CURABLE = frozenset(
    {reason.name for reason in Reason if reason.cure is not Cure.NONE} | {Reason.CRASHED.name, Reason.INTERNAL.name}
)
# For the entry page of a failed site also reasons that depend on the connection or on our settings.
_OF_AN_ENTRY = _CURABLE | {
    *(Reason.DNS.name, Reason.TLS.name, Reason.NOT_HTTP.name, Reason.PLACEHOLDER.name, Reason.TOO_LARGE.name),
    *(Reason.FORBIDDEN_ADDRESS.name, Reason.NEVER_VISIT.name),
}
_LED_NOWHERE = frozenset(reason.name for reason in NO_WAY_IN | NOT_REACHED)
# For the last spelling of an entry: if no other one was reached, its failure is not final.
_OF_A_SPELLING = _OF_AN_ENTRY | {reason.name for reason in NOT_THERE}
_ENDED = (VisitState.DONE, VisitState.FAILED, VisitState.DEAD)
_UNTIL = b"\xff" * 8


@dataclass(slots=True)
class Reopened:
    """Counts of reopened sites and pages."""

    sites: int = 0  # failed ones
    pages: int = 0  # that had failed
    change: CounterChange = field(default_factory=CounterChange)


@dataclass(frozen=True, slots=True)
class _Again:
    """Planned retry of one site."""

    site: Any
    pages: list[Any]  # retried
    spellings: list[Any]  # entry spellings that are deleted, so that all of them are tried again
    rank: int  # of the first retried page, after all other pages of the site

    @property
    def wanted(self) -> bool:
        # A visit may have ended before it had chosen any page.
        nothing_chosen = self.site.state == SiteState.FAILED and self.site.reason in (Reason.CRASHED.name, "")
        return bool(self.pages or self.spellings) or nothing_chosen


def candidates(tx: Tx, job_id: UUID) -> list[UUID]:
    """Return sites that failed for a temporary reason, or have such a page; in lock order."""
    failed = (sites.c.state == SiteState.FAILED) & sites.c.reason.in_([*_OF_AN_ENTRY, ""])
    missed = (pages.c.state == PageState.FAILED) & pages.c.reason.in_(_CURABLE)
    found = set(tx.run(select(sites.c.id).where(sites.c.job_id == job_id, failed)).scalars())
    found.update(tx.run(select(pages.c.site_id).where(pages.c.job_id == job_id, missed).distinct()).scalars())
    return sorted(found)


def still_open(tx: Tx, job_id: UUID) -> int:
    """Count the sites of a job that have not ended."""
    waiting = (sites.c.job_id == job_id) & (sites.c.state == SiteState.OPEN)
    return int(tx.run(select(func.count()).select_from(sites).where(waiting)).scalar_one())


def reopen(tx: Tx, job_id: UUID, ids: Sequence[UUID]) -> Reopened:
    """Reopen these sites where they failed; counters and events are updated in the same transaction.

    The caller holds the lock on the job.
    """
    job = jobs.get(tx, job_id)
    locked = tx.rows(tx.locked(_SITES), {"ids": list(ids)})
    again = [one for site in locked if (one := _look(tx, job_id, site)).wanted]
    done = Reopened()
    if not again:
        return done
    _open_sites(tx, again, done)
    _open_visits(tx, again)
    _open_pages(tx, job_id, again, done, keep_ranks=job is not None and job.extent.names_pages)
    counters.take_back(tx, job_id, done.change)
    # The audit compares the rows with the last checkpoint, and now fewer have ended.
    counters.take(tx, job_id, CheckpointCause.VISITS)
    return done


_SITES = select(sites).where(sites.c.id.in_(bindparam("ids", expanding=True))).order_by(sites.c.id)
_OF_SITE = (
    (pages.c.job_id == bindparam("job"))
    & (pages.c.key >= bindparam("since"))
    & (pages.c.key <= bindparam("until"))
    & (pages.c.site_id == bindparam("site"))
)
_MISSED = (
    select(pages)
    .where(_OF_SITE, pages.c.state.in_((PageState.FAILED, PageState.SKIPPED)))
    .order_by(pages.c.rank, pages.c.key)
)
_HIGHEST_RANK = select(func.max(pages.c.rank)).where(_OF_SITE)


def _look(tx: Tx, job_id: UUID, site: Any) -> _Again:
    prefix = url_key(site.entries[0])[:4]
    mine = {"job": job_id, "since": prefix, "until": prefix + _UNTIL, "site": site.id}
    rows = tx.rows(_MISSED, mine)
    failed = site.state == SiteState.FAILED
    spellings = _spellings(site, rows) if failed and not site.pages_done else []
    known = {row.key for row in spellings}
    curable = [
        row
        for row in rows
        if row.state == PageState.FAILED
        and row.key not in known
        and row.reason in (_OF_AN_ENTRY if failed and row.depth == 0 else _CURABLE)
    ]
    return _Again(site, curable, spellings, int(tx.run(_HIGHEST_RANK, mine).scalar() or 0) + 1 if curable else 0)


def _spellings(site: Any, rows: Sequence[Any]) -> list[Any]:
    """Return the entry spellings that failed one after the other: any of them may work by now."""
    own = [row for row in rows if not row.handed and row.step is None]
    tried = [row for row in own if row.url in site.entries and row.reason in _OF_A_SPELLING]
    several = any(row.state == PageState.SKIPPED and row.reason in _LED_NOWHERE for row in tried)
    return tried if several else []


def _open_sites(tx: Tx, again: Sequence[_Again], done: Reopened) -> None:
    site_store.reopen(tx, [one.site.id for one in again], "retried", who="user")
    changes = {}
    for one in again:
        site, was = one.site, SiteState(one.site.state)
        # The proof of politeness includes all requests, also those of deleted spellings.
        sent = [
            Errand(at, row.url, tried.status or 0)
            for row in one.spellings
            for tried in attempts_of(row.attempts)
            for at in tried.sent
        ]
        changes[site.id] = SiteChange(open_pages=len(one.pages), errands=[*site.errands, *sent])
        done.sites += was is SiteState.FAILED
        if site.listed and was is not SiteState.OPEN:
            name = f"sites_{was}"
            setattr(done.change, name, getattr(done.change, name) - 1)
    apply_to_sites(tx, changes)


_VISITS = select(visits).where(visits.c.site_id.in_(bindparam("ids", expanding=True))).order_by(visits.c.id)
_ADD_PAGES = BulkStatement(
    update(visits).where(visits.c.id == bindparam("b_id")).values(open_pages=visits.c.open_pages + bindparam("b_open"))
)
_WAKE = BulkStatement(
    update(visits)
    .where(visits.c.id == bindparam("b_id"), visits.c.state.in_([literal_column(f"'{state}'") for state in _ENDED]))
    .values(
        state=literal_column(f"'{VisitState.READY}'"),
        deaths=literal_column("0"),
        walked_ms=literal_column("0"),
        due_at=bindparam("b_due", type_=visits.c.due_at.type),
    )
)


def _open_visits(tx: Tx, again: Sequence[_Again]) -> None:
    """Reopen the visits that have work, with their crash and time allowances reset."""
    by_site = {one.site.id: one.site for one in again}
    opened = Counter(row.visit_id for one in again for row in one.pages)
    found = tx.rows(tx.locked(_VISITS), {"ids": list(by_site)})
    woken = [
        visit
        for visit in found
        # A failed site is crawled again; in other lanes only the pages that were moved there.
        if visit.state in _ENDED
        and (opened[visit.id] or (visit.lane == HOME_LANE and by_site[visit.site_id].state == SiteState.FAILED))
    ]
    _ADD_PAGES.run(tx, [{"b_id": visit.id, "b_open": opened[visit.id]} for visit in found if opened[visit.id]])
    due = {visit.id: max(tx.now, by_site[visit.site_id].not_before or tx.now) for visit in woken}
    _WAKE.run(tx, [{"b_id": identifier, "b_due": at} for identifier, at in due.items()])
    tell(tx, VisitState.READY, [Moving(one.id, one.job_id, one.site_id, None) for one in woken], "retried", who="user")
    for visit in woken:
        if visit.state == VisitState.DEAD:
            alerts.clear(tx, AlertKind.DEAD_LETTER, str(visit.id))


_ASK_AGAIN = BulkStatement(
    update(pages)
    .where(
        pages.c.job_id == bindparam("b_job"),
        pages.c.key == bindparam("b_key"),
        pages.c.state == literal_column(f"'{PageState.FAILED}'"),
    )
    .values(
        state=literal_column(f"'{PageState.PENDING}'"),
        reason=literal_column("''"),
        detail=literal_column("''"),
        due_at=null(),
        http_status=null(),
        settled_at=null(),
        rank=bindparam("b_rank"),
        attempts=bindparam("b_attempts", type_=pages.c.attempts.type),
    )
)


def _open_pages(tx: Tx, job_id: UUID, again: Sequence[_Again], done: Reopened, *, keep_ranks: bool) -> None:
    asked = Attempt(ASKED_AGAIN, None, "", 0, milliseconds(tx.now))
    opened = [
        {
            "b_job": job_id,
            "b_key": row.key,
            # A new rank: the crawl has processed the links of all earlier ranks. Listed pages are not followed and keep
            # their position in the list.
            "b_rank": row.rank if row.handed or row.step is not None or keep_ranks else one.rank + place,
            "b_attempts": [*attempts_of(row.attempts), asked],
        }
        for one in again
        for place, row in enumerate(one.pages)
    ]
    _ASK_AGAIN.run(tx, opened)
    spellings = [row for one in again for row in one.spellings]
    gone = pages.c.key.in_([row.key for row in spellings])
    tx.run(delete(pages).where(pages.c.job_id == job_id, gone))
    forgotten = sum(row.state == PageState.FAILED for row in spellings)
    done.pages += len(opened) + forgotten
    done.change.pages_open += len(opened)
    done.change.pages_failed -= len(opened) + forgotten
    done.change.pages_skipped -= len(spellings) - forgotten
