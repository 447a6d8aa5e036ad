"""Visits: queued, issued, leased, handed back. The lease token fences every write."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Boolean, ColumnElement, bindparam, exists, func, or_, select, update

from gossamer.db.bulk import BulkQuery, BulkStatement, KeyQuery, in_order
from gossamer.db.tables import alerts as alert_rows
from gossamer.db.tables import events, jobs, sites, visits
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.ids import new_id
from gossamer.model.page import Errand, Visit
from gossamer.model.rungs import HOME_LANE
from gossamer.model.states import JobState, SiteState, VisitState
from gossamer.store import alerts
from gossamer.store.visit_transitions import RESET_ON_RELEASE, Moving, may_become, moving, tell

_SITE_COLUMNS = ("host", "entries", "whole", "not_before", "notes", "robots", "errands", "before")
_LOAD = (
    select(visits, jobs.c.account_id, *(sites.c[name] for name in _SITE_COLUMNS))
    .join(sites, sites.c.id == visits.c.site_id)
    .join(jobs, jobs.c.id == visits.c.job_id)
    .where(visits.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(visits.c.id)
)


def load_leased(tx: Tx, ids: Collection[UUID]) -> list[Visit]:
    """Load visits that were leased in this transaction, with the data of their sites."""
    rows = tx.run(_LOAD, {"ids": list(ids)})
    return [
        Visit(
            id=row.id,
            job_id=row.job_id,
            site_id=row.site_id,
            host=row.host,
            domain=row.domain,
            entries=tuple(row.entries),
            lane=row.lane,
            lease=row.lease,
            deaths=row.deaths,
            walked=timedelta(milliseconds=row.walked_ms),
            not_before=row.not_before,
            whole=row.whole,
            notes=bytes(row.notes),
            robots=dict(row.robots),
            errands=tuple(Errand(*errand) for errand in row.errands),
            account=row.account_id,
            before=SiteState(row.before) if row.before else None,
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class ReadyVisit:
    """A visit that may be issued."""

    id: UUID
    job_id: UUID
    domain: str
    suspect: bool  # was running when a worker died


@dataclass(slots=True)
class VisitChange:
    """Changes of a running visit in a batch."""

    open_pages: int = 0
    walked: float = 0.0  # seconds
    lived: bool = False  # a page was settled: the death counter is reset


MOST_PER_DOMAIN = 2

_HELD_STATES = (VisitState.ISSUED, VisitState.RUNNING)
_IN_HAND = visits.c.state.in_(_HELD_STATES)
_FULL_DOMAINS = (
    select(visits.c.domain).where(_IN_HAND).group_by(visits.c.domain).having(func.count() >= bindparam("per_domain"))
)


# A site is crawled in one lane at a time, so that its data has one writer.
_others = visits.alias()
_OTHER_LANE_IN_HAND = exists().where(_others.c.site_id == visits.c.site_id, _others.c.state.in_(_HELD_STATES))
_DUE = (
    visits.c.lane == bindparam("lane"),
    visits.c.state == VisitState.READY,
    visits.c.due_at <= bindparam("now", type_=visits.c.due_at.type),
    visits.c.shard % bindparam("shards", type_=visits.c.shard.type) == bindparam("of_shard"),
    visits.c.domain.not_in(_FULL_DOMAINS),
    ~_OTHER_LANE_IN_HAND,
)
# Suspects that may not run now must not hide the visits behind them.
_MAY_RUN = or_(visits.c.deaths == 0, bindparam("suspects", type_=Boolean))
_READY = (
    select(visits.c.id, visits.c.domain, visits.c.deaths)
    .where(visits.c.job_id == bindparam("job"), *_DUE, _MAY_RUN)
    .order_by(visits.c.due_at, visits.c.id)
    .limit(bindparam("most"))
)
_RUNS = jobs.c.state == JobState.RUNNING
_RUNNING_JOBS = select(jobs.c.id).where(_RUNS).order_by(jobs.c.id)
_ANY_READY = select(jobs.c.id).where(_RUNS, exists().where(visits.c.job_id == jobs.c.id, *_DUE)).limit(1)


def ready(
    tx: Tx,
    lane: str,
    shard: int,
    shards: int,
    per_job: int,
    *,
    per_domain: int = MOST_PER_DOMAIN,
    suspects: bool = True,
) -> dict[UUID, list[ReadyVisit]]:
    """Return due visits of running jobs, at most `per_job` of each, in (due_at, id) order.

    Visits of domains that have `per_domain` visits in hand are left out; without `suspects`, also visits that were
    running when a worker died.
    """
    due = {"lane": lane, "now": tx.now, "of_shard": shard, "shards": shards, "per_domain": per_domain}
    asked = {**due, "most": per_job, "suspects": suspects}
    found = {}
    for job_id in tx.run(_RUNNING_JOBS).scalars().all():
        rows = tx.rows(_READY, {**asked, "job": job_id})
        if rows:
            found[job_id] = [ReadyVisit(row.id, job_id, row.domain, row.deaths > 0) for row in rows]
    return found


def any_ready(tx: Tx, lane: str, shard: int, shards: int, *, per_domain: int = MOST_PER_DOMAIN) -> bool:
    """Return True if `ready` would find a visit.

    One statement however many jobs there are, because idle workers call it often.
    """
    asked = {"lane": lane, "now": tx.now, "of_shard": shard, "shards": shards, "per_domain": per_domain}
    return tx.run(_ANY_READY, asked).first() is not None


_BUSY = (
    select(visits.c.domain, func.count().label("busy"))
    .where(_IN_HAND, visits.c.domain.in_(bindparam("domains", expanding=True)))
    .group_by(visits.c.domain)
)


def busy_domains(tx: Tx, domains: Sequence[str]) -> dict[str, int]:
    """Count the issued and running visits by Gate key."""
    return {row.domain: row.busy for row in tx.run(_BUSY, {"domains": domains})}


_ISSUE = (
    update(visits)
    .where(visits.c.id == bindparam("b_id"), may_become(VisitState.ISSUED))
    .values(
        state=VisitState.ISSUED,
        due_at=bindparam("b_at", type_=visits.c.due_at.type),
        worker=bindparam("b_worker"),
    )
)
_ISSUABLE = moving(visits.c.id.in_(bindparam("ids", expanding=True)), may_become(VisitState.ISSUED))


def issue(tx: Tx, ids: Sequence[UUID], worker: str) -> None:
    """Mark visits as issued (nudged). `due_at` stores the time, so that a lost nudge is noticed.

    No event is logged: a nudge is a hint, and its outcome has events of its own.
    """
    free = Moving.read(tx, tx.locked(_ISSUABLE), {"ids": list(ids)})
    tx.run_many(_ISSUE, [{"b_id": one.id, "b_at": tx.now, "b_worker": worker} for one in free])


def suspects_in_hand(tx: Tx) -> int:
    """Count issued and running visits that were running when a worker died."""
    return int(tx.run(select(func.count()).select_from(visits).where(_IN_HAND, visits.c.deaths > 0)).scalar_one())


def forgotten(tx: Tx, worker: str, nudged: Collection[UUID]) -> list[UUID]:
    """Return visits issued to this worker that are not in `nudged`.

    They exist if the response to the commit that issued them was lost.
    """
    mine = (visits.c.worker == worker) & (visits.c.state == VisitState.ISSUED)
    return [one for one in tx.run(select(visits.c.id).where(mine).order_by(visits.c.id)).scalars() if one not in nudged]


def claim(tx: Tx, tokens: Mapping[UUID, UUID], worker: str, lease: timedelta, *, nudged_by: str = "") -> list[Visit]:
    """Lease those of the visits that are still available, each under its token.

    Can be repeated: a visit that already carries its token is included, but logged only once. `nudged_by`
    is the name prefix of the issuer, if that is another process: then only issued visits are available. A
    nudge may arrive long after it was given up, when the issuer has filled its slot and its domain with
    others.
    """
    issuer = visits.c.worker.startswith(nudged_by, autoescape=True) if nudged_by else visits.c.worker == worker
    free = may_become(VisitState.RUNNING) & (jobs.c.state == JobState.RUNNING)
    if nudged_by:
        free &= (visits.c.state == VisitState.ISSUED) & issuer
    held = (visits.c.state == VisitState.RUNNING) & visits.c.lease.in_(tokens.values())
    query = moving(visits.c.id.in_(tokens), or_(free, held)).join(jobs, jobs.c.id == visits.c.job_id)
    if tx.dialect.row_locks:
        # Visits that another process is taking are skipped.
        query = query.with_for_update(of=visits, skip_locked=bool(nudged_by))
    taken = Moving.read(tx, query)
    taken = _without_rivals(tx, taken)
    known = set(tx.run(select(visits.c.id).where(visits.c.id.in_(tokens), held)).scalars())
    tx.run_many(
        _CLAIM,
        [{"b_id": one.id, "b_lease": tokens[one.id], "b_until": tx.now + lease, "b_worker": worker} for one in taken],
    )
    # The next slice of a regular visit is not logged.
    tell(tx, VisitState.RUNNING, [one for one in taken if one.id not in known and not one.slices], who=worker)
    ours = {one.id for one in taken}
    _put_back(tx, [identifier for identifier in tokens if identifier not in ours], issuer)
    return load_leased(tx, ours) if ours else []


def lend(tx: Tx, visit: Moving, token: UUID, worker: str, lease: timedelta) -> None:
    """Lease a visit that was created in this transaction."""
    tx.run_many(_CLAIM, [{"b_id": visit.id, "b_lease": token, "b_until": tx.now + lease, "b_worker": worker}])
    tell(tx, VisitState.RUNNING, [visit], who=worker)


def take_back_issued(tx: Tx, ids: Sequence[UUID], mark: str) -> None:
    """Return issued visits to the queue whose nudges could not be sent."""
    _put_back(tx, ids, visits.c.worker == mark, "its nudge could not be sent")


def _put_back(tx: Tx, refused: Sequence[UUID], issuer: ColumnElement[bool], why: str = "its job does not run") -> None:
    """Return nudged visits to the queue that cannot be leased because their job was just paused.

    No other process would return them soon.
    """
    nudged = (visits.c.state == VisitState.ISSUED) & issuer
    idle = Moving.read(tx, tx.locked(moving(visits.c.id.in_(refused), nudged))) if refused else []
    if idle:
        back = update(visits).where(visits.c.id.in_([one.id for one in idle]), nudged)
        tx.run(back.values(state=VisitState.READY, worker=None, **RESET_ON_RELEASE))
        tell(tx, VisitState.READY, idle, why)


_TOKEN = bindparam("b_lease", type_=visits.c.lease.type)
_CLAIM = (
    update(visits)
    .where(visits.c.id == bindparam("b_id"), or_(may_become(VisitState.RUNNING), visits.c.lease == _TOKEN))
    .values(
        state=VisitState.RUNNING,
        lease=_TOKEN,
        lease_until=bindparam("b_until", type_=visits.c.lease_until.type),
        worker=bindparam("b_worker"),
    )
)


def renew(tx: Tx, worker: str, held: Sequence[UUID], lease: timedelta) -> set[UUID]:
    """Extend the leases of a process in one statement; return the tokens it still holds."""
    mine = (visits.c.worker == worker) & (visits.c.state == VisitState.RUNNING) & visits.c.lease.in_(held)
    # In the same lock order as a settle, to prevent deadlocks.
    in_order = tx.locked(select(visits.c.id).where(mine).order_by(visits.c.id))
    renewed = update(visits).where(visits.c.id.in_(in_order), mine).values(lease_until=tx.now + lease)
    return set(tx.run(renewed.returning(visits.c.lease)).scalars())


_LEASES = select(visits.c.id, visits.c.lease).where(visits.c.id.in_(bindparam("ids", expanding=True)))
_HELD_LEASES = BulkQuery(_LEASES.order_by(visits.c.id))


def leases(tx: Tx, ids: Sequence[UUID], *, held: bool = False) -> dict[UUID, UUID | None]:
    """Return the leases of these visits; `held`: locked until commit."""
    given = {"ids": list(ids)}
    return dict(_HELD_LEASES.rows(tx, given) if held else tx.rows(_LEASES, given))


def workers_of(tx: Tx, ids: Collection[UUID]) -> tuple[str, ...]:
    """Return the workers that hold these visits, each once."""
    if not ids:
        return ()
    holders = select(visits.c.worker).where(visits.c.id.in_(ids), visits.c.worker.is_not(None)).distinct()
    return tuple(tx.run(holders.order_by(visits.c.worker)).scalars())


_OF_SITES = select(visits.c.id).where(visits.c.site_id.in_(bindparam("ids", expanding=True)))


def of_sites(tx: Tx, site_ids: Iterable[UUID]) -> list[UUID]:
    """Return all visits of these sites, in all lanes."""
    return list(tx.run(_OF_SITES, {"ids": list(site_ids)}).scalars())


_APPLY = BulkStatement(
    update(visits)
    .where(visits.c.id == bindparam("b_id"))
    .values(
        open_pages=visits.c.open_pages + bindparam("b_open"),
        walked_ms=visits.c.walked_ms + bindparam("b_walked"),
        deaths=visits.c.deaths * bindparam("b_deaths"),
    ),
    together=True,
)


def apply(tx: Tx, changes: Mapping[UUID, VisitChange]) -> None:
    _APPLY.run(
        tx,
        [
            {
                "b_id": identifier,
                "b_open": change.open_pages,
                "b_walked": int(change.walked * 1000),
                "b_deaths": 0 if change.lived else 1,
            }
            for identifier, change in in_order(changes)
        ],
    )


def reopen(tx: Tx, site_id: UUID, lane: str, why: str = "a page was handed over to it", *, who: str = "") -> UUID:
    """Make sure that a site's visit runs again, however it ended; return its id."""
    (found,) = Moving.read(tx, moving(visits.c.site_id == site_id, visits.c.lane == lane))
    over = (visits.c.id == found.id) & visits.c.state.in_((VisitState.DONE, VisitState.FAILED, VisitState.DEAD))
    if tx.run(update(visits).where(over).values(state=VisitState.READY, due_at=tx.now)).rowcount:
        tell(tx, VisitState.READY, [found], why, who=who)
        # A visit that runs again is no longer a dead letter.
        alerts.clear(tx, AlertKind.DEAD_LETTER, str(found.id))
    return found.id


