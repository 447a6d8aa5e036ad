"""Visits of a site in several lanes, and lanes without workers."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, func, select, update

from gossamer.db.bulk import KeyQuery
from gossamer.db.tables import alerts, events, jobs, sites, visits
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.ids import new_id
from gossamer.model.rungs import HOME_LANE
from gossamer.model.states import JobState, VisitState
from gossamer.store.visit_transitions import Moving, moving, tell

_IN_HAND = (VisitState.ISSUED, VisitState.RUNNING)
_OVER = (VisitState.DONE, VisitState.FAILED)

Place = tuple[UUID, str]
"""A site and a lane: where a page may be."""

_OF_SITES = KeyQuery(visits, [visits.c.id, visits.c.site_id, visits.c.lane], [], by=visits.c.site_id)


def meet(tx: Tx, places: Collection[Place]) -> dict[Place, UUID]:
    """The visits of sites in these lanes; new ones have nothing to do yet. The caller has locked the sites."""
    wanted = sorted({site_id for site_id, _ in places})
    found = {(site_id, lane): visit_id for visit_id, site_id, lane in _OF_SITES.rows(tx, {}, wanted)}
    missing = sorted(set(places) - set(found))
    if missing:
        homes = tx.run(select(visits).where(visits.c.id.in_([found[site_id, HOME_LANE] for site_id, _ in missing])))
        by_site = {row.site_id: row for row in homes}
        rows = [_new(tx, by_site[site_id], lane) for site_id, lane in missing]
        tx.run_many(visits.insert(), rows)
        found.update(((row["site_id"], row["lane"]), row["id"]) for row in rows)
    return {place: found[place] for place in places}


def _new(tx: Tx, home: Any, lane: str) -> dict[str, Any]:
    return {
        "id": new_id(tx.now),
        "job_id": home.job_id,
        "site_id": home.site_id,
        "lane": lane,
        "domain": home.domain,
        "shard": home.shard,
        "state": VisitState.DONE,
        "due_at": tx.now,
        "deaths": 0,
        "open_pages": 0,
        "walked_ms": 0,
        "last_error": "",
        "slices": 0,
    }


def without_rivals(tx: Tx, taken: Sequence[Moving]) -> list[Moving]:
    """Return those of the visits to be claimed whose site is not being crawled in another lane.

    Nudges may be late or repeated, so two workers could claim two visits of a site at once: each then
    sees that the other one is taken, and both are left.
    """
    rivals = visits.c.site_id.in_([one.site_id for one in taken]) & visits.c.id.not_in([one.id for one in taken])
    others = {row.id: row for row in tx.run(select(visits.c.id, visits.c.site_id).where(rivals))} if taken else {}
    if not others:
        # Nearly always. Only two of one site among themselves are left to look for.
        return _one_of_each(taken)
    unwalked = visits.c.id.in_(others) & (visits.c.state != VisitState.RUNNING)
    free = select(visits.c.id).where(unwalked).order_by(visits.c.id)
    if tx.dialect.row_locks:
        free = free.with_for_update(skip_locked=True)
    idle = set(tx.run(free).scalars())
    walked = {row.site_id for row in others.values() if row.id not in idle}
    return _one_of_each([one for one in taken if one.site_id not in walked])


def _one_of_each(taken: Iterable[Moving]) -> list[Moving]:
    by_site: dict[UUID, Moving] = {}
    for one in taken:
        by_site.setdefault(one.site_id, one)
    return list(by_site.values())


def wake_home(tx: Tx, site_id: UUID, why: str) -> bool:
    """Wake a site's own visit after all its pages have ended, some in other lanes; it decides what follows.

    False if that visit was given up: then no further decision is made.
    """
    (home,) = Moving.read(tx, moving(visits.c.site_id == site_id, visits.c.lane == HOME_LANE))
    mine = visits.c.id == home.id
    over = mine & visits.c.state.in_(_OVER)
    if tx.run(update(visits).where(over).values(state=VisitState.READY, due_at=tx.now)).rowcount:
        tell(tx, VisitState.READY, [home], why)
        return True
    return bool(tx.run(select(visits.c.state).where(mine)).scalar_one() != VisitState.DEAD)


_OPEN_PAGES = select(sites.c.id, sites.c.open_pages).where(sites.c.id.in_(bindparam("ids", expanding=True)))


def open_pages(tx: Tx, site_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return how many pages of each site are waiting, in all lanes together."""
    return {row.id: row.open_pages for row in tx.run(_OPEN_PAGES, {"ids": sorted(site_ids)})}


def deserted(tx: Tx, patience: timedelta) -> list[tuple[UUID, str]]:
    """Return running jobs, each with a lane in which a visit was due for so long while none was being crawled.

    For a job that was paused meanwhile, the time counts from when it last began to run. A visit does not
    count if its site is being crawled in another lane, or if its job is at its limit of concurrent
    visits. While any machine reports a lost network, none are returned.
    """
    network = select(alerts.c.id).where(alerts.c.kind == AlertKind.NETWORK, alerts.c.cleared_at.is_(None))
    others = visits.alias()
    in_hand = select(func.count()).where(others.c.job_id == visits.c.job_id, others.c.state.in_(_IN_HAND))
    same = (others.c.lane == visits.c.lane) | (others.c.site_id == visits.c.site_id)
    walked = select(others.c.id).where(same, others.c.state.in_(_IN_HAND)).exists()
    query = (
        select(visits.c.job_id, visits.c.lane)
        .join(jobs, jobs.c.id == visits.c.job_id)
        .where(
            jobs.c.state == JobState.RUNNING,
            visits.c.state == VisitState.READY,
            visits.c.due_at < tx.now - patience,
            ~walked,
            ~network.exists(),
            jobs.c.at_once.is_(None) | (in_hand.scalar_subquery() < jobs.c.at_once),
        )
        .distinct()
    )
    long_ago = tx.now - patience
    return [(row.job_id, row.lane) for row in tx.run(query).all() if not _began_after(tx, row.job_id, long_ago)]


def _began_after(tx: Tx, job_id: UUID, moment: datetime) -> bool:
    began = (events.c.job_id == job_id) & (events.c.kind == f"job.{JobState.RUNNING}")
    latest = tx.run(select(events.c.at).where(began).order_by(events.c.id.desc()).limit(1)).scalar()
    return latest is not None and latest > moment
