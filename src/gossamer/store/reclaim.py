"""Taking visits back from workers that are gone."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, exists, select, update

from gossamer.model.states import SiteState, VisitState
from gossamer.model.trouble import Reason, Trouble
from gossamer.store import counters, events
from gossamer.store.counters import Change
from gossamer.store.tables import pages, sites, visits
from gossamer.store.tx import Tx

MOST_DEATHS = 3


def take_back(tx: Tx, leases: Mapping[UUID, UUID], *, expired: bool = False) -> int:
    """Return visits to the queue under the tokens they were seen with; each costs the visit one life.

    `expired`: only if they still are, since a renewal may have been quicker.
    """
    taken = 0
    for identifier, token in sorted(leases.items()):
        held = (visits.c.id == identifier) & (visits.c.lease == token)
        if expired:
            held &= visits.c.lease_until < tx.now
        taken += _void(tx, held, deadly=True)
    bury_dead(tx)
    return taken


def void_worker(tx: Tx, worker: str, why: str, *, deadly: bool) -> int:
    """A process of ours has ended: whatever it was walking is ready again, one death more if that was deadly."""
    voided = _void(tx, visits.c.worker == worker, deadly=deadly, why=why)
    bury_dead(tx)
    return voided


def void_home(tx: Tx, home: str) -> int:
    """The caller holds the home, so none of its former workers lives: their leases and nudges are void.

    Nobody is to blame: a worker that dies on its own is seen by its runner, and only that costs a life.
    """
    return _void(tx, visits.c.worker.startswith(f"{home}/", autoescape=True), deadly=False)


def any_lost(tx: Tx, after: timedelta) -> bool:
    return bool(tx.run(select(exists().where(_lost(tx, after)))).scalar())


def lost_nudges(tx: Tx, after: timedelta) -> int:
    """Issued long ago and never claimed: ready again."""
    values = {"state": VisitState.READY, "due_at": tx.now, "worker": None}
    return tx.run(update(visits).where(_lost(tx, after)).values(**values)).rowcount


def _lost(tx: Tx, after: timedelta) -> ColumnElement[bool]:
    return (visits.c.state == VisitState.ISSUED) & (visits.c.due_at < tx.now - after)


def _void(tx: Tx, which: ColumnElement[bool], *, deadly: bool, why: str = "") -> int:
    values: dict[str, object] = {
        "state": VisitState.READY,
        "lease": None,
        "lease_until": None,
        "worker": None,
        "due_at": tx.now,
    }
    running = visits.c.state.in_((VisitState.RUNNING, VisitState.ISSUED))
    if deadly:
        values["deaths"] = visits.c.deaths + 1
    if why:
        values["last_error"] = why
    return tx.run(update(visits).where(running, which).values(**values)).rowcount


def bury_dead(tx: Tx) -> int:
    """Visits that killed their worker too often end; their sites and open pages fail saying so."""
    doomed = tx.run(
        select(
            visits.c.id, visits.c.job_id, visits.c.site_id, visits.c.deaths, visits.c.last_error, visits.c.open_pages
        ).where(visits.c.state == VisitState.READY, visits.c.deaths >= MOST_DEATHS)
    ).all()
    for row in doomed:
        trouble = Trouble(Reason.CRASHED, str(row.deaths))
        ended = {"reason": trouble.reason.name, "detail": trouble.detail}
        mine = (pages.c.job_id == row.job_id) & (pages.c.visit_id == row.id) & (pages.c.state == "pending")
        failed = tx.run(update(pages).where(mine).values(state="failed", settled_at=tx.now, **ended)).rowcount
        tx.run(update(visits).where(visits.c.id == row.id).values(state=VisitState.DEAD, open_pages=0))
        site = update(sites).where(sites.c.id == row.site_id)
        tx.run(site.values(state=SiteState.FAILED, open_pages=0, finished_at=tx.now, **ended))
        listed = tx.run(select(sites.c.listed).where(sites.c.id == row.site_id)).scalar_one()
        change = Change(sites_failed=int(listed), pages_failed=failed, pages_open=-failed)
        counters.add(tx, 0, {row.job_id: change})
        events.add(tx, row.job_id, "visit.dead", row.last_error, site_id=row.site_id, visit_id=row.id)
    return len(doomed)
