"""Dead letters: visits that were given up because they crashed their worker too often.

A letter is open as long as its alert is. Dropping it only clears the alert: the visit stays `dead` and its site
failed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, select, update

from gossamer.db.tables import alerts as alert_rows
from gossamer.db.tables import jobs as job_rows
from gossamer.db.tables import pages, visits
from gossamer.db.tables import sites as site_rows
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.alert import ALERTS, AlertKind
from gossamer.model.ids import fits, short
from gossamer.model.job import CheckpointCause
from gossamer.model.rungs import HOME_LANE
from gossamer.model.states import PAGE_MOVES, JobState, PageState, SiteState, VisitState, origins
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import url_key
from gossamer.store import alerts, counters, events, jobs, sites
from gossamer.store import visits as visit_store
from gossamer.store.counters import CounterChange
from gossamer.store.sites import SiteChange, SiteEnding
from gossamer.store.visit_transitions import FREED, RESET_ON_RELEASE, Moving, may_become, moving, tell

_UNTIL = b"\xff" * 8
# In these states a job does not continue automatically.
_AT_REST = frozenset({JobState.PAUSED, JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED})


@dataclass(frozen=True, slots=True)
class DeadLetter:
    id: UUID  # of the visit
    job_id: UUID
    job_name: str
    job_state: JobState
    host: str
    lane: str
    deaths: int
    last_error: str
    died_at: datetime
    pages: int  # open pages that failed with it


def bury(tx: Tx, doomed: Moving, error: str) -> None:
    """End a running visit permanently, with its open pages and its site. The caller has locked the site."""
    died = {"state": VisitState.DEAD, "deaths": visits.c.deaths + 1, "last_error": error, "due_at": tx.now}
    legal = (visits.c.id == doomed.id) & may_become(VisitState.DEAD)
    deaths = tx.run(
        update(visits).where(legal).values(**FREED, **RESET_ON_RELEASE, **died).returning(visits.c.deaths)
    ).scalar()
    if deaths is None:
        return
    tell(tx, VisitState.DEAD, [doomed], error)
    site = _site(tx, doomed.site_id)
    trouble = Trouble(Reason.CRASHED, str(deaths))
    ended = {"reason": trouble.reason.name, "detail": trouble.detail, "settled_at": tx.now}
    mine = _pages_of(doomed, site) & pages.c.state.in_(origins(PAGE_MOVES, PageState.FAILED))
    failed = tx.run(update(pages).where(mine).values(state=PageState.FAILED, due_at=None, **ended)).rowcount
    _open_pages(tx, doomed, -failed)
    change = CounterChange(pages_failed=failed, pages_open=-failed)
    if _lives_on(tx, doomed):
        pass  # the visit in the home lane decides what follows
    elif sites.close(tx, [SiteEnding(doomed.site_id, SiteState.FAILED, trouble.reason.name, trouble.detail)]):
        events.add(tx, doomed.job_id, "site.failed", trouble.sentence, site_id=doomed.site_id)
        change.sites_failed = int(site.listed)
    counters.add(tx, 0, {doomed.job_id: change})
    said = ALERTS[AlertKind.DEAD_LETTER].format(host=site.host, deaths=deaths, error=error, visit=short(doomed.id))
    alerts.fire(tx, AlertKind.DEAD_LETTER, str(doomed.id), said, job_id=doomed.job_id)


def _lives_on(tx: Tx, doomed: Moving) -> bool:
    """Return True if a site continues without this visit.

    A visit that dies in another lane takes only the pages it was given.
    """
    if tx.run(select(visits.c.lane).where(visits.c.id == doomed.id)).scalar_one() == HOME_LANE:
        return False
    left = visit_store.open_pages(tx, [doomed.site_id])[doomed.site_id]
    return bool(left) or visit_store.wake_home(tx, doomed.site_id, "its visit in another lane was given up")


def recent(tx: Tx, limit: int) -> list[DeadLetter]:
    """Return dead letters that were not handled yet, newest first."""
    return _letters(tx, _waiting(tx, limit))


def get(tx: Tx, identifier: UUID) -> DeadLetter | None:
    return next(iter(_letters(tx, [identifier] if identifier in _waiting(tx) else [])), None)


def matching(tx: Tx, digits: str, limit: int = 5) -> list[UUID]:
    """Return letters whose id matches these hexadecimal digits, newest first."""
    found = [one for one in _waiting(tx) if fits(one, digits)]
    return [letter.id for letter in _letters(tx, found[:limit])]


def retry(tx: Tx, identifier: UUID, who: str = "user") -> bool:
    """Reopen a dead visit with its site, pages and job; False if it is not a dead letter now.

    Its crash and time allowances are reset.
    """
    found = get(tx, identifier)
    if found is None:
        return False
    state = jobs.hold(tx, found.job_id)
    (dead,) = Moving.read(tx, moving(visits.c.id == identifier))
    was = sites.lock(tx, [dead.site_id])[dead.site_id]
    legal = (visits.c.id == identifier) & (visits.c.state == VisitState.DEAD)
    alive = update(visits).where(legal).values(state=VisitState.READY, deaths=0, walked_ms=0, due_at=tx.now)
    if not tx.run(alive).rowcount:
        return False
    tell(tx, VisitState.READY, [dead], "retried", who=who)
    crashed = _pages_of(dead, _site(tx, dead.site_id)) & _CRASHED
    anew = {"reason": "", "detail": "", "settled_at": None}
    opened = tx.run(update(pages).where(crashed).values(state=PageState.PENDING, **anew)).rowcount
    _open_pages(tx, dead, opened)
    change = CounterChange(pages_failed=-opened, pages_open=opened)
    if sites.reopen(tx, [dead.site_id], "retried", who=who) and was.listed:
        setattr(change, f"sites_{was.state}", -1)
    counters.take_back(tx, dead.job_id, change)
    # The audit compares the rows with the last checkpoint, and now fewer visits have ended.
    counters.take(tx, dead.job_id, CheckpointCause.VISITS)
    alerts.clear(tx, AlertKind.DEAD_LETTER, str(identifier))
    _go_on(tx, found, state, who)
    return True


def drop(tx: Tx, identifier: UUID, who: str = "user") -> bool:
    """Hide a dead letter; False if it was not open. The visit and its site are unchanged."""
    found = get(tx, identifier)
    if found is None or not alerts.clear(tx, AlertKind.DEAD_LETTER, str(identifier)):
        return False
    (dead,) = Moving.read(tx, moving(visits.c.id == identifier))
    events.add(tx, dead.job_id, "visit.dropped", who=who, site_id=dead.site_id, visit_id=dead.id)
    return True


# Only these are reopened: pages that failed for other reasons stay failed.
_CRASHED = pages.c.state.in_(origins(PAGE_MOVES, PageState.PENDING)) & (pages.c.reason == Reason.CRASHED.name)


def _go_on(tx: Tx, letter: DeadLetter, state: JobState | None, who: str) -> None:
    """Resume a job that is not running. Called last: if it is refused, the transaction is rolled back."""
    if state is JobState.ARCHIVED or (
        state in _AT_REST and not jobs.move(tx, letter.job_id, JobState.RUNNING, who=who)
    ):
        raise UserError(
            "dead_letters.archived",
            f"Job {short(letter.job_id)} is archived: its results are deleted, so nothing of it can be retried.",
            hint=f"Drop the letter with 'gossamer system dead-letters drop {short(letter.id)}'.",
        )
    if state in _AT_REST:
        jobs.begin_anew(tx, letter.job_id)


def _waiting(tx: Tx, limit: int | None = None) -> list[UUID]:
    open_ones = (alert_rows.c.kind == AlertKind.DEAD_LETTER) & alert_rows.c.cleared_at.is_(None)
    query = select(alert_rows.c.subject).where(open_ones).order_by(alert_rows.c.id.desc()).limit(limit)
    return [UUID(subject) for subject in tx.run(query).scalars()]


def _letters(tx: Tx, ids: Sequence[UUID]) -> list[DeadLetter]:
    """Return the dead letters of these visits, in the order of the ids."""
    query = (
        select(visits, site_rows.c.host, site_rows.c.entries, job_rows.c.name, job_rows.c.state.label("job_state"))
        .join(site_rows, site_rows.c.id == visits.c.site_id)
        .join(job_rows, job_rows.c.id == visits.c.job_id)
        .where(visits.c.id.in_(ids), visits.c.state == VisitState.DEAD)
    )
    found = {row.id: row for row in tx.run(query)} if ids else {}
    return [_letter(tx, found[identifier]) for identifier in ids if identifier in found]


def _letter(tx: Tx, row: Any) -> DeadLetter:
    failed = select(func.count()).select_from(pages).where(_pages_of(row, row), _CRASHED)
    return DeadLetter(
        id=row.id,
        job_id=row.job_id,
        job_name=row.name,
        job_state=JobState(row.job_state),
        host=row.host,
        lane=row.lane,
        deaths=row.deaths,
        last_error=row.last_error,
        died_at=row.due_at,
        pages=int(tx.run(failed).scalar_one()),
    )


def _site(tx: Tx, site_id: UUID) -> Any:
    columns = (site_rows.c.host, site_rows.c.entries, site_rows.c.listed)
    return tx.run(select(*columns).where(site_rows.c.id == site_id)).one()


def _pages_of(visit: Any, site: Any) -> ColumnElement[bool]:
    """Select a visit's pages by the key range of its site."""
    prefix = url_key(site.entries[0])[:4]
    of_site = (pages.c.key >= prefix) & (pages.c.key <= prefix + _UNTIL)
    return and_(pages.c.job_id == visit.job_id, of_site, pages.c.visit_id == visit.id)


def _open_pages(tx: Tx, visit: Moving, opened: int) -> None:
    tx.run(update(visits).where(visits.c.id == visit.id).values(open_pages=visits.c.open_pages + opened))
    sites.apply(tx, {visit.site_id: SiteChange(open_pages=opened)})