def busy_of_job(tx: Tx, job_id: UUID) -> int:
    """Count a job's visits that are issued or running."""
    mine = visits.c.job_id == job_id
    return int(tx.run(select(func.count()).select_from(visits).where(mine, _IN_HAND)).scalar_one())


_WALKED = select(
    exists().where(
        visits.c.job_id == bindparam("job"),
        visits.c.state == VisitState.RUNNING,
        visits.c.lease_until > bindparam("now", type_=visits.c.lease_until.type),
    )
)


def is_walked(tx: Tx, job_id: UUID) -> bool:
    """Return True if any worker may still settle pages of a job. Leases of dead workers expire soon."""
    return bool(tx.run(_WALKED, {"job": job_id, "now": tx.now}).scalar())


_EXPIRED = select(visits.c.id, visits.c.lease).where(
    visits.c.state == VisitState.RUNNING, visits.c.lease_until < bindparam("now", type_=visits.c.lease_until.type)
)


def expired(tx: Tx) -> dict[UUID, UUID]:
    """Return running visits with expired leases: id and token."""
    return {row.id: row.lease for row in tx.run(_EXPIRED, {"now": tx.now})}


_OVER = (VisitState.DONE, VisitState.FAILED)

Place = tuple[UUID, str]
"""A site and a lane."""

