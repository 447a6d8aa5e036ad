"""Visits: queued, issued, leased, handed back. The lease token fences every write."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Boolean, ColumnElement, bindparam, exists, func, or_, select, update

from gossamer.db.bulk import BulkQuery, BulkStatement, in_order
from gossamer.db.tables import jobs, sites, visits
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.page import Errand, Visit
from gossamer.model.states import JobState, SiteState, VisitState
from gossamer.store import alerts, lanes
from gossamer.store.visit_transitions import TOLD_ANEW, Moving, may_become, moving, tell

_SITE_COLUMNS = ("host", "entries", "whole", "not_before", "notes", "robots", "errands", "before")
_LOAD = (
    select(visits, jobs.c.account_id, *(sites.c[name] for name in _SITE_COLUMNS))
    .join(sites, sites.c.id == visits.c.site_id)
    .join(jobs, jobs.c.id == visits.c.job_id)
    .where(visits.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(visits.c.id)
)


def load_leased(tx: Tx, ids: Collection[UUID]) -> list[Visit]:
    """Visits that were leased in this transaction, with what is known of their sites."""
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
class Waiting:
    """A visit that may be issued."""

    id: UUID
    job_id: UUID
    domain: str
    suspect: bool  # it was running when a worker died


@dataclass(slots=True)
class VisitChange:
    """Changes of a running visit in a batch."""

    open_pages: int = 0
    walked: float = 0.0  # seconds
    lived: bool = False  # a page was settled: earlier deaths are forgiven


MOST_PER_DOMAIN = 2

_IN_HAND = visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING))
_FULL_DOMAINS = (
    select(visits.c.domain).where(_IN_HAND).group_by(visits.c.domain).having(func.count() >= bindparam("per_domain"))
)


# A site is walked in one lane at a time: what is known of it has one owner.
_others = visits.alias()
_OTHER_LANE_IN_HAND = exists().where(
    _others.c.site_id == visits.c.site_id, _others.c.state.in_((VisitState.ISSUED, VisitState.RUNNING))
)
_DUE = (
    visits.c.lane == bindparam("lane"),
    visits.c.state == VisitState.READY,
    visits.c.due_at <= bindparam("now", type_=visits.c.due_at.type),
    visits.c.shard % bindparam("shards", type_=visits.c.shard.type) == bindparam("of_shard"),
    visits.c.domain.not_in(_FULL_DOMAINS),
    ~_OTHER_LANE_IN_HAND,
)
# Where no more of those that were running when a worker died may run, they must not hide what waits behind them.
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
) -> dict[UUID, list[Waiting]]:
    """Visits that are due, per running job, at most `per_job` of each, in (due_at, id) order.

    Those of domains that have `per_domain` visits in hand are left out; without `suspects`, also those that were
    running when a worker died.
    """
    due = {"lane": lane, "now": tx.now, "of_shard": shard, "shards": shards, "per_domain": per_domain}
    asked = {**due, "most": per_job, "suspects": suspects}
    found = {}
    for job_id in tx.run(_RUNNING_JOBS).scalars().all():
        rows = tx.rows(_READY, {**asked, "job": job_id})
        if rows:
            found[job_id] = [Waiting(row.id, job_id, row.domain, row.deaths > 0) for row in rows]
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
    """Visits issued or running that were running when a worker died."""
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
        # What somebody else is about to take is not waited for.
        query = query.with_for_update(of=visits, skip_locked=bool(nudged_by))
    taken = Moving.read(tx, query)
    taken = lanes.without_rivals(tx, taken)
    known = set(tx.run(select(visits.c.id).where(visits.c.id.in_(tokens), held)).scalars())
    tx.run_many(
        _CLAIM,
        [{"b_id": one.id, "b_lease": tokens[one.id], "b_until": tx.now + lease, "b_worker": worker} for one in taken],
    )
    # The next slice of a visit that was handed back in order is not news.
    tell(tx, VisitState.RUNNING, [one for one in taken if one.id not in known and not one.slices], who=worker)
    ours = {one.id for one in taken}
    _put_back(tx, [identifier for identifier in tokens if identifier not in ours], issuer)
    return load_leased(tx, ours) if ours else []


def lend(tx: Tx, visit: Moving, token: UUID, worker: str, lease: timedelta) -> None:
    """Lease a visit that was made in this very transaction."""
    tx.run_many(_CLAIM, [{"b_id": visit.id, "b_lease": token, "b_until": tx.now + lease, "b_worker": worker}])
    tell(tx, VisitState.RUNNING, [visit], who=worker)


def take_back_issued(tx: Tx, ids: Sequence[UUID], mark: str) -> None:
    """Their nudges, issued under this mark, could not be sent."""
    _put_back(tx, ids, visits.c.worker == mark, "its nudge could not be sent")


def _put_back(tx: Tx, refused: Sequence[UUID], issuer: ColumnElement[bool], why: str = "its job does not run") -> None:
    """Return nudged visits to the queue that cannot be leased because their job was just paused.

    No other process would return them soon.
    """
    nudged = (visits.c.state == VisitState.ISSUED) & issuer
    idle = Moving.read(tx, tx.locked(moving(visits.c.id.in_(refused), nudged))) if refused else []
    if idle:
        back = update(visits).where(visits.c.id.in_([one.id for one in idle]), nudged)
        tx.run(back.values(state=VisitState.READY, worker=None, **TOLD_ANEW))
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
    """Extend the leases a process holds in one statement; the tokens that are still its own."""
    mine = (visits.c.worker == worker) & (visits.c.state == VisitState.RUNNING) & visits.c.lease.in_(held)
    # Taken in the order in which a settle takes them, or each could wait for the other.
    in_order = tx.locked(select(visits.c.id).where(mine).order_by(visits.c.id))
    renewed = update(visits).where(visits.c.id.in_(in_order), mine).values(lease_until=tx.now + lease)
    return set(tx.run(renewed.returning(visits.c.lease)).scalars())


_LEASES = select(visits.c.id, visits.c.lease).where(visits.c.id.in_(bindparam("ids", expanding=True)))
_HELD_LEASES = BulkQuery(_LEASES.order_by(visits.c.id))


def leases(tx: Tx, ids: Sequence[UUID], *, held: bool = False) -> dict[UUID, UUID | None]:
    """The leases of these visits as they are now; `held`: and as they stay until commit."""
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
    """All visits of these sites, in whatever lane."""
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
    """Make sure that a site's visit will be walked again, however it ended; return its id."""
    (found,) = Moving.read(tx, moving(visits.c.site_id == site_id, visits.c.lane == lane))
    over = (visits.c.id == found.id) & visits.c.state.in_((VisitState.DONE, VisitState.FAILED, VisitState.DEAD))
    if tx.run(update(visits).where(over).values(state=VisitState.READY, due_at=tx.now)).rowcount:
        tell(tx, VisitState.READY, [found], why, who=who)
        # Nobody has to look after a visit that is walked again.
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
    """Running visits whose lease has run out: id and token."""
    return {row.id: row.lease for row in tx.run(_EXPIRED, {"now": tx.now})}