_LANES_OF_SITES = KeyQuery(visits, [visits.c.id, visits.c.site_id, visits.c.lane], [], by=visits.c.site_id)


def meet(tx: Tx, places: Collection[Place]) -> dict[Place, UUID]:
    """Return the visits of sites in these lanes; missing ones are created. The caller has locked the sites."""
    wanted = sorted({site_id for site_id, _ in places})
    found = {(site_id, lane): visit_id for visit_id, site_id, lane in _LANES_OF_SITES.rows(tx, {}, wanted)}
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


def _without_rivals(tx: Tx, taken: Sequence[Moving]) -> list[Moving]:
    """Return those of the visits to be claimed whose site is not being crawled in another lane.

    Nudges may be late or repeated, so two workers could claim two visits of a site at once: each then
    sees that the other one is taken, and both are left.
    """
    rivals = visits.c.site_id.in_([one.site_id for one in taken]) & visits.c.id.not_in([one.id for one in taken])
    others = {row.id: row for row in tx.run(select(visits.c.id, visits.c.site_id).where(rivals))} if taken else {}
    if not others:
        # The usual case: only duplicates among the given visits are possible.
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
    network = select(alert_rows.c.id).where(alert_rows.c.kind == AlertKind.NETWORK, alert_rows.c.cleared_at.is_(None))
    others = visits.alias()
    in_hand = select(func.count()).where(others.c.job_id == visits.c.job_id, others.c.state.in_(_HELD_STATES))
    same = (others.c.lane == visits.c.lane) | (others.c.site_id == visits.c.site_id)
    walked = select(others.c.id).where(same, others.c.state.in_(_HELD_STATES)).exists()
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
